"""`manage.py simulate NAME_OR_FILE`: runs a scenario without the page.

This module reads the arguments. The simulator does the work.
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from simulator.comparison import STRATEGY_NAMES
from simulator.headless import EXIT_BAD_INPUT, compare, simulate
from visualizer.management.exits import leave_with


class Command(BaseCommand):
    help = (
        "Run a scenario and print its summary. Exit codes: 0 fine, 1 a check was violated, 2 bad input, 3 "
        "internal error."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "scenario", metavar="NAME_OR_FILE", help="a built-in scenario (see `scenarios`) or a YAML file"
        )
        parser.add_argument("--seed", type=int, metavar="N", help="another seed than the scenario's")
        parser.add_argument("--until", metavar="60s", help="another end than the scenario's")
        parser.add_argument(
            "--set",
            action="append",
            default=[],
            dest="sets",
            metavar="dotted.path=value",
            help="change the scenario; may be repeated",
        )
        parser.add_argument(
            "--rules",
            metavar="FILE.py",
            help="run it under the rule of this Python file of your own (docs/rules.md)",
        )
        parser.add_argument("--trace", metavar="FILE", help="write the trace to a .parquet or .jsonl file")
        parser.add_argument(
            "--strategy",
            metavar="NAME",
            help=f"run it under one strategy for the subscriptions' progress: {', '.join(STRATEGY_NAMES)}",
        )
        parser.add_argument(
            "--compare",
            action="store_true",
            help="run it under every strategy, or with --rules under both rules, and print the comparison",
        )
        parser.add_argument("--json", action="store_true", help="print the summary as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        trace = options["trace"]
        if unusable := trace and _unusable(Path(trace).absolute()):
            sys.stderr.write(f"--trace {trace}: {unusable}\n")
            sys.exit(EXIT_BAD_INPUT)
        if options["compare"] and (trace is not None or options["strategy"] is not None):
            sys.stderr.write(
                "--compare runs every strategy; to write one run's trace give --strategy NAME "
                "--trace FILE "
                "without it\n"
            )
            sys.exit(EXIT_BAD_INPUT)
        given = {
            "seed": options["seed"],
            "until": options["until"],
            "sets": options["sets"],
            "rules": options["rules"],
            "as_json": options["json"],
            "progress": sys.stderr.isatty(),
        }
        if options["compare"]:
            leave_with(lambda: compare(options["scenario"], sys.stdout, sys.stderr, **given))
        else:
            leave_with(
                lambda: simulate(
                    options["scenario"],
                    sys.stdout,
                    sys.stderr,
                    trace_path=trace,
                    strategy=options["strategy"],
                    **given,
                )
            )


def _unusable(trace: Path) -> str:
    """Why no trace can be written there, as far as that can be checked before the run; "" if it can."""
    if not trace.parent.is_dir():
        return f"there is no folder {trace.parent}; name a file in a folder that exists"
    if trace.is_dir():
        return "is a folder; name a file in it"
    return (
        ""
        if os.access(trace.parent, os.W_OK)
        else f"nothing may be written in the folder {trace.parent}; name one that may be written to"
    )
