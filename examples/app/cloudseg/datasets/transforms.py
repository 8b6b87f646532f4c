"""What happens to a cloud before a network sees it."""

import numpy as np
from numpy.typing import NDArray

MAX_CELLS = 2**20
"""Cells along one axis that a grid may have: three of them fit an index of 63 bits."""


def centre(coordinates: NDArray[np.floating]) -> NDArray[np.float32]:
    """(N, 3) coordinates with x and y about their mean and z above the lowest point, in metres.

    Subtracts in double precision first: map coordinates of millions of metres would lose their centimetres in float32.
    """
    wide = coordinates.astype(np.float64)
    wide -= (*wide[:, :2].mean(axis=0), wide[:, 2].min())
    return wide.astype(np.float32)


def thin(coordinates: NDArray[np.float32], size: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """One point for each cube of `size` metres that is not empty.

    Returns (kept,) indices of the first point of each cube, and for each of the N points the (N,) position of its
    cube's point in that list, so that labels of the thinned cloud spread back as `labels[positions]`.
    """
    cells = np.floor((coordinates - coordinates.min(axis=0)) / size).astype(np.int64)
    if cells.max(initial=0) >= MAX_CELLS:
        span = float((coordinates.max(axis=0) - coordinates.min(axis=0)).max())
        raise ValueError(f"the cloud spans {span:.0f} m, too far for cubes of {size} m: are its units metres?")
    keys = (cells[:, 0] * MAX_CELLS + cells[:, 1]) * MAX_CELLS + cells[:, 2]
    _, kept, positions = np.unique(keys, return_index=True, return_inverse=True)
    return kept.astype(np.int64), positions.reshape(-1).astype(np.int64)


def jitter(rng: np.random.Generator, coordinates: NDArray[np.float32]) -> NDArray[np.float32]:
    """The (N, 3) cloud, mirrored or not, stretched by up to a tenth and shifted by up to 0.3 m: for training only."""
    scale = np.full(3, rng.uniform(0.9, 1.1))
    scale[0] *= rng.choice([-1.0, 1.0])
    shift = (*rng.uniform(-0.3, 0.3, 2), 0.0)
    return (coordinates * scale + shift).astype(np.float32)
