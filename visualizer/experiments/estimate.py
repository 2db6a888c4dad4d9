"""Estimates the time of an experiment of the page from a few of its runs."""

from __future__ import annotations

import time

from simulator.experiments import Experiment
from simulator.experiments import core_seconds as measured_core_seconds

MEASURED_S = 2.0
"""Seconds of the processor for measuring."""


def core_seconds(experiment: Experiment) -> float:
    """Seconds that one core needs for all runs, from the processor time of this thread."""
    return measured_core_seconds(experiment, time.thread_time, MEASURED_S)
