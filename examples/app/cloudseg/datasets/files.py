"""Clouds from files: .npy arrays and .ply vertices. Refuses what is not N × 3 or N × 6 finite numbers."""

from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

PLY_TYPES = {
    "char": "i1", "int8": "i1", "uchar": "u1", "uint8": "u1",
    "short": "i2", "int16": "i2", "ushort": "u2", "uint16": "u2",
    "int": "i4", "int32": "i4", "uint": "u4", "uint32": "u4",
    "float": "f4", "float32": "f4", "double": "f8", "float64": "f8",
}  # fmt: skip
PLY_ORDERS = {"ascii": None, "binary_little_endian": "<", "binary_big_endian": ">"}
MAX_HEADER = 64 * 1024


class CloudError(ValueError):
    """A file that holds no usable cloud; the text names it."""


def read_cloud(path: Path) -> NDArray[np.float64]:
    """The (N, 3) or (N, 6) cloud of a .npy or .ply file: coordinates in metres, then colours if it has them."""
    readers = {".npy": _read_npy, ".ply": _read_ply}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise CloudError(f"{path}: a cloud is a .npy or a .ply file")
    return check_cloud(reader(path), str(path))


def check_cloud(cloud: NDArray, name: str) -> NDArray[np.float64]:
    """The cloud as float64, if it is N × 3 or N × 6 finite real numbers with N > 0."""
    if cloud.ndim != 2 or cloud.shape[1] not in (3, 6):
        raise CloudError(f"{name}: holds {_shape(cloud)} values, not N × 3 or N × 6")
    if cloud.dtype.kind not in "fiu":
        raise CloudError(f"{name}: holds {cloud.dtype} values, not real numbers")
    if len(cloud) == 0:
        raise CloudError(f"{name}: holds no points")
    bad = np.flatnonzero(~np.isfinite(cloud).all(axis=1))
    if len(bad):
        raise CloudError(f"{name}: point {bad[0]} is not finite ({len(bad)} such points)")
    return cloud.astype(np.float64)


def _shape(array: NDArray) -> str:
    return " × ".join(str(length) for length in array.shape) or "scalar"


def _read_npy(path: Path) -> NDArray:
    try:
        array = np.load(path, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise CloudError(f"{path}: is no .npy array of numbers ({error})") from error
    if not isinstance(array, np.ndarray):
        raise CloudError(f"{path}: is an archive, not one .npy array")
    return array


def _read_ply(path: Path) -> NDArray[np.float64]:
    with path.open("rb") as stream:
        order, count, columns = _read_ply_header(path, stream)
        row = np.dtype([(name, (order or "") + kind) for name, kind in columns])
        if order is None:
            rows = [stream.readline().split() for _ in range(count)]
            if any(len(values) != len(columns) for values in rows):
                raise CloudError(f"{path}: has vertices without {len(columns)} values")
            try:
                table = np.array(rows, dtype=np.float64).reshape(count, len(columns))
            except ValueError as error:
                raise CloudError(f"{path}: has a vertex that is not all numbers") from error
            named = {name: table[:, column] for column, (name, _) in enumerate(columns)}
        else:
            data = stream.read(count * row.itemsize)
            if len(data) != count * row.itemsize:
                raise CloudError(f"{path}: ends before its {count} vertices do")
            named = {name: np.frombuffer(data, dtype=row)[name] for name, _ in columns}
    wanted = ["x", "y", "z"]
    if {"red", "green", "blue"} <= named.keys():
        wanted += ["red", "green", "blue"]
    return np.column_stack([named[name].astype(np.float64) for name in wanted])


def _read_ply_header(path: Path, stream: BinaryIO) -> tuple[str | None, int, list[tuple[str, str]]]:
    """Byte order (None for text), number of vertices, and (name, numpy type) of each property of a vertex."""
    if stream.readline(MAX_HEADER).strip() != b"ply":
        raise CloudError(f"{path}: does not begin like a .ply file")
    order, count, element, columns = "", -1, "", []
    while stream.tell() < MAX_HEADER and (line := stream.readline(MAX_HEADER)):
        words = line.decode("latin-1").split()
        match words:
            case ["end_header"]:
                names = {name for name, _ in columns}
                if order == "" or not {"x", "y", "z"} <= names or len(names) != len(columns):
                    raise CloudError(f"{path}: its header names no format, or no vertices with one x, y and z each")
                if count * len(columns) > path.stat().st_size:
                    raise CloudError(f"{path}: is too small for the {count} vertices of its header")
                return order, count, columns
            case ["format", name, _] if name in PLY_ORDERS:
                order = PLY_ORDERS[name]
            case ["element", "vertex", number] if element == "" and number.isdecimal():
                element, count = "vertex", int(number)
            case ["element", name, _]:
                if element == "":
                    raise CloudError(f"{path}: has {name} before its vertices, which is not read")
                element = name
            case ["property", kind, name] if element == "vertex" and kind in PLY_TYPES:
                columns.append((name, PLY_TYPES[kind]))
            case ["property", *_] if element not in ("", "vertex"):
                pass
            case [] | ["comment" | "obj_info", *_]:
                pass
            case _:
                raise CloudError(f"{path}: has a header line that is not understood: {' '.join(words)[:60]}")
    raise CloudError(f"{path}: its header does not end")
