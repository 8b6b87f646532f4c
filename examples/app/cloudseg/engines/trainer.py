"""Trains a network on scenes that are made on the way, so that none is seen twice and nothing is read."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from cloudseg.datasets.scenes import make_scene
from cloudseg.datasets.transforms import centre, jitter
from cloudseg.engines.adam import Adam
from cloudseg.utils.runtime import set_seed, threads_for

TRAINING_SEEDS = 1_000_000
"""Scenes from this seed on are trained with; tests use those below."""


def make_batch(config: dict[str, Any], step: int, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """The scenes of a step: coordinates (N, 3) in metres, batch (N,), labels (N,); they follow from seed and step."""
    scenes, points = config["train"]["scenes"], config["train"]["points"]
    clouds, labels = [], []
    for number in range(scenes):
        seed = TRAINING_SEEDS * (1 + config["train"]["seed"]) + step * scenes + number
        cloud, truth = make_scene(seed, points)
        clouds.append(jitter(np.random.default_rng(seed), centre(cloud)))
        labels.append(truth)
    batch = np.repeat(np.arange(scenes), points)
    arrays = (np.concatenate(clouds), batch, np.concatenate(labels))
    coordinates, numbers, truth = (torch.from_numpy(array).to(device) for array in arrays)
    return coordinates, numbers, truth


def rise_and_fall(progress: float) -> float:
    """The share of the highest rate at a progress of 0 to 1: up in a straight line for a tenth, then down a cosine."""
    if progress < 0.1:
        return 0.1 + 9 * progress
    return 0.5 + 0.5 * math.cos(math.pi * (progress - 0.1) / 0.9)


def train(
    model: nn.Module,
    config: dict[str, Any],
    device: torch.device,
    report: Callable[[int, float, float], None] = lambda step, loss, accuracy: None,
) -> None:
    """Trains `model` in place for `config["train"]["steps"]` steps.

    `report` is called after each step with its number from 1, its loss and its accuracy (0 to 1).
    """
    options = config["train"]
    set_seed(options["seed"])
    model.to(device).train()
    with threads_for(options["scenes"] * options["points"]):
        _steps(model, config, device, report)
    model.eval()


def _steps(
    model: nn.Module, config: dict[str, Any], device: torch.device, report: Callable[[int, float, float], None]
) -> None:
    options = config["train"]
    optimizer = Adam(model.parameters())
    for step in range(options["steps"]):
        coordinates, batch, truth = make_batch(config, step, device)
        logits = model(coordinates, batch)
        loss = nn.functional.cross_entropy(logits, truth)
        loss.backward()
        optimizer.step(options["rate"] * rise_and_fall(step / options["steps"]))
        report(step + 1, loss.item(), (logits.argmax(dim=1) == truth).float().mean().item())
