"""A small U of sparse convolutions, for machines with a CUDA device and a module with spconv's interface."""

import importlib
import importlib.util
from types import ModuleType

import torch
from torch import Tensor, nn

from cloudseg.models.voxels import mean, middle_offsets, voxel_numbers

SPCONV_MODULES = ("spconv.pytorch", "spconv_triton.pytorch")


class SparseUnavailable(RuntimeError):
    """Sparse convolutions cannot run here; the text says what is missing."""


def find_spconv() -> ModuleType:
    """The first module with spconv's interface that imports."""
    tried = []
    for name in SPCONV_MODULES:
        try:
            return importlib.import_module(name)
        except Exception as error:  # a broken extension may raise anything
            tried.append(f"{name}: {str(error).splitlines()[0] if str(error) else type(error).__name__}")
    raise SparseUnavailable("sparse convolutions need a module with spconv's interface (" + "; ".join(tried) + ")")


class SparseNet(nn.Module):
    """Sparse convolutions at two resolutions, then a head that also sees a point's place in its voxel."""

    def __init__(self, classes: int, channels: int, voxel: float, native_convolution: bool = True) -> None:
        super().__init__()
        if not torch.cuda.is_available():
            raise SparseUnavailable("sparse convolutions need a CUDA device")
        self.spconv = spconv = find_spconv()
        self.voxel = voxel
        algorithm = spconv.ConvAlgo.Native if native_convolution else None
        wide = 2 * channels

        def same(inward: int, outward: int, key: str) -> list[nn.Module]:
            convolution = spconv.SubMConv3d(inward, outward, 3, bias=False, indice_key=key, algo=algorithm)
            return [convolution, nn.LayerNorm(outward), nn.ReLU()]

        self.fine = spconv.SparseSequential(*same(4, channels, "fine"), *same(channels, channels, "fine"))
        self.coarse = spconv.SparseSequential(
            spconv.SparseConv3d(channels, wide, 2, stride=2, bias=False, indice_key="down", algo=algorithm),
            nn.LayerNorm(wide),
            nn.ReLU(),
            *same(wide, wide, "coarse"),
            spconv.SparseInverseConv3d(wide, channels, 2, bias=False, indice_key="down", algo=algorithm),
            nn.LayerNorm(channels),
            nn.ReLU(),
        )
        self.head = nn.Sequential(nn.Linear(2 * channels + 4, wide), nn.ReLU(), nn.Linear(wide, classes))

    def forward(self, coordinates: Tensor, batch: Tensor) -> Tensor:
        """Coordinates (N, 3) in metres with z from the lowest point, batch (N,) of int64 → logits (N, classes)."""
        voxels, count = voxel_numbers(coordinates, batch, (self.voxel, self.voxel, self.voxel))
        cells = torch.floor(coordinates / self.voxel).to(torch.int64)
        cells = cells - cells.min(dim=0).values
        # Any point of a voxel names its cell: all of them agree.
        indices = torch.zeros(count, 4, dtype=torch.int32, device=coordinates.device)
        indices[voxels] = torch.cat((batch.unsqueeze(1), cells), dim=1).to(torch.int32)
        offsets = middle_offsets(coordinates, voxels, count) / self.voxel
        point = torch.cat((coordinates[:, 2:], offsets), dim=1)
        heights = mean(point, voxels, count)
        corners = mean(coordinates / self.voxel - torch.floor(coordinates / self.voxel), voxels, count)
        shape = [int(edge) + 1 for edge in cells.max(dim=0).values]
        features = torch.cat((heights[:, :1], corners), dim=1)
        tensor = self.spconv.SparseConvTensor(features, indices, shape, int(batch.max()) + 1)
        fine = self.fine(tensor)
        coarse = self.coarse(fine)
        return self.head(torch.cat((fine.features[voxels], coarse.features[voxels], point), dim=1))
