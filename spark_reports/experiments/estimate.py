"""Estimates the time of a sweep from a few runs in this process, before anything else runs."""

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


def spoken(seconds: float) -> str:
    """A duration for people: `8 s`, `12 min`, `3.5 h`."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 90 * 60 else f"{seconds / 3600:.1f} h"
