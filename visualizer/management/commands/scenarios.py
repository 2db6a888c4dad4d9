"""`manage.py scenarios`: lists the built-in scenarios."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from simulator.headless import list_scenarios
from visualizer.management.exits import leave_with


class Command(BaseCommand):
    help = "List the built-in scenarios: name, title, family and what to watch for."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="print them as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        leave_with(lambda: list_scenarios(sys.stdout, as_json=options["json"]))
