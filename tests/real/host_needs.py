"""Whether a host lacks just what bundle.json says: run by the bundle's python with the path of its bundle.json.

Every library that is not optional loads. An interpreter module that an optional library switches off imports where all
its libraries load, and does not where one is missing.
"""

import ctypes
import importlib
import json
import sys


def loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


with open(sys.argv[1], encoding="utf-8") as file:
    needs = json.load(file)["host_needs"]
missing = {need["library"] for need in needs if not loads(need["library"])}
wrong = [f"{need['library']} is needed and does not load" for need in needs
         if not need["optional"] and need["library"] in missing]
modules: dict[str, set[str]] = {}
for need in needs:
    for module in need.get("switches_off", []):
        if module.isidentifier() and module.startswith("_"):
            modules.setdefault(module, set()).add(need["library"])
for module, libraries in sorted(modules.items()):
    try:
        importlib.import_module(module)
        works = True
    except ImportError:
        works = False
    if works == bool(libraries & missing):
        wrong.append(f"{module} {'imports' if works else 'does not import'}; missing of its libraries: {libraries & missing}")
print(len(needs), "host needs; missing here:", " ".join(sorted(missing)) or "none")
print(*wrong, sep="\n")
raise SystemExit(1 if wrong or not modules else 0)
