"""Makes one report in the worker: replay, trace, Spark.

The row gets the simulator's own headline figures as soon as the run is replayed, so that the page shows
them while Spark counts.

Rules: an error is written to the row as a message, and logged with its traceback. Only the worker imports
this module.
"""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.urls import reverse

from labsite.task_row import (
    NO_ROOM,
    StepRow,
    carried_out,
    failed,
    forget_broken_session,
    when_the_database_is_there,
)
from simulator import ENGINE_VERSION, ScenarioError, World, load_scenario_text
from simulator.experiments import checked_counts, checked_rows, made_again
from simulator.recordings import RecordingError
from simulator.trace.files import TraceFileError, write_trace
from spark_reports.progress import Cancelled
from spark_reports.protocols.table import PROTOCOLS
from spark_reports.session import QUICK, JavaMissing, open_session
from visualizer.tasks.experiments import experiment_of
from visualizer.tasks.models import Report

if TYPE_CHECKING:
    from simulator import Scenario
    from simulator.checks.check import Violation


log = logging.getLogger("labsite.reports")

REPLAY_SLICE_EVENTS = 20_000


class Row(StepRow[Report]):
    """The report's row as a listener of its progress."""

    def show_simulators(self, figures: list[dict[str, Any]]) -> None:
        """Record the simulator's own figures, which the page shows while Spark counts."""
        self.collect(simulator_figures=figures)

    def go_on(self) -> None:
        """Raise Cancelled when the report was cancelled or the worker is stopping."""
        if self.cancel_wanted():
            raise Cancelled


def make_report(report_id: str, attempt: int) -> str:
    """Make the report of this attempt and return its state. An error is recorded in the row."""
    report = when_the_database_is_there(lambda: Report.take(report_id, attempt, step_name="starting"))
    if report is None:
        return "given up"
    row = Row(report)
    return carried_out(row, lambda: _ended(report, row))


def _ended(report: Report, row: Row) -> dict[str, Any]:
    """Make the report and return how it ended, as columns of the row."""
    try:
        work = _work if report.experiment_id is None else recounted
        return {"state": Report.State.DONE, **work(report, row)}
    except Differs as error:
        log.error("Spark's count of experiment %s differs: %s", report.experiment_id, error)
        return failed(
            f"Internal error: Spark counted other numbers than the answer shows. {error}.",
            "Do not use this answer, and report the error with the experiment's YAML.",
        )
    except Cancelled:
        report.remove_files()
        if row.stopping.is_set():
            return failed(
                "The worker was stopped while it made this report.", "Start it again, then try again."
            )
        return {"state": Report.State.CANCELLED}
    except JavaMissing as error:
        log.error("Report %s cannot be made: %s", report.pk, error)
        return failed("This report needs Java, and the worker has none that Spark can use.", str(error))
    except RecordingError as error:
        return failed(str(error), error.hint)
    except (TraceFileError, ScenarioError) as error:
        log.exception("Report %s: its inputs cannot be used", report.pk)
        return failed(
            f"The run cannot be read: {error}",
            "It may have been made by another version. Ask for a new report in a new lab.",
        )
    except Exception as error:
        # Spark and its JVM may raise any exception here: the row must not stay "running".
        log.exception("Report %s failed", report.pk)
        forget_broken_session()
        if isinstance(error, OSError) and error.errno in NO_ROOM:
            report.remove_files()
            return failed(
                "The report could not be made: there is no room left for its files.",
                "Try again when the site's operator has made room; `manage.py clean` removes old reports.",
            )
        return failed(
            f"The report could not be made: internal error ({type(error).__name__}).",
            "Try again. The worker's log has the details.",
        )


def _work(report: Report, row: Row) -> dict[str, Any]:
    """Replay, write the trace, report. Returns the headline of each failover and group, as a column."""
    row.say("running the scenario again")
    report.folder.mkdir(parents=True, exist_ok=True)
    trace = _replayed(report, row, report.folder / "trace.parquet")
    row.say("starting Spark")
    row.go_on()
    spark = open_session(settings=QUICK)
    from spark_reports.jobs.failover import FailoverReport

    made = FailoverReport(spark, [trace], report.folder, row, replay_url_of(report)).make()
    return {"figures": of_report(made["runs"])}


def replay_url_of(report: Report) -> str | None:
    """The address of the report's replay at its site; None when the site is not known.

    It is absolute, since the report's page is also opened from a disk.
    """
    return f"{report.site}{reverse('tasks:report-replay', args=[report.pk])}" if report.site else None


def _replayed(report: Report, row: Row, path: Path) -> Path:
    """Write the trace of the report's run, as the lab had it, and return its path."""
    scenario = load_scenario_text(report.scenario_text, seed=report.seed)
    until_us = report.until_us or scenario.until_us
    world = World(scenario, report.seed)
    for entry in report.commands:
        world.schedule_logged(entry)
    while world.advance(until_us, REPLAY_SLICE_EVENTS):
        row.go_on()
    meta = {
        "engine_version": ENGINE_VERSION,
        "scenario": scenario.canonical_text,
        "seed": report.seed,
        "commands": report.commands,
        "until_us": world.now_us,
        "reruns": report.reruns,
    }
    write_trace(path, world.trace, meta)
    row.show_simulators(of_simulator(world))
    return path


# --- the headline figures of a run, in a report's row: one object per failover and group


OF_FAILOVER = (
    "subscription",
    "from",
    "to",
    "mode",
    "at_us",
    "duplicates",
    "redeliveries",
    "stranded",
    "lost",
    "pending_repeats",
)
OF_GROUP = ("duplicates", "redeliveries", "lost")


def headlines(
    failovers: list[dict[str, Any]], groups: list[tuple[str, dict[str, Any]]]
) -> list[dict[str, Any]]:
    """The figures of failovers and of groups (name, figures), under their names in `simulate --json`."""
    return [{name: failover[name] for name in OF_FAILOVER} for failover in failovers] + [
        {"group": group, **{name: figures[name] for name in OF_GROUP}} for group, figures in groups
    ]


def of_report(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The headlines of a report's runs, as Spark counted them."""
    return headlines(
        [failover for run in runs for failover in run["failovers"]],
        [(group["name"], group) for run in runs for group in run["groups"]],
    )


def of_simulator(world: World) -> list[dict[str, Any]]:
    """The simulator's own headlines of a run, none of a recording, which the simulator did not run.

    They are shown while Spark counts, so an error in them does not end the report.
    """
    if world.scenario.recording:
        return []
    try:
        summary = world.summary()
    except Exception:
        log.exception("The simulator's own figures of a run cannot be shown")
        return []
    return headlines(summary.get("failovers", []), sorted(summary.get("groups", {}).items()))


# --- counts the runs of an answer of My set-up again, by Spark from their rows, for its attachment
#
# Rules: every run is made again and written as a trace, and the failover report counts the traces. Nothing
# of the engine's counting is used. Each figure must equal that of the answer. A difference is an internal
# error, which the report's page and the attachment state. The checks (`docs/checks.md`) read the rows of
# every run and Spark's failovers. Only the worker imports this module.


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


def _written(run: World, path: Path) -> Path:
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
