"""Labels clouds with a trained network, and measures how often it is right."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from cloudseg import CLASSES
from cloudseg.datasets.scenes import make_scene
from cloudseg.datasets.transforms import centre, thin
from cloudseg.utils.runtime import threads_for


@torch.inference_mode()
def label_cloud(
    model: nn.Module, config: dict[str, Any], cloud: NDArray[np.floating], device: torch.device
) -> NDArray[np.int64]:
    """A label for each point of an (N, 3 or more) cloud in metres: (N,) indices of CLASSES.

    The network sees one point for each cube of `config["test"]["cube"]` metres; the others take its label. Only the
    first three columns count.
    """
    coordinates = centre(cloud[:, :3])
    kept, positions = thin(coordinates, config["test"]["cube"])
    points = torch.from_numpy(coordinates[kept]).to(device)
    model.eval()
    with threads_for(len(points)):
        logits = model(points, torch.zeros(len(points), dtype=torch.int64, device=device))
    return logits.argmax(dim=1).cpu().numpy()[positions]


def evaluate(model: nn.Module, config: dict[str, Any], device: torch.device) -> dict[str, Any]:
    """Labels fresh scenes: {"scenes", "points", "accuracy", "iou": {class: intersection over union}}."""
    options = config["test"]
    hits = np.zeros((len(CLASSES), len(CLASSES)), dtype=np.int64)
    for seed in range(options["scenes"]):
        cloud, truth = make_scene(seed, options["points"])
        np.add.at(hits, (truth, label_cloud(model, config, cloud, device)), 1)
    found, either = hits.diagonal(), hits.sum(axis=0) + hits.sum(axis=1) - hits.diagonal()
    iou = {name: round(float(found[i] / max(either[i], 1)), 4) for i, name in enumerate(CLASSES)}
    accuracy = round(float(found.sum() / hits.sum()), 4)
    return {"scenes": options["scenes"], "points": int(hits.sum()), "accuracy": accuracy, "iou": iou}
