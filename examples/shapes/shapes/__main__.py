"""python -m shapes [CLOUD.npy] [-o LABELS.npy]: how many points lie on lines, planes and scatterings."""

import argparse
import sys
from pathlib import Path

import numpy as np

from . import NAMES, classify, make_scene


def main() -> int:
    """0 done, 2 could not."""
    parser = argparse.ArgumentParser(prog="shapes", description=__doc__)
    parser.add_argument("cloud", nargs="?", type=Path, metavar="CLOUD.npy", help="N x 3 numbers or more")
    parser.add_argument("-o", "--output", type=Path, metavar="LABELS.npy", help="file that gets a label per point")
    options = parser.parse_args()
    try:
        if options.cloud is None:
            points, truth = make_scene()
        else:
            points, truth = np.load(options.cloud, allow_pickle=False), None
        labels = classify(points)
        if options.output is not None:
            np.save(options.output, labels)
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    counts = np.bincount(labels, minlength=len(NAMES))
    print(", ".join(f"{count} {name}" for name, count in zip(NAMES, counts, strict=True)))
    if truth is not None:
        print(f"accuracy {(labels == truth).mean():.3f} on a made-up scene")
    return 0


if __name__ == "__main__":
    sys.exit(main())
