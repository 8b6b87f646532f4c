"""Says what works here, as JSON on stdout: python, torch, GPUs, imports, problems. Changes nothing.

Exit status: 0 all imports work, 1 something is wrong, 2 could not tell. A problem is {"code", "severity", "subject",
"message"}; only those of severity "error" count as wrong.
"""

import sys
from pathlib import Path

sys.dont_write_bytecode = True
if str(Path(__file__).resolve().parent) not in sys.path:
    sys.path.insert(0, str(Path(__file__).resolve().parent))

import argparse
import json
import os
import platform
from typing import Any

import doctor_host
import doctor_imports
import doctor_tree

ROOT = Path(__file__).resolve().parents[1]


def examine(root: Path, modules: list[str], isolated: bool, timeout: float) -> dict[str, Any]:
    """The answer, all of it plain values; `timeout` is seconds for each import of its own process."""
    probes = doctor_imports.probe_all(modules, isolated, timeout)
    torch = probes.get("torch", {}).get("torch")
    gpus = probes.get("torch", {}).get("gpus", [])
    host = doctor_host.facts()
    problems = doctor_tree.problems(root) + doctor_host.problems(root, host)
    for name in modules:
        problems += doctor_imports.problems(name, probes[name], root)
    return {
        "schema_version": 1,
        "python": platform.python_version(),
        "executable": sys.executable,
        "prefix": sys.prefix,
        "torch": torch,
        "gpus": gpus,
        "host": host,
        "imports": {name: probes[name]["error"] or True for name in modules},
        "problems": problems,
    }


def status(answer: dict[str, Any]) -> int:
    """0 all imports work, 1 something is wrong, 2 an import did not come to an end and nothing else is wrong."""
    errors = [problem["code"] for problem in answer["problems"] if problem["severity"] == "error"]
    if not errors:
        return 0
    return 2 if set(errors) == {doctor_imports.UNFINISHED} else 1


def main() -> int:
    parser = argparse.ArgumentParser(prog="doctor", description="Say as JSON what of this bundle works here.")
    own = ",".join(doctor_host.modules(ROOT))
    parser.add_argument("--modules", default=own, metavar="A,B", help="modules to import (default: %(default)s)")
    parser.add_argument("--isolated", action="store_true", help="import each in a process of its own")
    parser.add_argument("--timeout", type=float, default=300.0, metavar="SECONDS", help="for each isolated import")
    parser.error = lambda message: parser.exit(2, f"error: {message} (see --help)\n")  # type: ignore[method-assign]
    options = parser.parse_args()
    modules = list(dict.fromkeys(name.strip() for name in options.modules.split(",") if name.strip()))
    if not modules:
        parser.error("--modules names none")

    # What modules print while they are imported goes to stderr: stdout is for the answer alone.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    try:
        answer = examine(ROOT, modules, options.isolated, options.timeout)
        with answers:
            json.dump(answer, answers, indent=2)
            answers.write("\n")
    except OSError as error:
        print(f"error: could not examine this bundle: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return status(answer)


if __name__ == "__main__":
    sys.exit(main())
