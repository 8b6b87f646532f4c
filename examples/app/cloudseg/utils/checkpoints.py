"""Weights as files: a dict of plain values and tensors, so that reading one runs no code from it."""

import io
import os
from pathlib import Path
from typing import Any

import torch
from torch import nn

from cloudseg import CLASSES
from cloudseg.models import build_model

FORMAT = "cloudseg-weights-1"


class CheckpointError(ValueError):
    """A file that holds no weights of this app."""


def save_checkpoint(path: Path, model: nn.Module, config: dict[str, Any]) -> None:
    """Writes weights and config; the file appears whole or not at all."""
    weights = {name: tensor.detach().cpu() for name, tensor in model.state_dict().items()}
    buffer = io.BytesIO()
    torch.save({"format": FORMAT, "classes": list(CLASSES), "config": config, "weights": weights}, buffer)
    write_whole(path, buffer.getvalue())


def load_checkpoint(
    path: Path, device: torch.device, native_convolution: bool = True
) -> tuple[nn.Module, dict[str, Any]]:
    """The network of a file, ready to label, and its config."""
    with path.open("rb") as stream:
        try:
            state = torch.load(stream, map_location="cpu", weights_only=True)
        except Exception as error:  # unpickling garbage raises anything
            raise CheckpointError(f"{path}: holds no weights that torch can read") from error
    if not isinstance(state, dict) or state.get("format") != FORMAT or state.get("classes") != list(CLASSES):
        raise CheckpointError(f"{path}: holds no weights of this app")
    model = build_model(state["config"], native_convolution)
    try:
        model.load_state_dict(state["weights"])
    except RuntimeError as error:
        raise CheckpointError(f"{path}: its weights do not fit its config") from error
    return model.to(device).eval(), state["config"]


def write_whole(path: Path, content: bytes) -> None:
    """Writes a file by way of a temporary one beside it; an error names the file itself."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        draft.write_bytes(content)
        draft.replace(path)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        if draft.exists():
            draft.unlink()
