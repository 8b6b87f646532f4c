"""What the host gives, and what of it may get in the way: variables, caches, libcuda. Reads, and changes nothing."""

import json
import os
from pathlib import Path
from typing import Any

from doctor_imports import Problem, problem

CACHES = (
    "TRITON_CACHE_DIR",
    "CUDA_CACHE_PATH",
    "TORCHINDUCTOR_CACHE_DIR",
    "TORCH_EXTENSIONS_DIR",
    "NUMBA_CACHE_DIR",
    "MPLCONFIGDIR",
)
# Several machines may write to these, and rename is slow or late there.
SHARED = ("nfs", "cifs", "smb", "lustre", "gpfs", "afs", "ceph", "fuse.sshfs", "beegfs")


def modules(root: Path) -> list[str]:
    """The modules this bundle was asked for; torch alone where it does not say."""
    try:
        names = json.loads((root / "scripts" / "modules.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        names = []
    return [name for name in names if isinstance(name, str)] or ["torch"]


def facts() -> dict[str, Any]:
    """Plain values: variables that were dropped, where caches go and on what, and where libcuda is."""
    caches = {}
    for name in CACHES:
        place = os.environ.get(name)
        if place:
            writable = os.access(place, os.W_OK | os.X_OK)
            caches[name] = {"path": place, "filesystem": filesystem(place), "writable": writable}
    return {
        "dropped": os.environ.get("POINTCEPT_DROPPED", "").split(),
        "overlay": [place for place in os.environ.get("POINTCEPT_OVERLAY", "").split(os.pathsep) if place],
        "caches": caches,
        "libcuda": libcuda(),
    }


def filesystem(place: str) -> str:
    """The type of the file system a path is on, as the kernel names it."""
    best, kind = "", "unknown"
    try:
        real = os.path.realpath(place)
        with open("/proc/self/mounts", encoding="utf-8", errors="replace") as mounts:
            for line in mounts:
                _, point, name, *_ = line.split(" ")
                point = point.replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")
                inside = real == point or real.startswith(point.rstrip("/") + "/")
                if inside and len(point) >= len(best):
                    best, kind = point, name
    except (OSError, ValueError):
        pass
    return kind


def libcuda() -> str | None:
    """The file of the driver's library that the loader takes; ldconfig is not asked, for it may be absent or old."""
    try:
        import ctypes

        ctypes.CDLL("libcuda.so.1")
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
            for line in maps:
                path = line.rstrip("\n").split(maxsplit=5)[-1]
                if path.rpartition("/")[2].startswith("libcuda.so"):
                    return path
    except (ImportError, OSError):
        pass
    return None


def problems(root: Path, found: dict[str, Any]) -> list[Problem]:
    """What of all this may get in the way; none of it is an error by itself."""
    out = []
    for name in ("LD_PRELOAD", "LD_AUDIT"):
        if os.environ.get(name):
            text = f"{name} puts libraries of the host before the bundle's"
            out.append(problem("host-preload", "warning", name, text))
    if any(mark in str(root) for mark in (":", ";", "$ORIGIN", "$LIB", "$PLATFORM", "${")):
        text = "this path cannot stand in LD_LIBRARY_PATH, so a CUDA of the host may be found first: move the bundle"
        out.append(problem("unsearchable-path", "warning", str(root), text))
    for name, cache in found["caches"].items():
        if not cache["writable"]:
            out.append(problem("cache-not-writable", "warning", cache["path"], f"{name} cannot be written to"))
        elif cache["filesystem"].startswith(SHARED):
            text = f"{name} is on {cache['filesystem']}: processes of several machines may disturb each other there"
            out.append(problem("cache-shared", "warning", cache["path"], text))
    for place in found["overlay"]:
        if not os.path.isdir(place):
            out.append(problem("overlay-missing", "warning", place, f"the overlay {place} is no folder"))
    return out
