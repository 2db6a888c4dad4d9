"""The runs of an experiment: rows of figures, without the traces.

Rules: a batch is one point with one seed, in every phase. The runs of a batch are equal until the first moved
command, so this part is simulated once, and each phase goes on from a fork of it. A run that cannot be
carried out is a row with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from simulator.experiments.experiment import Experiment, Point
from simulator.protocols.table import protocol_of
from simulator.scenarios.canonical import canonical_text
from simulator.scenarios.model import CommandSpec, Scenario
from simulator.scenarios.problems import ScenarioError
from simulator.system.commanding import schedule_command
from simulator.world import World

FINISHED, FAILED = "finished", "failed"
LONGEST_REASON = 500
"""The most characters of the reason why a run failed."""

Row = dict[str, Any]
"""`run`, `point`, `seed`, `phase_us`, `status`, `reason`, `rows` of the trace, and each measure by name."""


@dataclass(frozen=True, slots=True)
class Batch:
    """The runs of one point with one seed; `first_run` is the number of its first one."""

    first_run: int
    point: Point
    seed: int


class RunFailed(Exception):
    """A run cannot be carried out; the text says why."""


def batches(experiment: Experiment) -> Iterator[Batch]:
    """Every batch, in the order of the runs."""
    for point in experiment.points:
        for index, seed in enumerate(experiment.seeds):
            first = (point.number * len(experiment.seeds) + index) * experiment.phases
            yield Batch(first, point, seed)


def run_batch(experiment: Experiment, batch: Batch) -> Iterator[Row]:
    """The rows of a batch, in the order of its runs."""
    blank = {"point": batch.point.number, "seed": batch.seed}
    try:
        scenario = experiment.scenario_at(batch.point, batch.seed)
        offsets_us = experiment.offsets_us(scenario, batch.point, batch.seed)
    except ScenarioError as error:
        for phase in range(experiment.phases):
            yield _failed({"run": batch.first_run + phase, **blank, "phase_us": None}, error)
        return
    prefix = Prefix(scenario)
    order = sorted(range(len(offsets_us)), key=lambda phase: offsets_us[phase])
    found: dict[int, Row] = {}
    for phase in order:
        row = {"run": batch.first_run + phase, **blank, "phase_us": offsets_us[phase]}
        try:
            world = prefix.run_with(offsets_us[phase])
            measures = world.protocol.measured.of(world)
            found[phase] = {**row, "status": FINISHED, "reason": None, "rows": world.seq, **measures}
        except Exception as error:  # whatever went wrong is a row, and the other runs go on
            found[phase] = _failed(row, error)
    yield from (found[phase] for phase in range(len(offsets_us)))


def replayed(experiment: Experiment, row: Row) -> Scenario:
    """The scenario of one run, with its own seed and instants: it can be run and opened like any other."""
    scenario = experiment.scenario_at(experiment.points[row["point"]], row["seed"])
    return moved(scenario, row["phase_us"] or 0)


def moved(scenario: Scenario, offset_us: int) -> Scenario:
    """The scenario whose commands from the first fault on, and whose end, are later by `offset_us`."""
    if not offset_us:
        return scenario
    changed = _without_text(scenario, offset_us)
    return replace(changed, canonical_text=canonical_text(changed))


def _without_text(scenario: Scenario, offset_us: int) -> Scenario:
    """The same, with the text of the scenario as it was."""
    from_us = first_fault_us(scenario)
    if from_us is None:
        return scenario
    commands = tuple(
        replace(spec, at_us=spec.at_us + offset_us) if spec.at_us >= from_us else spec
        for spec in scenario.commands
    )
    return replace(scenario, commands=commands, until_us=scenario.until_us + offset_us, expect={})


def first_fault_us(scenario: Scenario) -> int | None:
    """The instant of the first command that begins a fault or a failover."""
    faults = protocol_of(scenario).measured.faults
    return min((spec.at_us for spec in scenario.commands if spec.do in faults), default=None)


class Prefix:
    """A run up to its first fault, from which runs with later and later faults go on."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._from_us = first_fault_us(scenario)
        self._world: World | None = None

    def run_with(self, offset_us: int) -> World:
        """The whole run with the faults so much later; offsets have to be given in ascending order."""
        from_us, scenario = self._from_us, self._scenario
        changed = _without_text(scenario, offset_us)
        if not from_us:  # no fault, or one at instant 0, which begins with the world
            return _to_the_end(World.from_scenario(changed), changed.until_us)
        later = [spec for spec in scenario.commands if spec.at_us >= from_us]
        if self._world is None:
            earlier = tuple(spec for spec in scenario.commands if spec.at_us < from_us)
            self._world = World.from_scenario(replace(scenario, commands=earlier))
        _to_the_end(self._world, from_us + offset_us - 1)
        world = self._world.fork()
        world.scenario = changed
        _schedule(world, later, offset_us)
        return _to_the_end(world, changed.until_us)


def _schedule(world: World, commands: list[CommandSpec], offset_us: int) -> None:
    for spec in sorted(commands, key=lambda spec: spec.at_us):
        schedule_command(world.runtime, spec.at_us + offset_us, {"do": spec.do, **spec.arguments})


def _to_the_end(world: World, until_us: int) -> World:
    world.run(until_us)
    if world.limit_reached:
        raise RunFailed(str(world.limit_reached))
    return world


def _failed(row: Row, error: Exception) -> Row:
    words = (
        str(error) if isinstance(error, (ScenarioError, RunFailed)) else f"{type(error).__name__}: {error}"
    )
    return {**row, "status": FAILED, "reason": words[:LONGEST_REASON], "rows": 0}
