"""Estimates the time of a sweep from a few runs in this process, before anything else runs.

Rules: measured are points at the beginning, middle and end of the grid, each with one phase and with a few,
since the runs of a batch share their first part. Measuring stops after `SECONDS_MOST`, at least one run.
"""

from __future__ import annotations

import time
from dataclasses import replace

from simulator.experiments import Experiment, batches, run_batch

SECONDS_MOST = 2.0
PHASES_MEASURED = 4


def core_seconds(experiment: Experiment) -> float:
    """Seconds that one core needs for the whole experiment."""
    began = time.monotonic()
    last = len(experiment.points) - 1
    found: list[float] = []
    _seconds(experiment, 0, 1)  # the first run of a process also imports and compiles
    for point in dict.fromkeys((0, last // 2, last)):
        if found and time.monotonic() - began > SECONDS_MOST:
            break
        found.append(_batch_s(experiment, point))
    return sum(found) / len(found) * len(experiment.points) * len(experiment.seeds)


def _batch_s(experiment: Experiment, point: int) -> float:
    """Seconds of a batch: one run, and for each further phase what it adds."""
    one_s = _seconds(experiment, point, 1)
    few = min(PHASES_MEASURED, experiment.phases)
    if few == 1:
        return one_s
    added_s = max(0.0, _seconds(experiment, point, few) - one_s) / (few - 1)
    return one_s + added_s * (experiment.phases - 1)


def _seconds(experiment: Experiment, point: int, phases: int) -> float:
    small = replace(experiment, phases=phases, seeds=experiment.seeds[:1])
    batch = next(batch for batch in batches(small) if batch.point.number == point)
    began = time.monotonic()
    for _row in run_batch(small, batch):
        pass
    return time.monotonic() - began


def spoken(seconds: float) -> str:
    """A duration for people: `8 s`, `12 min`, `3.5 h`."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 90 * 60 else f"{seconds / 3600:.1f} h"
