"""Shape by covariance: the eigenvalues of a point's neighbourhood say along how many directions it extends."""

import numpy as np

NAMES = ("line", "plane", "scattering")
"""What a label stands for."""

BLOCK = 512
"""Points whose distances to all others are held in memory at a time."""


def classify(points: np.ndarray, neighbours: int = 16) -> np.ndarray:
    """The label of each of N points, from its nearest neighbours (itself among them)."""
    points = np.asarray(points, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] < 3:
        raise ValueError(f"a cloud is an array of N x 3 numbers or more, not {points.shape}")
    points = points[:, :3]
    if not np.isfinite(points).all():
        raise ValueError("the cloud holds numbers that are not finite")
    count = min(neighbours, len(points))
    if count < 4:
        raise ValueError("a cloud needs at least four points")
    labels = np.empty(len(points), dtype=np.int64)
    for start in range(0, len(points), BLOCK):
        part = points[start : start + BLOCK]
        distances = ((part[:, None, :] - points[None, :, :]) ** 2).sum(axis=2)
        nearest = np.argpartition(distances, count - 1, axis=1)[:, :count]
        labels[start : start + BLOCK] = _shape(points[nearest])
    return labels


def _shape(groups: np.ndarray) -> np.ndarray:
    """Labels of groups of points, by which of linearity, planarity and scattering is the largest."""
    centred = groups - groups.mean(axis=1, keepdims=True)
    covariance = np.einsum("gni,gnj->gij", centred, centred) / groups.shape[1]
    spread = np.sqrt(np.clip(np.linalg.eigvalsh(covariance), 0.0, None))
    small, middle, large = spread.T
    return np.argmax(np.stack([large - middle, middle - small, small]), axis=0)
