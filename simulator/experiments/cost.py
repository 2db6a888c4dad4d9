"""The cost of an experiment, from a few of its runs, and what makes its runs longer.

Rules: the caller gives the clock, since the simulator reads none. Batches are run as in the experiment, so
what the phases share, where runs stop, and what counting adds is included. Time and memory are bounded,
whatever the scenario: the first run of a point is followed in simulated spans that double, and a point whose
run is too long for whole batches is extrapolated from it, to where its backlog will have drained.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

from simulator.branch import RunFailed
from simulator.experiments.experiment import Experiment, Point, first_fault_us, moved_without_text
from simulator.experiments.runs import batches, run_batch
from simulator.protocols.table import protocol_of
from simulator.runs import SETTLING_US
from simulator.scenarios.canonical import canonical_text
from simulator.scenarios.model import Scenario
from simulator.system.measured import Load, Measure
from simulator.world import World

PHASES_MEASURED = 4
"""Phases of the longer one of two measured batches; what they add to one phase is the cost of a phase."""

RUN_SHARE = 4
"""A run is followed for this part of the time for measuring; the last span may take as long again."""

ROWS_MEASURED = 500_000
"""Most rows of a run that is followed, about 35 MB."""

EARLY_US, EARLY_MESSAGES = 400_000, 2_000
"""When the first fault is at least in a run that is followed, and after how many messages, up to 2 s."""

FIRST_SPAN_US = 200_000
"""The first simulated span; shorter ones would interrupt regular traffic, which is computed in batches."""

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds of one core for all runs, and the rows that they simulate."""

    core_s: float
    rows: float

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.core_s + other.core_s, self.rows + other.rows)

    def times(self, factor: float) -> Cost:
        """The cost of so many times as much."""
        return Cost(self.core_s * factor, self.rows * factor)


def cost_of(experiment: Experiment, clock: Clock, seconds_most: float) -> Cost:
    """The cost of all runs, by estimate.

    `clock` returns seconds of processor time. Measuring takes at most about twice `seconds_most`, and at
    least one point of the grid.
    """
    began_s, last = clock(), len(experiment.points) - 1
    found: list[Cost] = []
    for number in dict.fromkeys((0, last, last // 2)):
        if found and clock() - began_s > seconds_most:
            break
        found.append(_batch_cost(experiment, experiment.points[number], clock, seconds_most / RUN_SHARE))
    whole = sum(found, Cost(0, 0))
    return whole.times(len(experiment.points) * len(experiment.seeds) / len(found))


def load_of(scenario: Scenario) -> Load | None:
    """How busy the consumers of its first failover are, by estimate; None without one."""
    return protocol_of(scenario).measured.load(scenario)


def assumed(scenario: Scenario) -> list[str]:
    """Sentences about what decides the figures of a scenario and is not entered with them."""
    found = protocol_of(scenario).measured.assumed(scenario)
    why = protocol_of(scenario).measured.uncounted(scenario)
    return [*found, why] if why else found


def period_says(scenario: Scenario) -> str:
    """What the period of a scenario is, with which the effect of a fault repeats."""
    return protocol_of(scenario).measured.period_says


def messages_of(scenario: Scenario) -> int | None:
    """The messages that are published in a run which stops when its figures are final.

    It follows from the scenario alone. None where the load is not known.
    """
    load = load_of(scenario)
    return None if load is None else load.messages(_settles_us(scenario, load))


def reduced(scenario: Scenario, factor: int) -> Scenario | None:
    """Nearly the same scenario at 1/`factor` of its rate; None where there is none.

    Its counts times `factor` are an estimate of those of the whole one.
    """
    found = protocol_of(scenario).measured.reduced(scenario, factor)
    return None if found is None else replace(found, canonical_text=canonical_text(found))


def all_measures(experiment: Experiment) -> tuple[Measure, ...]:
    """Every measure of the experiment's protocol, also those that it leaves out."""
    return protocol_of(experiment.scenario_at(experiment.points[0])).measured.measures


def measures_of(scenario: Scenario) -> tuple[Measure, ...]:
    """Every measure of a run of the scenario."""
    return protocol_of(scenario).measured.measures


def late_measures(scenario: Scenario) -> tuple[str, ...]:
    """The measures that keep runs of the scenario from stopping before their end."""
    return protocol_of(scenario).measured.late(scenario)


def _batch_cost(experiment: Experiment, point: Point, clock: Clock, run_s: float) -> Cost:
    """The cost of all phases of a point with one seed."""
    scenario = experiment.scenario_at(point, experiment.seeds[0])
    long = _extrapolated(scenario, _ends_us(experiment, scenario), clock, run_s)
    if long is not None:
        shared, each, counting_share = long
        counting = Cost(counting_share * (shared.core_s + each.core_s), 0)
        return shared + (each + counting).times(experiment.phases)
    one = _measured(experiment, point, 1, clock)
    few = min(PHASES_MEASURED, experiment.phases)
    if few == 1:
        return one
    several = _measured(experiment, point, few, clock)
    added_s = max(0.0, several.core_s - one.core_s) / (few - 1)
    return one + Cost(added_s, several.rows / few).times(experiment.phases - 1)


def _measured(experiment: Experiment, point: Point, phases: int, clock: Clock) -> Cost:
    """The cost of a batch of a point with so many phases."""
    small = replace(experiment, phases=phases, seeds=experiment.seeds[:1])
    batch = next(batch for batch in batches(small) if batch.point.number == point.number)
    began_s = clock()
    rows = sum(row["rows"] for row in run_batch(small, batch))
    return Cost(clock() - began_s, rows)


def _extrapolated(
    scenario: Scenario, end_us: int, clock: Clock, run_s: float
) -> tuple[Cost, Cost, float] | None:
    """The cost of a run up to its first fault, and from there; None if it ends within `run_s` seconds.

    The third is what counting its figures adds, as a share. What comes after a fault costs more than what
    comes before. So the fault of the run that is followed is early, and both parts are measured. What is not
    reached costs as much as the last span, and no less than what comes before the fault: readers that have
    stopped start again.
    """
    fault_us, earlier_us = first_fault_us(scenario) or 0, 0
    early_us = _early_us(scenario)
    if fault_us > early_us and all(spec.at_us >= fault_us for spec in scenario.commands):
        earlier_us = fault_us - early_us
    early, began_s = moved_without_text(scenario, -earlier_us), clock()
    run = World(early, rows_max=ROWS_MEASURED, begun=False, figures_only=True)
    last_us = end_us - earlier_us
    before, before_us, _last = _followed(run, fault_us - earlier_us, clock, run_s / 2)
    after, after_us, last = _followed(run, last_us, clock, max(run_s / 2, run_s - (clock() - began_s)))
    if run.now_us >= last_us and (clock() - began_s) * end_us / max(1, last_us) < run_s:
        return None
    counted_s = clock()
    with suppress(RunFailed):
        run.counted()
    share = (clock() - counted_s) / max(1e-9, before.core_s + after.core_s)
    slowest = max(last, before.times(1 / before_us), key=lambda cost: cost.core_s)
    rest_us = max(0, end_us - fault_us - after_us)
    return before.times(fault_us / before_us), after + slowest.times(rest_us), share


def _early_us(scenario: Scenario) -> int:
    """The instant of the first fault in a run that is followed."""
    load = load_of(scenario)
    if load is None or not load.rate:
        return EARLY_US
    return max(EARLY_US, min(2_000_000, round(EARLY_MESSAGES / load.rate * 1e6)))


def _followed(run: World, until_us: int, clock: Clock, most_s: float) -> tuple[Cost, int, Cost]:
    """The cost of the run's next part, the simulated time of it, and the cost of a us in its last span."""
    began_s, from_us, rows, span_us = clock(), run.now_us, run.seq, FIRST_SPAN_US
    last = Cost(0, 0)
    with suppress(RunFailed):
        while run.now_us < until_us and clock() - began_s < most_s:
            span_s, span_from_us, span_rows = clock(), run.now_us, run.seq
            run.run(min(until_us, run.now_us + span_us))
            spent = Cost(clock() - span_s, run.seq - span_rows)
            last = spent.times(1 / max(1, run.now_us - span_from_us))
            span_us *= 2
    return Cost(clock() - began_s, run.seq - rows), max(1, run.now_us - from_us), last


def _ends_us(experiment: Experiment, scenario: Scenario) -> int:
    """Where a run of the scenario ends: where it settles, unless a measure keeps it from that."""
    late = late_measures(scenario)
    if any(one.name in late for one in experiment.measures):
        return scenario.until_us
    return _settles_us(scenario, load_of(scenario))


def _settles_us(scenario: Scenario, load: Load | None) -> int:
    """Where the figures of a run are final: when its backlog has drained, by estimate, or at its end."""
    if load is None:
        return scenario.until_us
    last_us = max((spec.at_us for spec in scenario.commands), default=0)
    return min(scenario.until_us, last_us + round(load.drained_s * 1e6) + 2 * SETTLING_US)
