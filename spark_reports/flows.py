"""Pending items over time: bins of a run for Spark, and the curve of what arrived and has not left.

Rules: plain values in and out. A bin is numbered from the run's beginning, and holds (arrived, left).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

BINS_MOST = 160


def bin_widths_us(runs: list[dict[str, Any]]) -> dict[int, int]:
    """The width of the bins of each run, µs."""
    return {run["run"]: run["until_us"] // BINS_MOST + 1 for run in runs}


def piled_up(flow: Mapping[int, tuple[int, int]], bin_us: int, until_us: int) -> tuple[list[int], list[int]]:
    """The number of pending items over time: (instants, counts) at 0 and at the end of each bin."""
    present, instants, counts = 0, [0], [0]
    for number in range(until_us // bin_us + 1):
        came, left = flow.get(number, (0, 0))
        present += came - left
        instants.append(min((number + 1) * bin_us, until_us))
        counts.append(present)
    return instants, counts
