"""The common code of all parts: figures, medians, child processes that measure themselves.

Rules: a figure is a median of `REPEATS`. Ours and the alternative take turns, so that a slow minute of the
machine affects both. Memory is a process's own peak, so each memory measurement runs in a process of its own.
"""

from __future__ import annotations

import json
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
