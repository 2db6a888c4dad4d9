"""Estimates the time of an experiment from the beginning of two of its runs.

Rules: time and memory are bounded, whatever the scenario: a run is followed in simulated spans that double
until `MEASURED_S` has passed or it has `ROWS_MEASURED` rows, and the rest is extrapolated. The part before
the first fault counts once for each point and seed, since all phases share it.
"""

from __future__ import annotations

import time

from simulator import World
from simulator.experiments import Experiment, Point, first_fault_us

MEASURED_S = 0.5
"""Seconds of the processor for which a run is followed; the last span may take as long again."""

ROWS_MEASURED = 500_000
"""Most rows of a run that is followed, about 35 MB."""

FIRST_SPAN_US = 200_000
"""The first simulated span; shorter ones would interrupt regular traffic, which is computed in batches."""

COUNTING_SHARE = 0.2
"""What counting the figures of a run adds to it."""


def core_seconds(experiment: Experiment) -> float:
    """Seconds that one core needs for all runs."""
    points = experiment.points
    chosen = [points[0], points[-1]] if len(points) > 1 else [points[0]]
    batch_s = [_batch_s(experiment, point) for point in chosen]
    return sum(batch_s) / len(batch_s) * len(points) * len(experiment.seeds)


def _batch_s(experiment: Experiment, point: Point) -> float:
    """Seconds of all phases of a point with one seed."""
    scenario = experiment.scenario_at(point)
    fault_us = first_fault_us(scenario) or 0
    world = World.from_scenario(scenario, rows_max=ROWS_MEASURED)
    shared_s = _run_s(world, 0, fault_us)
    each_s = _run_s(world, fault_us, scenario.until_us) if world.now_us >= fault_us else None
    if each_s is None:  # too slow to reach the fault: as if the rest took as long
        each_s = shared_s * (scenario.until_us - fault_us) / max(fault_us, 1)
    return shared_s + experiment.phases * (each_s + COUNTING_SHARE * (shared_s + each_s))


def _run_s(world: World, from_us: int, until_us: int) -> float:
    """Seconds for running from one instant to another, extrapolated where only a part was run."""
    began_s, span_us, at_us = time.thread_time(), FIRST_SPAN_US, from_us
    while at_us < until_us:
        at_us = min(until_us, at_us + span_us)
        world.run(until_us=at_us)
        span_us *= 2
        spent_s = time.thread_time() - began_s
        if spent_s > MEASURED_S or world.limit_reached:
            return spent_s * (until_us - from_us) / max(1, world.now_us - from_us)
    return time.thread_time() - began_s
