"""The cost of an experiment, from a few of its runs, and what makes its runs longer.

Rules: the caller gives the clock, since the simulator reads none. Batches are run as in the experiment, so
what the phases share, where runs stop, and what counting adds is included. Time and memory are bounded,
whatever the scenario: the first run of a point is followed in simulated spans that double, and a point whose
run is too long for whole batches is extrapolated from it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from simulator.experiments.experiment import Experiment, Point
from simulator.experiments.figures_run import FiguresRun, RunFailed
from simulator.experiments.phase import first_fault_us
from simulator.experiments.runs import batches, run_batch
from simulator.protocols.table import protocol_of
from simulator.scenarios.model import Scenario
from simulator.system.measured import Measure

PHASES_MEASURED = 4
"""Phases of the longer one of two measured batches; what they add to one phase is the cost of a phase."""

RUN_SHARE = 4
"""A run is followed for this part of the time for measuring; the last span may take as long again."""

ROWS_MEASURED = 500_000
"""Most rows of a run that is followed, about 35 MB."""

FIRST_SPAN_US = 200_000
"""The first simulated span; shorter ones would interrupt regular traffic, which is computed in batches."""

COUNTING_SHARE = 0.2
"""What counting the figures of a run adds to it, where it is not measured."""

Clock = Callable[[], float]


def core_seconds(experiment: Experiment, clock: Clock, seconds_most: float) -> float:
    """Seconds that one core needs for all runs.

    `clock` returns seconds of processor time. Measuring takes at most about `seconds_most`, and at least one
    point of the grid.
    """
    began_s, last = clock(), len(experiment.points) - 1
    found: list[float] = []
    for number in dict.fromkeys((0, last, last // 2)):
        if found and clock() - began_s > seconds_most / 2:
            break
        found.append(_batch_s(experiment, experiment.points[number], clock, seconds_most / RUN_SHARE))
    return sum(found) / len(found) * len(experiment.points) * len(experiment.seeds)


def all_measures(experiment: Experiment) -> tuple[Measure, ...]:
    """Every measure of the experiment's protocol, also those that it leaves out."""
    return protocol_of(experiment.scenario_at(experiment.points[0])).measured.measures


def measures_of(scenario: Scenario) -> tuple[Measure, ...]:
    """Every measure of a run of the scenario."""
    return protocol_of(scenario).measured.measures


def late_measures(scenario: Scenario) -> tuple[str, ...]:
    """The measures that keep runs of the scenario from stopping before their end."""
    return protocol_of(scenario).measured.late(scenario)


def _batch_s(experiment: Experiment, point: Point, clock: Clock, run_s: float) -> float:
    """Seconds of all phases of a point with one seed."""
    long_s = _extrapolated(experiment.scenario_at(point, experiment.seeds[0]), clock, run_s)
    if long_s is not None:
        shared_s, each_s = long_s
        return shared_s + experiment.phases * (each_s + COUNTING_SHARE * (shared_s + each_s))
    one_s = _measured_s(experiment, point, 1, clock)
    few = min(PHASES_MEASURED, experiment.phases)
    if few == 1:
        return one_s
    added_s = max(0.0, _measured_s(experiment, point, few, clock) - one_s) / (few - 1)
    return one_s + added_s * (experiment.phases - 1)


def _measured_s(experiment: Experiment, point: Point, phases: int, clock: Clock) -> float:
    """Seconds of a batch of a point with so many phases."""
    small = replace(experiment, phases=phases, seeds=experiment.seeds[:1])
    batch = next(batch for batch in batches(small) if batch.point.number == point.number)
    began_s = clock()
    for _row in run_batch(small, batch):
        pass
    return clock() - began_s


def _extrapolated(scenario: Scenario, clock: Clock, run_s: float) -> tuple[float, float] | None:
    """Seconds of a run up to its first fault, and from there; None if it ends within `run_s` seconds."""
    run, until_us, span_us = FiguresRun(scenario), scenario.until_us, FIRST_SPAN_US
    run.rows_max = ROWS_MEASURED
    began_s, spent_s, at_us = clock(), 0.0, 0
    try:
        while at_us < until_us and spent_s <= run_s:
            at_us = min(until_us, at_us + span_us)
            run.run(at_us)
            span_us *= 2
            spent_s = clock() - began_s
    except RunFailed:
        at_us, spent_s = run.now_us, clock() - began_s
    if at_us >= until_us:
        return None
    fault_us = first_fault_us(scenario) or 0
    of_each_us = spent_s / max(1, at_us)
    return of_each_us * fault_us, of_each_us * (until_us - fault_us)
