"""What infer.py and train.py share: finding the bundle and its app, and saying on one line why not (exit 2)."""

import argparse
import importlib.util
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parents[1]
"""The unpacked bundle: the folder that holds bundle.json, python/ and src/."""


class Failure(Exception):
    """Something the user can mend; the text is the whole message."""


class Parser(argparse.ArgumentParser):
    """Says what is wrong with the arguments on one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"error: {message} (see --help)\n")


def run(work: Callable[[], None]) -> NoReturn:
    """Ends the process with what `work` comes to: 0 done, 2 could not, 130 interrupted."""
    try:
        work()
        sys.stdout.flush()
    except (Failure, OSError, ValueError, RuntimeError, MemoryError, ImportError) as error:
        sys.exit(_refuse(error))
    except KeyboardInterrupt:
        sys.exit(130)
    sys.exit(0)


def _refuse(error: BaseException) -> int:
    if isinstance(error, BrokenPipeError):
        # Nobody reads on; keep Python from complaining about it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 2
    if isinstance(error, OSError) and error.strerror:
        text = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    else:
        text = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, MemoryError):
        text = "not enough memory: " + text
    print(f"error: {text[:500]}", file=sys.stderr)
    return 2


def need_app() -> None:
    """Refuses a bundle whose source is not the cloudseg app, or that has no torch."""
    if importlib.util.find_spec("cloudseg") is None:
        source = ROOT / "src"
        others = sorted(path.name for path in source.iterdir() if path.is_dir()) if source.is_dir() else []
        carried = "src/" + ", src/".join(others) if others else "no source"
        raise Failure(f"this works with the cloudseg app, but the bundle carries {carried}: use bin/python with it")
    for name in ("numpy", "torch"):
        if importlib.util.find_spec(name) is None:
            raise Failure(f"the cloudseg app needs {name}, which this bundle does not carry")


def output_path(path: Path) -> Path:
    """The path, if it is outside of the bundle: nothing is ever written into that."""
    if path.resolve().is_relative_to(ROOT):
        raise Failure(f"{path} lies inside the bundle, which is never written to")
    return path


def output_file(path: Path) -> Path:
    """The path, if a file can be made there; asked before the work, not after it."""
    if path.is_dir():
        raise Failure(f"{path} is a folder, not a file to write")
    if not path.parent.is_dir():
        raise Failure(f"{path.parent} is no folder to write {path.name} into")
    return output_path(path)


def native_convolution(device_type: str) -> bool:
    """Whether sparse convolutions must be pinned to the native algorithm on this device."""
    import gpu_policy
    import torch

    capability = torch.cuda.get_device_capability() if device_type == "cuda" else None
    return gpu_policy.needs_native_convolution(capability)


def positive(text: str) -> int:
    """An argument that is a whole number of at least 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)
