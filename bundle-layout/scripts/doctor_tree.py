"""Looks over the unpacked tree for what keeps its Python from being its own. Reads, and changes nothing."""

import json
import sys
from pathlib import Path

from doctor_imports import Problem, problem

SHEBANG_BYTES = 512


def problems(root: Path) -> list[Problem]:
    """Everything found, in a fixed order; most checks need the root's bundle.json, without which this is no bundle."""
    found = stray_configs(root)
    if (root / "bundle.json").is_file():
        if not (root / ".complete").is_file():
            found.append(problem("incomplete-tree", "error", ".complete", "the tree was not unpacked to its end"))
        found += foreign_interpreter(root) + foreign_shebangs(root / "python" / "bin") + missing_libraries(root)
    return found


def stray_configs(root: Path) -> list[Problem]:
    """pyvenv.cfg files where Python looks for one: it would take another folder for its home."""
    executable = Path(sys.executable)
    places = [root / "python", root / "python" / "bin", executable.parent, executable.parent.parent]
    found = []
    for path in dict.fromkeys(place / "pyvenv.cfg" for place in places):
        # Under a virtual environment, where doctor may be tried out, the file is where it belongs.
        if path.is_file() and (sys.prefix == sys.base_prefix or path.is_relative_to(root)):
            text = f"{path} points Python to another home: remove it"
            found.append(problem("stray-pyvenv-cfg", "error", str(path), text))
    return found


def foreign_interpreter(root: Path) -> list[Problem]:
    """Whether the Python that runs is the bundle's."""
    if Path(sys.prefix).resolve().is_relative_to(root / "python"):
        return []
    text = f"Python's prefix is {sys.prefix}, not {root / 'python'}: start bin/doctor"
    return [problem("foreign-interpreter", "error", sys.prefix, text)]


def foreign_shebangs(folder: Path) -> list[Problem]:
    """Scripts whose first line starts a Python by a path that does not follow the bundle."""
    found = []
    for path in sorted(folder.iterdir()) if folder.is_dir() else []:
        if path.is_symlink() or not path.is_file():
            continue
        with path.open("rb") as stream:
            start = stream.read(SHEBANG_BYTES)
        line = start.splitlines()[0].decode("utf-8", "replace") if start.startswith(b"#!") else ""
        words = line[2:].split()
        if any(Path(word).name.startswith(("python", "pypy")) for word in words):
            text = f"{path.name} starts {line[2:].strip()}, which is not this bundle's Python"
            found.append(problem("foreign-shebang", "error", str(path), text))
    return found


def missing_libraries(root: Path) -> list[Problem]:
    """Libraries that bundle.json wants from the host and the loader does not find."""
    try:
        needs = json.loads((root / "bundle.json").read_text(encoding="utf-8")).get("host_needs", [])
        wanted = [(str(need["library"]), bool(need.get("optional")), need.get("switches_off", [])) for need in needs]
    except (ValueError, TypeError, KeyError, AttributeError):
        return [problem("unreadable-bundle-json", "error", "bundle.json", "bundle.json is not what a bundle carries")]
    try:
        import ctypes
    except ImportError as error:
        return [problem("import-failed", "error", "ctypes", f"no library could be looked for: {error}")]
    found = []
    for library, optional, modules in wanted:
        try:
            ctypes.CDLL(library)
        except OSError:
            off = f"; without it, these do not work: {', '.join(map(str, modules))}" if modules else ""
            severity = "warning" if optional else "error"
            found.append(problem("missing-library", severity, library, f"the host has no {library}{off}"))
    return found
