"""Makes one report in the worker: replay, trace, Spark.

The row gets the simulator's own headline figures as soon as the run is replayed, so that the page shows
them while Spark counts.

Rules: an error is written to the row as a message, and logged with its traceback. Only the worker imports
this module.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from django.urls import reverse

from labsite.headlines import of_report, of_simulator
from labsite.recount import Differs, recounted
from labsite.spark_failures import NO_ROOM, failed, forget_broken_session
from labsite.task_row import StepRow, carried_out, when_the_database_is_there
from simulator import ENGINE_VERSION, ScenarioError, World, load_scenario_text
from simulator.recordings import RecordingError
from simulator.trace.files import TraceFileError, write_trace
from spark_reports.progress import Cancelled
from spark_reports.session import QUICK, JavaMissing, open_session
from visualizer.reports.models import Report

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
    return f"{report.site}{reverse('reports:replay', args=[report.pk])}" if report.site else None


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
