"""A light network in plain torch: points pool what they know over voxels of growing size and read it back.

The input of a point is the shape of the voxels around it, in numbers that do not change when the room is turned. Each
block is then a small PointNet per voxel: a shared layer on every point's features and its offset from the voxel's
middle, the maximum and the mean over the voxel's points, and a layer that mixes both back into the points. The cost
grows with the number of points alone, and nothing depends on their order or on what else is in the batch.
"""

import torch
from torch import Tensor, nn

from cloudseg.models.voxels import maximum, mean, middle_offsets, voxel_numbers

SHAPE_FEATURES = 6


def shape_features(offsets: Tensor, voxels: Tensor, count: int, reach: float) -> Tensor:
    """What the points of a voxel look like together, for each of its points: (N, SHAPE_FEATURES).

    Offsets (N, 3) are metres from the voxel's middle. Out come the point's height above that middle and its
    horizontal distance from it, in units of `reach` metres, then of the voxel's second moments: the vertical share,
    how drawn out they are horizontally (0 round, 1 a line), how much they tilt, and how far from flat they are.
    """
    moments = mean((offsets.unsqueeze(2) * offsets.unsqueeze(1)).flatten(1), voxels, count)
    xx, xy, xz, yy, yz, zz = moments[:, [0, 1, 2, 4, 5, 8]].unbind(1)
    total = xx + yy + zz + 1e-6
    # 1e-4 keeps rounding out of the roots, whose slope at 0 has no bounds.
    drawn_out = (((xx - yy) ** 2 + 4 * xy**2) / (xx + yy + 1e-6) ** 2 + 1e-4).sqrt()
    tilt = ((xz**2 + yz**2) / total**2 + 1e-4).sqrt()
    volume = xx * (yy * zz - yz**2) - xy * (xy * zz - yz * xz) + xz * (xy * yz - yy * xz)
    flatness = (27 * volume.clamp(min=0) / total**3 + 1e-4) ** (1 / 3)
    whole = torch.stack((zz / total, drawn_out, tilt, flatness), dim=1)
    own = torch.stack((offsets[:, 2], offsets[:, :2].norm(dim=1)), dim=1) / reach
    return torch.cat((own, whole[voxels]), dim=1)


class VoxelBlock(nn.Module):
    """Lets each point see the others of its voxel. Features (N, channels) in, the same shape out."""

    def __init__(self, channels: int, size: tuple[float, float, float], shift: float) -> None:
        super().__init__()
        self.size = size
        self.shift = shift
        self.inward = nn.Sequential(nn.Linear(channels + 3, channels), nn.LayerNorm(channels), nn.ReLU())
        self.outward = nn.Sequential(nn.Linear(3 * channels, channels), nn.LayerNorm(channels), nn.ReLU())

    def forward(self, features: Tensor, coordinates: Tensor, batch: Tensor) -> Tensor:
        """Features (N, channels), coordinates (N, 3) in metres, batch (N,) → (N, channels)."""
        voxels, count = voxel_numbers(coordinates, batch, self.size, self.shift)
        offsets = middle_offsets(coordinates, voxels, count) / max(self.size)
        inner = self.inward(torch.cat((features, offsets), dim=1))
        pooled = torch.cat((maximum(inner, voxels, count), mean(inner, voxels, count)), dim=1)
        return features + self.outward(torch.cat((features, pooled[voxels]), dim=1))


class PooledNet(nn.Module):
    """Coordinates to logits; some 20,000 weights with the sizes of configs/.

    Sizes are edges of voxels in metres, (x, y, z) each; an edge of 0 takes in the whole axis. Every other grid is moved
    by half a voxel, so that what one cuts apart the next holds together.
    """

    def __init__(
        self, classes: int, channels: int, shape_sizes: list[list[float]], block_sizes: list[list[float]]
    ) -> None:
        super().__init__()
        self.shape_sizes = shape_sizes
        inputs = 1 + SHAPE_FEATURES * len(shape_sizes)
        self.stem = nn.Sequential(nn.Linear(inputs, channels), nn.LayerNorm(channels), nn.ReLU())
        self.blocks = nn.ModuleList(
            VoxelBlock(channels, (x, y, z), 0.5 * (number % 2)) for number, (x, y, z) in enumerate(block_sizes)
        )
        self.head = nn.Sequential(nn.Linear(channels, channels), nn.ReLU(), nn.Linear(channels, classes))

    def forward(self, coordinates: Tensor, batch: Tensor) -> Tensor:
        """Coordinates (N, 3) in metres with z from the lowest point, batch (N,) of int64 → logits (N, classes)."""
        inputs = [coordinates[:, 2:]]
        for number, (x, y, z) in enumerate(self.shape_sizes):
            voxels, count = voxel_numbers(coordinates, batch, (x, y, z), 0.5 * (number % 2))
            offsets = middle_offsets(coordinates, voxels, count)
            inputs.append(shape_features(offsets, voxels, count, max(x, y, z)))
        features = self.stem(torch.cat(inputs, dim=1))
        for block in self.blocks:
            features = block(features, coordinates, batch)
        return self.head(features)
