"""Whole runs, as the command lines start them: train and keep weights, label a cloud and keep the labels."""

import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from cloudseg import CLASSES
from cloudseg.engines.tester import evaluate, label_cloud
from cloudseg.engines.trainer import train
from cloudseg.models import build_model
from cloudseg.utils.checkpoints import save_checkpoint, write_whole
from cloudseg.utils.configs import load_config
from cloudseg.utils.runtime import set_seed

REPORT_EVERY = 25
"""Steps from one progress line to the next."""


def trained(
    config_name: str,
    device: torch.device,
    *,
    steps: int | None = None,
    seed: int | None = None,
    native_convolution: bool = True,
    say: Callable[[str], None] = lambda line: None,
) -> tuple[nn.Module, dict[str, Any]]:
    """A freshly trained network and the config it was trained by; `steps` and `seed` replace the config's."""
    config = load_config(config_name)
    config["train"]["steps"] = config["train"]["steps"] if steps is None else steps
    config["train"]["seed"] = config["train"]["seed"] if seed is None else seed
    set_seed(config["train"]["seed"])
    model = build_model(config, native_convolution)
    total = config["train"]["steps"]

    def report(step: int, loss: float, accuracy: float) -> None:
        if step % REPORT_EVERY == 0 or step == total:
            say(f"step {step}/{total}: loss {loss:.3f}, accuracy {accuracy:.3f}")

    train(model, config, device, report)
    return model, config


def train_weights(
    config_name: str,
    out: Path,
    device: torch.device,
    *,
    steps: int | None = None,
    seed: int | None = None,
    native_convolution: bool = True,
    say: Callable[[str], None] = lambda line: None,
) -> None:
    """Trains, writes out/model.pth and says how well it does on fresh scenes."""
    out.mkdir(parents=True, exist_ok=True)
    model, config = trained(config_name, device, steps=steps, seed=seed, native_convolution=native_convolution, say=say)
    save_checkpoint(out / "model.pth", model, config)
    score = evaluate(model, config, device)
    say(f"accuracy on {score['scenes']} fresh scenes: {score['accuracy']:.3f}")
    say(f"wrote {out / 'model.pth'}")


def label_file(
    model: nn.Module,
    config: dict[str, Any],
    cloud: NDArray[np.floating],
    truth: NDArray[np.int64] | None,
    output: Path,
    device: torch.device,
) -> Iterator[str]:
    """Labels an (N, 3 or 6) cloud, writes (N,) int64 to `output`, and yields the lines that say so."""
    labels = label_cloud(model, config, cloud, device)
    buffer = io.BytesIO()
    np.save(buffer, labels)
    write_whole(output, buffer.getvalue())
    counts = np.bincount(labels, minlength=len(CLASSES))
    yield f"{len(labels)} points: " + ", ".join(f"{name} {counts[i]}" for i, name in enumerate(CLASSES))
    if truth is not None:
        yield f"accuracy {float((labels == truth).mean()):.3f}"
    yield f"wrote {output}"
