"""Imports modules and says how it went, here or each in a process of its own. Run as a program it probes one.

A probe is {"error": text or None, "file": where the module lies or None, "finished": bool}, for torch also "torch"
and "gpus".
"""

import importlib
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

Probe = dict[str, Any]
Problem = dict[str, str]

UNFINISHED = "import-unfinished"
MISSING_LIBRARY = re.compile(r"([^\s:]+\.so[.\d]*): cannot open shared object file")
PROCESSES = 2


def problem(code: str, severity: str, subject: str, message: str) -> Problem:
    """One line of the answer's `problems`."""
    return {"code": code, "severity": severity, "subject": subject, "message": message}


def probe_all(modules: list[str], isolated: bool, timeout: float) -> dict[str, Probe]:
    """A probe for each module; `timeout` is seconds for an import of its own process."""
    if not isolated:
        return {name: probe(name) for name in modules}
    with ThreadPoolExecutor(max_workers=PROCESSES) as pool:
        return dict(zip(modules, pool.map(lambda name: probe_apart(name, timeout), modules), strict=True))


def probe(name: str) -> Probe:
    """Imports a module here."""
    answer: Probe = {"error": None, "file": None, "finished": True}
    try:
        module = _load(name)
        answer["file"] = getattr(module, "__file__", None)
        if name == "torch":
            answer |= torch_facts(module)
    except BaseException as error:  # an import may raise SystemExit, or whatever a library thinks of
        if isinstance(error, KeyboardInterrupt):
            raise
        answer["error"] = " ".join(f"{type(error).__name__}: {error}".split())[:1000]
    return answer


def _load(name: str) -> Any:
    """Imports a module; one that lacks torch's libraries gets another try after torch, as bare extensions need."""
    try:
        return importlib.import_module(name)
    except ImportError:
        if "torch" in sys.modules or name == "torch" or importlib.util.find_spec("torch") is None:
            raise
        importlib.import_module("torch")
        return importlib.import_module(name)


def probe_apart(name: str, timeout: float) -> Probe:
    """Imports a module in a process of its own, which may die of it."""
    command = [sys.executable, "-B", str(Path(__file__).resolve()), name]
    try:
        child = subprocess.run(command, capture_output=True, timeout=timeout, stdin=subprocess.DEVNULL, check=False)
    except subprocess.TimeoutExpired:
        return {"error": f"the import did not end within {timeout:g} s", "file": None, "finished": False}
    try:
        return json.loads(child.stdout)
    except ValueError:
        said = child.stderr.decode("utf-8", "replace").strip().splitlines()
        last = f": {said[-1][:300]}" if said else ""
        return {
            "error": f"the import ended the interpreter, {_ending(child.returncode)}{last}",
            "file": None,
            "finished": True,
        }


def _ending(code: int) -> str:
    if code >= 0:
        return f"exit status {code}"
    try:
        return f"signal {signal.Signals(-code).name}"
    except ValueError:
        return f"signal {-code}"


def torch_facts(torch: Any) -> Probe:
    """{"torch": {version, cuda, available, note}, "gpus": [{name, capability, memory in bytes, covered}]}."""
    import gpu_policy

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        available = bool(torch.cuda.is_available())
    facts = {"version": str(torch.__version__), "cuda": torch.version.cuda, "available": available}
    if said:
        facts["note"] = " ".join(str(said[0].message).split())[:500]
    gpus = []
    for number in range(torch.cuda.device_count() if available else 0):
        device = torch.cuda.get_device_properties(number)
        capability = (device.major, device.minor)
        gpus.append(
            {
                "name": device.name,
                "capability": f"{device.major}.{device.minor}",
                "memory": device.total_memory,
                "covered": gpu_policy.covers(torch.cuda.get_arch_list(), capability),
            }
        )
    return {"torch": facts, "gpus": gpus}


def problems(name: str, answer: Probe, root: Path) -> list[Problem]:
    """What a probe says is wrong."""
    found = []
    if answer["error"] is not None:
        missing = MISSING_LIBRARY.search(answer["error"])
        if missing:
            found.append(
                problem("missing-library", "error", missing[1], f"{name} needs {missing[1]}, which is nowhere")
            )
        else:
            code = "import-failed" if answer["finished"] else UNFINISHED
            found.append(problem(code, "error", name, answer["error"]))
    place = answer["file"]
    if place and (root / "bundle.json").is_file() and not Path(place).resolve().is_relative_to(root):
        found.append(problem("foreign-module", "warning", name, f"{name} comes from {place}, outside of the bundle"))
    facts = answer.get("torch")
    if facts and facts.get("note"):
        found.append(problem("cuda-unavailable", "warning", "torch", facts["note"]))
    for gpu in answer.get("gpus", []):
        if not gpu["covered"]:
            text = f"torch holds no code for capability {gpu['capability']}"
            found.append(problem("gpu-arch-uncovered", "error", gpu["name"], text))
    return found


def main() -> None:
    sys.dont_write_bytecode = True
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    answer = probe(sys.argv[1])
    with answers:
        json.dump(answer, answers)
    # Libraries that crash while they are torn down say nothing about their import.
    os._exit(0)


if __name__ == "__main__":
    main()
