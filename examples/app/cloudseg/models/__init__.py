"""Networks by name. Each maps coordinates and batch numbers to logits; see `pooled` and `sparse`."""

from typing import Any

from torch import nn

from cloudseg.models.pooled import PooledNet
from cloudseg.models.sparse import SparseNet


def build_model(config: dict[str, Any], native_convolution: bool = True) -> nn.Module:
    """The network that `config["model"]` describes, with fresh weights, on the CPU.

    `native_convolution` asks sparse convolutions for the algorithm that is right on every GPU; callers who know
    theirs to be safe with the faster default turn it off.
    """
    options = dict(config["model"])
    kind = options.pop("kind")
    if kind == "pooled":
        return PooledNet(**options)
    if kind == "sparse":
        return SparseNet(**options, native_convolution=native_convolution)
    raise ValueError(f"there is no model {kind!r}: use pooled or sparse")
