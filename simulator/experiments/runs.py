"""The runs of an experiment: rows of figures, without the traces.

Rules: a batch is one point with one seed, in every phase, or some of these phases. A run is the same in
whichever batch it is. The runs of a batch are equal until the first moved
command, so this part is simulated once, and each phase goes on from a fork of it. A run that cannot be
carried out is a row with the reason.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from simulator.checks.check import Violation
from simulator.checks.checks import Checks
from simulator.experiments.experiment import Experiment, Point
from simulator.experiments.phase import first_fault_us, moved, moved_without_text
from simulator.instants import RunFailed
from simulator.protocols.table import protocol_of
from simulator.runs import Runs, finished
from simulator.scenarios.canonical import Variant
from simulator.scenarios.model import Scenario
from simulator.scenarios.tree import ScenarioError
from simulator.world import World

FINISHED, FAILED = "finished", "failed"
LONGEST_REASON = 500
"""The most characters of the reason why a run failed."""

Row = dict[str, Any]
"""`run`, `point`, `seed`, `phase_us`, `status`, `reason`, simulated `rows`, and each measure by name.

`causes` are the duplicates by cause, as JSON. `delivering` is the number of failovers whose backlog was not
delivered completely at the end of the run: its figures are then lower bounds.
"""


@dataclass(frozen=True, slots=True)
class Batch:
    """Runs of one point with one seed. `first_run` is the number of their run in phase 0."""

    first_run: int
    point: Point
    seed: int
    phases: range

    def parts(self, count: int) -> list[Batch]:
        """The batch in at most so many batches of about equal size, in order.

        Each of them simulates again what its runs share.
        """
        count = min(count, len(self.phases))
        ends = [len(self.phases) * part // count for part in range(count + 1)]
        return [
            replace(self, phases=self.phases[start:end]) for start, end in zip(ends, ends[1:], strict=False)
        ]


def batches(experiment: Experiment) -> Iterator[Batch]:
    """Every batch, in the order of the runs."""
    for point in experiment.points:
        for index, seed in enumerate(experiment.seeds):
            first = (point.number * len(experiment.seeds) + index) * experiment.phases
            yield Batch(first, point, seed, range(experiment.phases))


def run_batch(experiment: Experiment, batch: Batch) -> Iterator[Row]:
    """The rows of a batch, in the order of its runs."""
    blank = {"point": batch.point.number, "seed": batch.seed}
    try:
        scenario = experiment.scenario_at(batch.point, batch.seed)
        offsets_us = experiment.offsets_us(scenario, batch.point, batch.seed)
    except ScenarioError as error:
        for phase in batch.phases:
            yield _failed({"run": batch.first_run + phase, **blank, "phase_us": None}, error)
        return
    runs, names = Runs(figures_only=True), [measure.name for measure in experiment.measures]
    found: dict[int, Row] = {}
    for phase in sorted(batch.phases, key=offsets_us.__getitem__):
        row = {"run": batch.first_run + phase, **blank, "phase_us": offsets_us[phase]}
        try:
            run = finished(runs.run(later(scenario, offsets_us[phase]), names))
            found[phase] = {
                **row,
                "status": FINISHED,
                "reason": None,
                "rows": run.seq,
                **_figures(run, names),
            }
        except Exception as error:  # whatever went wrong is a row, and the other runs go on
            found[phase] = _failed(row, error)
    yield from (found[phase] for phase in batch.phases)


def replayed(experiment: Experiment, row: Row) -> Scenario:
    """The scenario of one run, with its own seed and instants: it can be run and opened like any other."""
    scenario = experiment.scenario_at(experiment.points[row["point"]], row["seed"])
    return moved(scenario, row["phase_us"] or 0)


def made_again(experiment: Experiment, row: Row) -> World:
    """One run made again, to where its figures are final; `trace` has its rows. Raises RunFailed."""
    variant = Variant("again", "run again", replayed(experiment, row), [])
    return finished(Runs(figures_only=True).run(variant, [measure.name for measure in experiment.measures]))


def checked_rows(run: World) -> tuple[tuple[str, ...], list[Violation]]:
    """The claims that are checked in a run, and the violations in its rows."""
    checks = Checks(run.scenario)
    return checks.claims, checks.read(run.trace)


def checked_counts(scenario: Scenario, failovers: Sequence[dict[str, Any]]) -> list[Violation]:
    """The violations in a run's counted failovers."""
    return Checks(scenario).check_counts(failovers)


def expected(experiment: Experiment, row: Row) -> dict[str, tuple[int, int]] | None:
    """The least and the greatest value of some measures in closed form; None where there is none."""
    scenario = experiment.scenario_at(experiment.points[row["point"]], row["seed"])
    return protocol_of(scenario).measured.expected(moved_without_text(scenario, row["phase_us"] or 0))


def _figures(run: World, names: Sequence[str]) -> Row:
    """What is measured in a run. Raises RunFailed when nothing happened that could be measured."""
    if (why := _without_failure(run)) is not None:
        raise RunFailed(why)
    declared = run.protocol.measured
    causes = {name: count for name, count in declared.causes(run).items() if count}
    found = declared.of(run)
    return {
        "causes": json.dumps(causes, separators=(",", ":")),
        "delivering": declared.delivering(run),
        **{name: found[name] for name in names},
    }


def _without_failure(run: World) -> str | None:
    """Why no failover of the scenario took place; None if one did, or if it has none."""
    moves = [spec for spec in run.scenario.commands if spec.do.endswith(".fail-over")]
    if not moves or run.protocol.measured.failures(run):
        return None
    refused = [one["error"] for one in run.runtime.command_results if not one["ok"]]
    if refused:
        return f"the failover is refused at its instant: {refused[0]}"
    return "the run ends before the consumers move; let it run for longer"


def later(scenario: Scenario, offset_us: int) -> Variant:
    """The run with its faults so much later, which shares what comes before with runs of other offsets.

    No fault, or one at instant 0: there is nothing to share.
    """
    from_us = first_fault_us(scenario)
    fork_us = from_us + offset_us - 1 if from_us else None
    return Variant("later", "", moved_without_text(scenario, offset_us), [], fork_us=fork_us)


def _failed(row: Row, error: Exception) -> Row:
    expected = isinstance(error, (ScenarioError, RunFailed))
    reason = str(error) if expected else f"internal error, {type(error).__name__}: {error}"
    return {
        **row,
        "status": FAILED,
        "reason": reason[:LONGEST_REASON],
        "rows": 0,
        "causes": None,
        "delivering": None,
    }
