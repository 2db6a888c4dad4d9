"""The common code of all parts: figures, medians, child processes that measure themselves.

Rules: a figure is a median of `REPEATS`. Ours and the alternative take turns, so that a slow minute of the
machine affects both. Memory is a process's own peak, so each memory measurement runs in a process of its own.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import re
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
REPEATS = 5


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured figure.

    `ratio` is value / alternative. `target` is the promised limit in words, `met` whether it is kept (None:
    no target).
    """

    part: str
    name: str
    value: float
    unit: str
    alternative_name: str = ""
    alternative: float | None = None
    target: str = ""
    met: bool | None = None

    @property
    def ratio(self) -> float | None:
        return self.value / self.alternative if self.alternative else None

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "ratio": self.ratio}

    def line(self) -> str:
        text = f"{self.part:7} {self.name}: {number(self.value)} {self.unit}"
        if self.alternative is not None:
            text += (
                f"; {self.alternative_name}: {number(self.alternative)} {self.unit}; ratio {self.ratio:.3g}"
            )
        if self.target:
            text += f"; target {self.target}: {'met' if self.met else 'MISSED'}"
        return text


def number(value: float) -> str:
    """A number with three significant digits at least, and thousands separators."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def median(values: list[float]) -> float:
    return statistics.median(values)


def percentile(values: list[float], share: float) -> float:
    """The value below which `share` of the values are (nearest rank)."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def seconds_of(body: Callable[[], Any]) -> float:
    started = time.perf_counter()
    body()
    return time.perf_counter() - started


def in_own_process(module: str, *arguments: str) -> dict[str, Any]:
    """Run `python -m module arguments`, which prints one JSON object last, and return that object.

    Raises RuntimeError with its error output when it fails.
    """
    answer = subprocess.run(
        [sys.executable, "-m", module, *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if answer.returncode != 0:
        raise RuntimeError(
            f"{module} {' '.join(arguments)} ended with code {answer.returncode}:\n{answer.stderr.strip()}"
        )
    return json.loads(answer.stdout.strip().splitlines()[-1])


def peak_memory_bytes() -> int:
    """The most memory that this process has held, bytes (Linux gives KiB)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


# --- writes measured figures into a document, between the two markers of each part
#
# `script/bench --write docs/performance.md engine seek` replaces the text between `<!-- figures: engine
# -->` and `<!-- end: engine -->`, and the same for `seek`. Everything else in the document is unchanged. A
# part without markers in the document is an error before anything is measured, so that no measurement is
# lost.


COLUMNS = "| what | measured | compared with | ratio | target |\n|---|---|---|---|---|"


def missing_parts(document: Path, parts: list[str]) -> list[str]:
    """The parts that have no pair of markers in the document."""
    text = document.read_text()
    return [part for part in parts if not _block(part).search(text)]


def write_figures(document: Path, part: str, figures: list[Figure], conditions: str) -> None:
    """Replace a part's figures; `conditions` is the sentence about date and machine."""
    rows = "\n".join(row_of(figure) for figure in figures)
    block = f"{_begin(part)}\n{conditions}\n\n{COLUMNS}\n{rows}\n{_end(part)}"
    document.write_text(_block(part).sub(lambda _: block, document.read_text(), count=1))


def row_of(figure: Figure) -> str:
    """One figure as a row of the table, with an empty cell where there is no alternative or no target."""
    compared = (
        f"{figure.alternative_name}: {number(figure.alternative)} {figure.unit}"
        if figure.alternative is not None
        else ""
    )
    ratio = f"{figure.ratio:.3g}" if figure.ratio is not None else ""
    target = f"{figure.target}: {'met' if figure.met else '**missed**'}" if figure.target else ""
    return f"| {figure.name} | {number(figure.value)} {figure.unit} | {compared} | {ratio} | {target} |"


def conditions_now(repeats: int, load: float) -> str:
    """Date, machine, load before the measurement and number of rounds, as one sentence."""
    memory_gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    machine = (
        f"{_processor()}, {os.cpu_count()} cores, {memory_gib:.0f} GiB, {platform.system()}, Python "
        f"{platform.python_version()}"
    )
    return (
        f"Measured on {datetime.date.today().isoformat()}: {machine}. Load average before it {load:.1f}; "
        f"medians of {repeats}."
    )


def _processor() -> str:
    """The processor's name as Linux gives it, else the architecture that Python reports."""
    cpuinfo = Path("/proc/cpuinfo")
    names = (
        re.findall(r"^model name\s*:\s*(.+)$", cpuinfo.read_text(), re.MULTILINE) if cpuinfo.exists() else []
    )
    return names[0].strip() if names else platform.machine()


def _begin(part: str) -> str:
    return f"<!-- figures: {part} -->"


def _end(part: str) -> str:
    return f"<!-- end: {part} -->"


def _block(part: str) -> re.Pattern[str]:
    return re.compile(f"{re.escape(_begin(part))}\n.*?{re.escape(_end(part))}", re.DOTALL)
