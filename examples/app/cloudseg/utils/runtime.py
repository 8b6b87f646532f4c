"""Seeds, threads and devices."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

DEVICES = ("auto", "cpu", "cuda")


POINTS_PER_THREAD = 65_536
"""Below this many points, threads wait for one another longer than they work; on a busy machine, many times longer."""


class DeviceError(RuntimeError):
    """A device that was asked for and cannot be used."""


def set_seed(seed: int) -> None:
    """Makes what follows repeatable on the CPU."""
    torch.manual_seed(seed)


@contextmanager
def threads_for(points: int) -> Iterator[None]:
    """Inside, torch uses no more CPU threads than so many points are worth; one thread gives the same sums anywhere."""
    before = torch.get_num_threads()
    torch.set_num_threads(max(1, min(before, points // POINTS_PER_THREAD)))
    try:
        yield
    finally:
        torch.set_num_threads(before)


def choose_device(name: str) -> torch.device:
    """The device for `auto`, `cpu` or `cuda`; auto takes CUDA only where a kernel really runs."""
    if name == "cpu":
        return torch.device("cpu")
    if not torch.cuda.is_available():
        if name == "cuda":
            raise DeviceError("--device cuda: torch sees no CUDA device here")
        return torch.device("cpu")
    try:
        torch.ones(2, device="cuda").sum().item()
    except RuntimeError as error:
        if name == "cuda":
            raise DeviceError(
                f"--device cuda: no kernel runs on the CUDA device: {str(error).splitlines()[0]}"
            ) from error
        return torch.device("cpu")
    return torch.device("cuda")
