"""Labels a point cloud with the cloudseg app: `infer --weights FILE CLOUD.npy -o LABELS.npy`, or `infer --demo`."""

import sys
from pathlib import Path

sys.dont_write_bytecode = True
if str(Path(__file__).resolve().parent) not in sys.path:
    sys.path.insert(0, str(Path(__file__).resolve().parent))

import bundle_app

DEMO_SEED = 4242
"""The scene of --demo; no training scene has this number."""


def main() -> None:
    parser = bundle_app.Parser(
        prog="infer",
        description="Label each point of a cloud: 0 floor, 1 wall, 2 sphere, 3 box, 4 cylinder.",
        epilog="A cloud is a .npy array or the vertices of a .ply file: N x 3 or N x 6 numbers, x y z in metres with z "
        "up, then colours, which the app's networks do not look at. LABELS.npy gets N whole numbers.",
    )
    parser.add_argument("cloud", nargs="?", type=Path, metavar="CLOUD", help="a .npy or .ply file")
    parser.add_argument("-o", "--output", required=True, type=Path, metavar="LABELS.npy", help="file that gets labels")
    parser.add_argument("--weights", type=Path, metavar="FILE", help="model.pth of train")
    parser.add_argument("--demo", action="store_true", help="make a cloud; without --weights, train for a moment first")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto", help="auto: CUDA where it works")
    options = parser.parse_args()
    if options.demo == (options.cloud is not None):
        parser.error("give either a cloud or --demo")
    if options.weights is None and not options.demo:
        parser.error("a cloud needs --weights; train --out DIR makes DIR/model.pth")
    bundle_app.need_app()
    bundle_app.output_file(options.output)

    from cloudseg.datasets.files import read_cloud
    from cloudseg.datasets.scenes import make_scene
    from cloudseg.engines.session import label_file, trained
    from cloudseg.utils.checkpoints import load_checkpoint
    from cloudseg.utils.configs import DEFAULT
    from cloudseg.utils.runtime import choose_device

    device = choose_device(options.device)
    native = bundle_app.native_convolution(device.type)
    cloud, truth = make_scene(DEMO_SEED) if options.demo else (read_cloud(options.cloud), None)
    if options.weights is not None:
        model, config = load_checkpoint(options.weights, device, native)
    else:
        print(f"no --weights: training on synthetic rooms on {device.type}", flush=True)
        model, config = trained(DEFAULT, device, native_convolution=native)
    for line in label_file(model, config, cloud, truth, options.output, device):
        print(line)


if __name__ == "__main__":
    bundle_app.run(main)
