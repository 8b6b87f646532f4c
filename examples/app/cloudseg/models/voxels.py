"""Points by voxel: numbering, and the mean and maximum of features over each voxel's points."""

import torch
from torch import Tensor


def voxel_numbers(
    coordinates: Tensor, batch: Tensor, size: tuple[float, float, float], shift: float = 0.0
) -> tuple[Tensor, int]:
    """Numbers the voxels that hold points: (N,) int64 from 0, and how many there are.

    Coordinates (N, 3) in metres; batch (N,), whose clouds share no voxel; an edge of 0 takes in the whole axis; the
    grid is moved by `shift` of an edge.
    """
    key = batch
    for axis, edge in enumerate(size):
        if edge > 0:
            cells = torch.floor(coordinates[:, axis] / edge + shift).to(torch.int64)
            cells = cells - cells.min()
            key = key * (cells.max() + 1) + cells
    kinds, numbers = torch.unique(key, return_inverse=True)
    return numbers, len(kinds)


def mean(features: Tensor, voxels: Tensor, count: int) -> Tensor:
    """Features (N, C) averaged over the points of each of `count` voxels → (count, C)."""
    total = features.new_zeros(count, features.shape[1]).index_add(0, voxels, features)
    points = torch.bincount(voxels, minlength=count).to(features.dtype)
    return total / points.unsqueeze(1)


def maximum(features: Tensor, voxels: Tensor, count: int) -> Tensor:
    """The largest of each feature (N, C) over the points of each of `count` voxels → (count, C)."""
    index = voxels.unsqueeze(1).expand_as(features)
    empty = features.new_zeros(count, features.shape[1])
    return empty.scatter_reduce(0, index, features, "amax", include_self=False)


def middle_offsets(coordinates: Tensor, voxels: Tensor, count: int) -> Tensor:
    """(N, 3) metres from the mean of its voxel's points to each point."""
    return coordinates - mean(coordinates, voxels, count)[voxels]
