"""Counts the runs of an answer of My set-up again, by Spark from their rows, for its attachment.

Rules: every run is made again and written as a trace, and the failover report counts the traces. Nothing of
the engine's counting is used. Each figure must equal that of the answer. A difference is an internal error,
which the report's page and the attachment state. The checks (`docs/checks.md`) read the rows of every run and
Spark's failovers. Only the worker imports this module.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simulator import ENGINE_VERSION
from simulator.experiments import checked_counts, checked_rows, made_again
from simulator.trace.files import write_trace
from spark_reports.protocols.table import PROTOCOLS
from spark_reports.session import QUICK, open_session
from visualizer.experiments.reading import experiment_of
from visualizer.reports.models import Report

if TYPE_CHECKING:
    from labsite.report_worker import Row
    from simulator import Scenario
    from simulator.checks.violation import Violation
    from simulator.experiments.figures_run import FiguresRun

SPANS = ("outage_us", "drained_us")
"""Figures of which a run has the longest of its failovers; of others it has the sum."""

SHOWN = 5
"""Differences that are named."""


class Differs(Exception):
    """Spark counted other numbers than the engine; the text has the first differences."""


def recounted(report: Report, row: Row) -> dict[str, Any]:
    """Count the runs of the report's answer again: figures and checks, as columns of the report.

    Raises Differs.
    """
    experiment = experiment_of(report.scenario_text)
    given = report.reruns
    folder = report.folder / "traces"
    folder.mkdir(parents=True, exist_ok=True)
    traces, checked = [], []
    for number, one in enumerate(given):
        row.go_on()
        row.say(f"running and checking the runs again, {number + 1} of {len(given)}")
        run = made_again(experiment, one)
        traces.append(_written(run, folder / f"{number:03}.parquet"))
        claims, violations = checked_rows(run)
        checked.append(Checked(one["seed"], run.scenario, claims, violations))
    row.say("starting Spark")
    row.go_on()
    spark = open_session(settings=QUICK)
    from spark_reports.jobs.failover import FailoverReport

    made = FailoverReport(spark, traces, report.folder, row, changed=False).make()
    names = [one.name for one in experiment.measures]
    found = [_figures(run, one, names) for run, one in zip(made["runs"], given, strict=True)]
    for path in traces:
        path.unlink()
    if different := differences(given, found):
        more = f" and {len(different) - SHOWN} more" if len(different) > SHOWN else ""
        raise Differs("; ".join(different[:SHOWN]) + more)
    for one, run in zip(checked, made["runs"], strict=True):
        one.violations += checked_counts(one.scenario, run["failovers"])
    return {"figures": found, "checks": table_of_checks(checked)}


@dataclass(slots=True)
class Checked:
    """What was checked in one run, and what does not hold."""

    seed: int
    scenario: Scenario
    claims: tuple[str, ...]
    violations: list[Violation]


def table_of_checks(checked: Sequence[Checked]) -> list[dict[str, Any]]:
    """For each claim: in how many runs it held, in how many it was violated, and the first violation."""
    table: dict[str, dict[str, Any]] = {}
    for one in checked:
        first = {found.claim: found for found in reversed(one.violations)}
        for claim in one.claims:
            entry = table.setdefault(claim, {"claim": claim, "held": 0, "violated": 0, "first": ""})
            found = first.get(claim)
            entry["held" if found is None else "violated"] += 1
            if found is not None and not entry["first"]:
                entry["first"] = f"seed {one.seed}, {found.at_us / 1e6:.6f} s: {found.reason}"
    return list(table.values())


def _written(run: FiguresRun, path: Path) -> Path:
    """Write the trace of a run that ended where its figures are final."""
    meta = {
        "engine_version": ENGINE_VERSION,
        "scenario": run.scenario.canonical_text,
        "seed": run.seed,
        "commands": [],
        "until_us": run.now_us,
    }
    write_trace(path, run.trace, meta)
    return path


def _figures(run: dict[str, Any], one: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The figures of a run as Spark counted them, in the form of the answer's."""
    subjects = PROTOCOLS[run["protocol"]].subjects(run)
    found: dict[str, Any] = {"run": one["run"], "seed": one["seed"]}
    for name in names:
        if name in SPANS:
            begins = [each["at_us"] if name == "drained_us" else 0 for each in subjects]
            ends = [each[name] for each in subjects]
            known = [end - begin for begin, end in zip(begins, ends, strict=True) if end is not None]
            found[name] = max(known) if known and len(known) == len(subjects) else None
        else:
            found[name] = sum(each[name] for each in subjects)
    causes: Counter[str] = Counter()
    for subject in subjects:
        causes.update({cause: count for cause, count in subject["by_cause"].items() if count})
    return {**found, "by_cause": dict(sorted(causes.items()))}


def differences(given: Sequence[dict[str, Any]], found: Sequence[dict[str, Any]]) -> list[str]:
    """Each figure that differs, in words."""
    lines = []
    for one, counted in zip(given, found, strict=True):
        causes = {cause: count for cause, count in one["by_cause"].items() if count}
        for name, value in counted.items():
            before = dict(sorted(causes.items())) if name == "by_cause" else one[name]
            if before != value:
                lines.append(f"seed {one['seed']}: {name} {json.dumps(before)}, by Spark {json.dumps(value)}")
    return lines
