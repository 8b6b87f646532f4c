"""What a GPU's compute capability decides: pure functions over (major, minor), such as (9, 0). Imports no torch."""

import importlib
import re
from collections.abc import Iterable

Capability = tuple[int, int]

NATIVE_CONVOLUTION_ONLY = frozenset({(10, 3), (12, 1)})
"""Where spconv's implicit-gemm kernels are not to be used: B300 and GB10."""

FLASH_ATTENTION_FROM: Capability = (8, 0)


def needs_native_convolution(capability: Capability | None) -> bool:
    """Whether sparse convolutions must be pinned to `ConvAlgo.Native`; yes too where the GPU is not known."""
    return capability is None or capability in NATIVE_CONVOLUTION_ONLY


def flash_attention(capability: Capability | None, importable: bool) -> bool:
    """Whether flash attention may be used: its kernels begin at 8.0, and the package must import."""
    return importable and capability is not None and capability >= FLASH_ATTENTION_FROM


def attention_options(capability: Capability | None, importable: bool) -> dict[str, bool]:
    """Options of an attention layer: flash where it works, else plain attention computed in float32."""
    flash = flash_attention(capability, importable)
    return {"enable_flash": flash, "upcast_attention": not flash, "upcast_softmax": not flash}


def flash_attention_importable() -> bool:
    """Whether `flash_attn` imports here. Not pure: it tries."""
    try:
        importlib.import_module("flash_attn")
    except Exception:  # an extension built for another torch may raise anything
        return False
    return True


def covers(architectures: Iterable[str], capability: Capability) -> bool:
    """Whether code compiled for `architectures` (`sm_90`, `sm_90a`, `compute_120` …) runs on a capability.

    Machine code runs on its own major version from its own minor on, or on its own capability alone with a suffix
    `a`; PTX (`compute_`) runs on every later one.
    """
    for architecture in architectures:
        parts = re.fullmatch(r"(sm|compute)_(\d+)(\d)([af]?)", architecture)
        if parts is None:
            continue
        built = (int(parts[2]), int(parts[3]))
        if built == capability:
            return True
        if parts[4] == "a" or built > capability:
            continue
        if built[0] == capability[0] or (parts[1] == "compute" and not parts[4]):
            return True
    return False
