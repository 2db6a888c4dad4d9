"""`manage.py admin NAME_OR_FILE TOOL --cluster C --at 5.8s`: prints what an admin tool shows.

It runs the scenario to an instant, without the page.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from simulator import TOOLS
from simulator.headless import print_admin
from visualizer.management.exits import leave_with


class Command(BaseCommand):
    help = (
        "Print what an admin tool or a broker's metrics endpoint shows at an instant. Exit codes: 0 success, "
        "2 bad input or no such tool in this scenario, 3 internal error."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "scenario", metavar="NAME_OR_FILE", help="a built-in scenario (see `scenarios`) or a YAML file"
        )
        parser.add_argument(
            "tool", choices=TOOLS, help="topics stats, topics stats-internal, or the metrics endpoints"
        )
        parser.add_argument("--cluster", required=True, metavar="NAME", help="the cluster that is asked")
        parser.add_argument("--at", metavar="5.8s", help="the instant; the scenario's end when left out")
        parser.add_argument(
            "--topic", metavar="NAME", help="a topic or partition; the first one when left out"
        )
        parser.add_argument("--seed", type=int, metavar="N", help="another seed than the scenario's")
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
        parser.add_argument(
            "--notes",
            action="store_true",
            help="print the lab's own knowledge under the fields that it concerns",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        leave_with(
            lambda: print_admin(
                options["scenario"],
                options["tool"],
                sys.stdout,
                sys.stderr,
                cluster=options["cluster"],
                at=options["at"],
                topic=options["topic"],
                seed=options["seed"],
                sets=options["sets"],
                notes=options["notes"],
                rules=options["rules"],
            )
        )
