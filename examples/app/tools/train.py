"""Trains a network by a config and writes DIR/model.pth: `python tools/train.py --config pooled_small --out DIR`."""

import argparse
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from cloudseg.engines.session import train_weights
from cloudseg.utils.configs import DEFAULT
from cloudseg.utils.runtime import DEVICES, choose_device


def main() -> None:
    parser = argparse.ArgumentParser(description="Train a network on synthetic rooms.")
    parser.add_argument("--config", default=DEFAULT, help="name in configs/, or a .py file (default: %(default)s)")
    parser.add_argument("--out", required=True, type=Path, help="folder that gets model.pth")
    parser.add_argument("--steps", type=int, help="instead of the config's")
    parser.add_argument("--seed", type=int, help="instead of the config's")
    parser.add_argument("--device", choices=DEVICES, default="auto")
    options = parser.parse_args()
    device = choose_device(options.device)
    train_weights(options.config, options.out, device, steps=options.steps, seed=options.seed, say=print)


if __name__ == "__main__":
    main()
