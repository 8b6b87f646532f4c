"""Compares an unpacked bundle with what `uv pip install --target` lays down for the same lock, file by file.

    compare_trees.py LOCK RUNTIME UV_TARGET

Prints each kind of expected difference with its count and reason; exits 1 when anything else differs.
"""

import collections
import hashlib
import os
import pathlib
import sys
import tomllib

EXPECTED = {
    "launcher": "uv writes the builder's interpreter into scripts, ours find theirs from their own path",
    "installer": "INSTALLER names the installer; REQUESTED and the like tell what the user asked uv for",
    "record": "RECORD lists those files with their digests",
    "bytecode": "compiled files are ours; uv makes them only on request, __pycache__ of a wheel is left out",
    "hook": "the pinned source is added by a relative .pth of ours",
    "executable": "an ELF program gets its x bit even where the wheel forgot it",
}


def files(root: pathlib.Path) -> dict[str, pathlib.Path]:
    found = {}
    for folder, _, names in os.walk(root):
        for name in names:
            path = pathlib.Path(folder, name)
            found[path.relative_to(root).as_posix()] = path
    return found


def digest(path: pathlib.Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def is_executable(path: pathlib.Path) -> bool:
    return bool(path.stat().st_mode & 0o111)


def is_elf(path: pathlib.Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def main() -> int:
    lock = tomllib.loads(pathlib.Path(sys.argv[1]).read_text())
    runtime, target = map(pathlib.Path, sys.argv[2:4])
    site = runtime / "python" / "lib" / f"python{lock['python']}" / "site-packages"
    ours, theirs = files(site), files(target)
    expected: collections.Counter[str] = collections.Counter()
    wrong = []
    for path, file in sorted(theirs.items()):
        dist_info = pathlib.PurePosixPath(path).parent.name.endswith(".dist-info")
        name = pathlib.PurePosixPath(path).name
        if dist_info and name in {"INSTALLER", "REQUESTED", "direct_url.json", "uv_cache.json"}:
            expected["installer"] += 1
            ours.pop(path, None)
            continue
        if dist_info and name == "RECORD":
            expected["record"] += 1
            if ours.pop(path, None) is None:
                wrong.append(f"only uv has {path}")
            continue
        if "__pycache__" in path or path == ".lock":
            expected["bytecode"] += 1
            continue
        mine = ours.pop(path, None)
        if mine is None:
            # --target flattens the schemes: scripts and data stand beside the modules there.
            mine = runtime / "python" / path
            if not mine.is_file():
                wrong.append(f"only uv has {path}")
                continue
        if digest(mine) != digest(file):
            if path.startswith("bin/") and mine.read_bytes().startswith(b"#!/bin/sh\n"):
                expected["launcher"] += 1
            else:
                wrong.append(f"bytes differ: {path}")
        elif is_executable(mine) != is_executable(file):
            if is_executable(mine) and is_elf(mine):
                expected["executable"] += 1
            else:
                wrong.append(f"x bit differs: {path}")
    for path in sorted(ours):
        if "__pycache__/" in path:
            expected["bytecode"] += 1
        elif path.endswith(".pth"):
            expected["hook"] += 1
        else:
            wrong.append(f"only the bundle has {path}")
    print(f"{len(theirs)} files of uv compared")
    for kind, count in sorted(expected.items()):
        print(f"  {count:6} {kind}: {EXPECTED[kind]}")
    for line in wrong[:50]:
        print("DIFFERENT", line)
    print(f"{len(wrong)} unexplained differences")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
