"""The command line of reports, the same for `python -m spark_reports` and for spark-submit.

Exit codes: 0 success, 2 bad input, no Java or an unreachable master (with a message on standard error),
3 internal error. A sweep adds 130, cancelled by Ctrl-C.
"""

from __future__ import annotations

import argparse
import sys
import traceback
from pathlib import Path

from simulator import RuleError, ScenarioError, load_rules
from simulator.trace.files import TraceFileError
from spark_reports.progress import Spoken
from spark_reports.protocols.manifest import Command
from spark_reports.read import find_traces, unreadable
from spark_reports.session import JavaMissing, MasterUnreachable, open_session, settings_for

WITH_RULES = ("sweep", "swarm")
"""Commands beside `failover` that run scenarios, under a rule of one's own if it is given."""


def parser() -> argparse.ArgumentParser:
    """The parser of the command line's arguments."""
    top = argparse.ArgumentParser(
        prog="spark_reports", description="Reports over Failover Lab's trace files, made by Spark."
    )
    jobs = top.add_subparsers(dest="job", required=True)
    failover = jobs.add_parser(
        "failover",
        help="every failover judged: duplicates with causes, losses, delivery gap, snapshots, costs",
    )
    failover.add_argument(
        "--trace",
        nargs="+",
        required=True,
        metavar="PATH",
        help="trace files (.parquet, .jsonl) or directories of them; one job reads them all",
    )
    failover.add_argument(
        "--out",
        required=True,
        type=Path,
        metavar="DIR",
        help="folder for report.html, report.json, figures.csv and deliveries.parquet",
    )
    failover.add_argument(
        "--master",
        metavar="URL",
        help="Spark master (default: SPARK_REMOTE, SPARK_MASTER, what spark-submit chose, or this machine)",
    )
    failover.add_argument(
        "--compare",
        action="store_true",
        help="run a single trace's scenario under each strategy, too (scenarios with `compare` always are)",
    )
    failover.add_argument("--quiet", action="store_true", help="no progress on standard error")
    _add_rules(failover)
    for command in _commands().values():
        added = jobs.add_parser(command.name, help=command.help)
        command.add_arguments(added)
        if command.name in WITH_RULES:
            _add_rules(added)
    return top


def _add_rules(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--rules",
        metavar="FILE.py",
        help="the file with the rule of one's own that runs name (docs/rules.md)",
    )


def main(arguments: list[str] | None = None) -> int:
    """Run a job and return the exit code."""
    given = parser().parse_args(arguments)
    if getattr(given, "rules", None) is not None:
        try:
            load_rules(given.rules)
        except RuleError as error:
            print(error, file=sys.stderr)
            return 2
    if given.out is not None and given.out.exists() and not given.out.is_dir():
        print(
            f"--out {given.out}: is a file; name a folder, which is made where there is none", file=sys.stderr
        )
        return 2
    if given.job in _commands():
        return _commands()[given.job].run(given)
    try:
        rows = sum(entry.meta["rows"] for entry in find_traces(given.trace))
        spark = open_session(given.master, settings=settings_for(rows))
    except (JavaMissing, MasterUnreachable, RuleError, TraceFileError) as error:
        print(error, file=sys.stderr)
        return 2
    try:
        return _failover(spark, given)
    except Exception as error:
        message = unreadable(error)
        print(
            message
            or f"A bug in Failover Lab, please report it with the traces and this:\n{traceback.format_exc()}",
            file=sys.stderr,
        )
        return 2 if message else 3
    finally:
        spark.stop()


def _commands() -> dict[str, Command]:
    """The commands beside `failover`, by name: of experiments and logs, and those that protocols add."""
    from spark_reports.audit.command import AUDIT
    from spark_reports.audit.generate.command import GENERATE
    from spark_reports.experiments.command import SWEEP
    from spark_reports.protocols.table import PROTOCOLS
    from spark_reports.swarm.command import SWARM

    added = [command for protocol in PROTOCOLS.values() for command in protocol.commands]
    return {command.name: command for command in (SWEEP, SWARM, AUDIT, GENERATE, *added)}


def _failover(spark: object, given: argparse.Namespace) -> int:
    from spark_reports.jobs.failover import FailoverReport
    from spark_reports.protocols.table import PROTOCOLS

    try:
        report = FailoverReport(
            spark, given.trace, given.out, Spoken(given.quiet), compare=given.compare
        ).make()
    except (TraceFileError, ScenarioError) as error:
        print(error, file=sys.stderr)
        return 2
    for run in report["runs"]:
        for line in PROTOCOLS[run["protocol"]].result_lines(run):
            print(line)
    print(given.out / "report.html")
    return 0
