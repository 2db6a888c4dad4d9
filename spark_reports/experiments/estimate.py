"""Estimates the time of runs: from a few of them before anything else runs, and while they run."""

from __future__ import annotations

import time

from simulator.experiments import Experiment, cost_of

MEASURED_S = 2.0
"""Seconds of the processor for measuring."""


def core_seconds(experiment: Experiment) -> float:
    """Seconds that one core needs for the whole experiment, from processor time.

    Other programs on the machine do not change it.
    """
    return cost_of(experiment, time.process_time, MEASURED_S).core_s


def left_s(each_s: float, spent_s: float, made: int, wanted: int, at_once: int) -> float:
    """Seconds until all wanted works are done, of which `made` were in `spent_s`, `at_once` at a time.

    `each_s` is the estimate for one, in elapsed time. It counts as one measurement, like each work that is
    done. Works that should be done by now, and are not, take longer than estimated: the machine is busy.
    """
    if made:
        each_s = (each_s + spent_s) / (1 + made)
    each_s = max(each_s, spent_s / (made + at_once))
    return max(each_s * wanted - spent_s, min(wanted - made, 1) * each_s)


def spoken(seconds: float) -> str:
    """A duration for people: `8 s`, `12 min`, `3.5 h`."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 90 * 60 else f"{seconds / 3600:.1f} h"
