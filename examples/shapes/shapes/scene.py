"""A cloud whose shapes are known: a pole, a floor and a bush."""

import numpy as np


def make_scene(seed: int = 0, each: int = 600) -> tuple[np.ndarray, np.ndarray]:
    """Points and their labels, the same for the same seed; lengths are metres."""
    source = np.random.default_rng(seed)
    jitter = source.normal(scale=0.002, size=(each, 3))
    pole = np.stack([np.zeros(each), np.zeros(each), source.uniform(0.5, 6.0, each)], axis=1) + jitter
    floor = np.stack([source.uniform(5.0, 9.0, each), source.uniform(0.0, 4.0, each), np.zeros(each)], axis=1)
    bush = source.normal(loc=(-6.0, 0.0, 1.5), scale=0.6, size=(each, 3))
    return np.concatenate([pole, floor, bush]), np.repeat(np.arange(3), each)
