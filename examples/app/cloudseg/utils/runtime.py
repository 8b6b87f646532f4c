"""Seeds and devices."""

import torch

DEVICES = ("auto", "cpu", "cuda")


class DeviceError(RuntimeError):
    """A device that was asked for and cannot be used."""


def set_seed(seed: int) -> None:
    """Makes what follows repeatable on the CPU, for one number of threads."""
    torch.manual_seed(seed)


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
