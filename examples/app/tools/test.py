"""Measures weights on fresh scenes and prints JSON: `python tools/test.py --weights DIR/model.pth`."""

import argparse
import json
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from cloudseg.engines.tester import evaluate
from cloudseg.utils.checkpoints import load_checkpoint
from cloudseg.utils.runtime import DEVICES, choose_device


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure weights on fresh synthetic rooms.")
    parser.add_argument("--weights", required=True, type=Path, help="model.pth of train.py")
    parser.add_argument("--device", choices=DEVICES, default="auto")
    options = parser.parse_args()
    device = choose_device(options.device)
    model, config = load_checkpoint(options.weights, device)
    print(json.dumps(evaluate(model, config, device), indent=2))


if __name__ == "__main__":
    main()
