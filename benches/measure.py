"""Times whole commands by the operating system's own accounting, and writes tables of pairs."""

import dataclasses
import os
import pathlib
import shlex
import shutil
import statistics
import subprocess
import time

MB = 1_000_000


@dataclasses.dataclass
class Run:
    wall: float
    cpu: float
    rss: int
    size: int


def timed(command: str, output: pathlib.Path | None) -> Run:
    """Runs a shell command, then syncs the file system of its output."""
    if output is not None:
        command += f" && sync -f {shlex.quote(str(output))}"
    began = time.monotonic()
    process = subprocess.Popen(["bash", "-euo", "pipefail", "-c", command], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.monotonic() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"exit {process.returncode}: {command}")
    size = output.stat().st_size if output is not None and output.is_file() else 0
    return Run(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, size)


def fresh(*paths: pathlib.Path) -> None:
    """Empty folders, and nothing left to write back."""
    for path in paths:
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
    os.sync()


def ratio(a: list[Run], b: list[Run], figure) -> float:
    return statistics.median(figure(x) / figure(y) for x, y in zip(a, b)) if all(figure(y) for y in b) else 0.0


def table(title: str, a: list[Run], b: list[Run], peer: str) -> list[str]:
    lines = [f"## {title}", "", "| | wall s | CPU s | peak RSS MB | bytes MB |", "|---|---|---|---|---|"]
    for name, runs in (("bundler", a), (peer, b)):
        figures = [
            f"{statistics.median(r.wall for r in runs):.1f}",
            f"{statistics.median(r.cpu for r in runs):.1f}",
            f"{max(r.rss for r in runs) / MB:.0f}",
            f"{runs[-1].size / MB:.0f}",
        ]
        lines.append(f"| {name} | {' | '.join(figures)} |")
    lines += [
        (f"| **ratio** | **{ratio(a, b, lambda r: r.wall):.2f}** | **{ratio(a, b, lambda r: r.cpu):.2f}** | "
        f"{ratio(a, b, lambda r: r.rss):.2f} | {ratio(a, b, lambda r: r.size):.3f} |"),
        "",
    ]
    return lines
