"""The command `sweep EXPERIMENT.yaml --out DIR`: arguments, printed lines, exit codes.

Rules: problems of the experiment, the number of runs and the estimated time come first, before Spark starts.
Progress goes to standard error, results to standard output. Ctrl-C cancels within 2 s and keeps what is
finished; a second one ends the process at once.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from simulator import ScenarioError, loaded_rules
from simulator.experiments import Experiment, read_experiment, replayed
from simulator.scenarios.settings import OPTIONS, RULE
from spark_reports.experiments.estimate import core_seconds, spoken
from spark_reports.experiments.job import Sweep, SweepFailed, store_of
from spark_reports.experiments.listener import NullListener, Standing
from spark_reports.experiments.report.page import PAGE, write_report
from spark_reports.experiments.store import ColumnTaken, Store, StoreError
from spark_reports.progress import Cancelled
from spark_reports.protocols.manifest import Command
from spark_reports.session import QUICK, JavaMissing, MasterUnreachable, open_session

CANCELLED = 130
"""The exit code after Ctrl-C, as shells have it."""
FAILED_SHOWN = 3
"""Failed runs that are printed with their reasons."""


WAITED_S = 20.0
"""Without a finished task for so long, the command says what that may mean."""


SILENT_S = 4.5
"""Seconds after which the progress of a running round is printed; it is read twice a second."""


class Wrong(Exception):
    """Bad input; the text says what is wrong and what would be right."""


class Printed(NullListener):
    """Prints progress as lines on standard error; Ctrl-C becomes a request to cancel."""

    def __init__(self, quiet: bool, failed: str = "failed") -> None:
        """`failed` is what is printed of runs that count as failed."""
        self._quiet = quiet
        self._failed = failed
        self._cancelled = False
        self._rounds = -1
        self._began_s = 0.0
        self._printed_s = time.monotonic()
        self._left_s: float | None = None
        self._reported = False

    def catch_interrupts(self) -> None:
        """Take Ctrl-C from Spark, whose handler would end the process with a traceback."""
        signal.signal(signal.SIGINT, self._interrupted)

    def _interrupted(self, *_: object) -> None:
        self._cancelled = True
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def stands(self, standing: Standing) -> None:
        """Print how many runs are finished, and the time left."""
        self._rounds += 1
        self._began_s = time.monotonic()
        self._left_s = standing.left_s
        left = _left(None if standing.complete else standing.left_s)
        failed = f", {standing.failed:,} {self._failed}" if standing.failed else ""
        self._print(f"{standing.finished:,} of {standing.of:,} runs finished{failed}{left}")

    def notice(self, text: str) -> None:
        """Print the sentence."""
        self._print(text)

    def tasks(self, done: int, of: int) -> None:
        """Print the tasks of the running round unless something was printed lately.

        Say once that no task has ended for some time, since a cluster without free executors waits.
        """
        waits = not done and not self._rounds and time.monotonic() - self._began_s > WAITED_S
        if waits and not self._reported:
            self._reported = True
            self._print(
                f"No task has finished for {spoken(WAITED_S)}. If the cluster has no free executor, the "
                f"sweep waits for one; Ctrl-C cancels it."
            )
        elif time.monotonic() - self._printed_s >= SILENT_S:
            self._print(f"{done:,} of {of:,} tasks of this round done{_left(self._left_s)}")

    def left(self, left_s: float) -> None:
        """Keep the time left, which is printed with the next tasks."""
        self._left_s = left_s

    def _print(self, line: str) -> None:
        self._printed_s = time.monotonic()
        if not self._quiet:
            print(line, file=sys.stderr, flush=True)

    def cancel_wanted(self) -> bool:
        """Whether Ctrl-C was pressed."""
        return self._cancelled


def _left(left_s: float | None) -> str:
    return "" if left_s is None else f", about {spoken(left_s)} left"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument("experiment", type=Path, metavar="EXPERIMENT.yaml", help="see docs/experiments.md")
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="folder of the results; a folder with some of them goes on"
    )
    parser.add_argument(
        "--master",
        metavar="URL",
        help="Spark master (default: SPARK_REMOTE, SPARK_MASTER, what spark-submit chose, or this machine)",
    )
    parser.add_argument(
        "--check", action="store_true", help="read the experiment, print number of runs and time, run nothing"
    )
    parser.add_argument(
        "--limit-runs",
        type=int,
        metavar="N",
        help="stop after about N runs of this call (whole batches); without it the next call makes the rest",
    )
    parser.add_argument(
        "--report-only",
        action="store_true",
        help="write the report of the finished runs of --out, without Spark",
    )
    parser.add_argument(
        "--scenario-of", type=int, metavar="RUN", help="print the scenario of a finished run of --out"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress on standard error")


def run(given: argparse.Namespace) -> int:
    """Run the command and return the exit code."""
    try:
        return _run(given)
    except (Wrong, ScenarioError, ColumnTaken, StoreError, JavaMissing, MasterUnreachable) as error:
        print(error, file=sys.stderr)
        return 2


def _run(given: argparse.Namespace) -> int:
    if given.limit_runs is not None and given.limit_runs < 1:
        raise Wrong(f"--limit-runs {given.limit_runs}: give a number of runs, at least 1")
    experiment = read_experiment(given.experiment)
    if given.rules is not None and not experiment.own_rules:
        found = loaded_rules()
        name = "" if found is None else found.name
        raise Wrong(
            f"--rules {given.rules}: no run of {given.experiment} is under this rule; "
            f"write options.{RULE}: [{OPTIONS[RULE].default}, {name}] in its grid"
        )
    store = None if given.out is None else store_of(experiment, given.out)
    if store is not None:
        store.check()
    if given.scenario_of is not None:
        return _print_scenario(experiment, store, given.scenario_of)
    if store is not None and given.report_only:
        return _report_only(store)
    if store is None and not given.check:
        raise Wrong("--out DIR is missing; name the folder of the results, or use --check")
    core_s = core_seconds(experiment)
    if given.check or not given.quiet:
        print(_size(experiment, core_s), file=sys.stdout if given.check else sys.stderr, flush=True)
    return 0 if given.check else _sweep(given, experiment, core_s)


def _size(experiment: Experiment, core_s: float) -> str:
    points, seeds, phases = len(experiment.points), len(experiment.seeds), experiment.phases
    return (
        f"{experiment.runs:,} runs ({points:,} points × {seeds:,} seeds × {phases:,} phases), about "
        f"{spoken(core_s)} on one core"
    )


def _sweep(given: argparse.Namespace, experiment: Experiment, core_s: float) -> int:
    listener = Printed(given.quiet)
    spark = open_session(given.master, "Failover Lab sweep", QUICK)
    listener.catch_interrupts()
    sweep = Sweep(spark, experiment, given.out, listener, limit_runs=given.limit_runs, core_s=core_s)
    try:
        standing = sweep.run()
    except Cancelled:
        print(f"Cancelled. {_how_to_go_on(sweep.store)}", file=sys.stderr)
        return CANCELLED
    except SweepFailed as error:
        print(f"{error}\n{_how_to_go_on(sweep.store)}", file=sys.stderr)
        return 2 if error.environment else 3
    finally:
        with suppress(Exception):  # a session that has failed may not stop
            spark.stop()
    _print_result(given, sweep.store, standing)
    return 0


def _how_to_go_on(store: Store) -> str:
    standing = store.kept().standing()
    return (
        f"{standing.finished:,} of {standing.of:,} runs are finished and kept in {store.folder}; the same "
        f"command goes on with the others"
    )


def _print_result(given: argparse.Namespace, store: Store, standing: Standing) -> None:
    print(f"{standing.finished:,} of {standing.of:,} runs finished, {standing.failed:,} failed")
    if standing.failed:
        for row in store.failed_rows(FAILED_SHOWN):
            print(f"run {row['run']} (seed {row['seed']}) failed: {row['reason']}")
            print(
                f"  its scenario: python -m spark_reports sweep {given.experiment} --out {given.out} "
                f"--scenario-of {row['run']}"
            )
    if not standing.complete:
        print(_how_to_go_on(store))
    if standing.finished:
        _print_report(store, standing)


def _print_report(store: Store, standing: Standing) -> None:
    """Write the report of the finished runs, and print its answer."""
    report = write_report(store.experiment, store.table(), store.folder, partial=not standing.complete)
    print(report["answer"]["sentence"])
    print(store.folder / PAGE)


def _report_only(store: Store) -> int:
    with store.opened():
        standing = store.kept().standing()
        if not standing.finished:
            raise Wrong(f"--report-only: {store.folder} has no finished run")
        _print_report(store, standing)
    return 0


def _print_scenario(experiment: Experiment, store: Store | None, number: int) -> int:
    if store is None:
        raise Wrong("--scenario-of needs --out DIR with the results")
    rows: pa.Table = store.table(number, number + 1)
    if not rows.num_rows:
        raise Wrong(
            f"--scenario-of {number}: is no finished run of {store.folder}; runs are numbered 0 to "
            f"{experiment.runs - 1}"
        )
    row: dict[str, Any] = rows.to_pylist()[0]
    print(replayed(experiment, row).canonical_text, end="")
    return 0


SWEEP = Command(
    "sweep", "an experiment: one scenario run over a grid of settings, seeds and phases", add_arguments, run
)
