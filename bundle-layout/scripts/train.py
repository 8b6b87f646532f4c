"""Trains the cloudseg app on synthetic rooms and writes the weights: `train --out DIR` makes DIR/model.pth."""

import sys
from pathlib import Path

sys.dont_write_bytecode = True
if str(Path(__file__).resolve().parent) not in sys.path:
    sys.path.insert(0, str(Path(__file__).resolve().parent))

import bundle_app


def main() -> None:
    parser = bundle_app.Parser(prog="train", description="Train the cloudseg app on synthetic rooms.")
    parser.add_argument("--out", required=True, type=Path, metavar="DIR", help="folder that gets model.pth")
    parser.add_argument("--steps", type=bundle_app.positive, metavar="N", help="steps, instead of the config's")
    parser.add_argument("--seed", type=int, metavar="N", help="seed, instead of the config's")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto", help="auto: CUDA where it works")
    parser.add_argument("--config", metavar="NAME", help="a config of the app, or a .py file (default: pooled_small)")
    options = parser.parse_args()
    bundle_app.need_app()
    bundle_app.output_path(options.out)

    from cloudseg.engines.session import train_weights
    from cloudseg.utils.configs import DEFAULT
    from cloudseg.utils.runtime import choose_device

    device = choose_device(options.device)
    train_weights(
        options.config or DEFAULT,
        options.out,
        device,
        steps=options.steps,
        seed=options.seed,
        native_convolution=bundle_app.native_convolution(device.type),
        say=lambda line: print(line, flush=True),
    )


if __name__ == "__main__":
    bundle_app.run(main)
