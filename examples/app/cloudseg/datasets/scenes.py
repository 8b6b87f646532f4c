"""Synthetic rooms: a floor, two to four walls, and spheres, boxes and cylinders that stand about.

Every shape is sampled evenly over its surface, then shaken by the noise of a depth sensor. A scene follows from its
seed alone.
"""

import numpy as np
from numpy.typing import NDArray

from cloudseg import CLASSES

FLOOR, WALL, SPHERE, BOX, CYLINDER = range(len(CLASSES))
NOISE = 0.005
"""Standard deviation of the sensor's noise, in metres."""

Points = NDArray[np.float32]
Labels = NDArray[np.int64]


def _rectangle(rng: np.random.Generator, count: int, width: float, height: float) -> NDArray[np.float64]:
    """(count, 2) points, evenly over [-width/2, width/2] × [0, height]."""
    return np.column_stack((rng.uniform(-width / 2, width / 2, count), rng.uniform(0.0, height, count)))


def _sphere(rng: np.random.Generator, count: int) -> NDArray[np.float64]:
    """(count, 3) points of a sphere of 0.25 to 0.5 m radius that touches or hovers a little above z = 0."""
    radius = rng.uniform(0.25, 0.5)
    direction = rng.normal(size=(count, 3))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True) + 1e-12
    return direction * radius + (0.0, 0.0, radius + rng.uniform(0.0, 0.6))


def _box(rng: np.random.Generator, count: int) -> NDArray[np.float64]:
    """(count, 3) points of the sides and the top of a box with edges of 0.4 to 1.1 m."""
    size = rng.uniform(0.4, 1.1, 3)
    areas = np.array([size[1] * size[2], size[1] * size[2], size[0] * size[2], size[0] * size[2], size[0] * size[1]])
    face = rng.choice(5, size=count, p=areas / areas.sum())
    points = rng.uniform(-0.5, 0.5, (count, 3))
    axis = np.array([0, 0, 1, 1, 2])[face]
    points[np.arange(count), axis] = np.array([-0.5, 0.5, -0.5, 0.5, 0.5])[face]
    return points * size + (0.0, 0.0, size[2] / 2)


def _cylinder(rng: np.random.Generator, count: int) -> NDArray[np.float64]:
    """(count, 3) points of the mantle and the lid of a standing cylinder, 0.12 to 0.25 m in radius."""
    radius, height = rng.uniform(0.12, 0.25), rng.uniform(0.8, 1.6)
    on_lid = rng.random(count) < radius / (radius + 2 * height)
    angle = rng.uniform(0.0, 2 * np.pi, count)
    reach = np.where(on_lid, radius * np.sqrt(rng.random(count)), radius)
    z = np.where(on_lid, height, rng.uniform(0.0, height, count))
    return np.column_stack((reach * np.cos(angle), reach * np.sin(angle), z))


def _turn(points: NDArray[np.float64], angle: float) -> NDArray[np.float64]:
    """The (N, 3) points turned about the z axis by `angle` radians."""
    cos, sin = np.cos(angle), np.sin(angle)
    return points @ np.array([[cos, sin, 0.0], [-sin, cos, 0.0], [0.0, 0.0, 1.0]])


def _walls(rng: np.random.Generator, count: int, width: float, depth: float) -> NDArray[np.float64]:
    """(count, 3) points of two to four of the four walls of a room, 2.2 to 2.8 m high."""
    height = rng.uniform(2.2, 2.8)
    sides = rng.permutation(4)[: rng.integers(2, 5)]
    parts = []
    for side, share in zip(sides, np.array_split(np.arange(count), len(sides)), strict=True):
        along, across = (width, depth) if side < 2 else (depth, width)
        flat = _rectangle(rng, len(share), along, height)
        wall = np.column_stack((flat[:, 0], np.full(len(share), across / 2), flat[:, 1]))
        parts.append(_turn(wall, (0.0, np.pi, np.pi / 2, -np.pi / 2)[side]))
    return np.concatenate(parts)


def make_scene(seed: int, points: int = 4096) -> tuple[Points, Labels]:
    """A room from its seed: (points, 3) coordinates in metres, shuffled, and (points,) labels, indices of CLASSES.

    A quarter of the points lies on the floor, a quarter on the walls, the rest on three to six objects, one of each
    kind at least.
    """
    if points < 32:
        raise ValueError(f"a scene needs 32 points or more, not {points}")
    rng = np.random.default_rng(seed)
    width, depth = rng.uniform(3.5, 6.0, 2)
    on_floor = on_walls = points // 4
    floor = _rectangle(rng, on_floor, width, depth) - (0.0, depth / 2)
    clouds = [np.column_stack((floor, np.zeros(on_floor))), _walls(rng, on_walls, width, depth)]
    labels = [np.full(on_floor, FLOOR), np.full(on_walls, WALL)]

    kinds = np.concatenate(([SPHERE, BOX, CYLINDER], rng.choice([SPHERE, BOX, CYLINDER], rng.integers(0, 4))))
    # Each object has a cell of a 3 × 2 grid to itself, so that two never stand in one another.
    cells = rng.permutation(6)[: len(kinds)]
    shares = np.array_split(np.arange(points - on_floor - on_walls), len(kinds))
    for kind, cell, share in zip(kinds, cells, shares, strict=True):
        shape = {SPHERE: _sphere, BOX: _box, CYLINDER: _cylinder}[int(kind)](rng, len(share))
        middle = ((cell % 3 - 1) * width / 3, (cell // 3 - 0.5) * depth / 2)
        shift = (*(np.array(middle) + rng.uniform(-0.1, 0.1, 2)), 0.0)
        clouds.append(_turn(shape, rng.uniform(0.0, 2 * np.pi)) + shift)
        labels.append(np.full(len(share), kind))

    cloud = np.concatenate(clouds)
    cloud += rng.normal(scale=NOISE, size=cloud.shape)
    cloud = _turn(cloud, rng.uniform(0.0, 2 * np.pi))
    order = rng.permutation(points)
    return cloud[order].astype(np.float32), np.concatenate(labels)[order].astype(np.int64)
