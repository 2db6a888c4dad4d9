"""`manage.py clean`: removes unused labs, old experiments and audits, and files without a row."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from typing import Any

from django.core.management.base import BaseCommand

from visualizer.labs.cleaning import DAYS_UNUSED, clean


def _days(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 36_500:
        raise ArgumentTypeError("days is a whole number from 1 to 36500")
    return int(text)


class Command(BaseCommand):
    help = (
        "Remove labs that were neither opened nor moved for a while, with their commands, reports and files, "
        "and experiments and audits that were started so long ago."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--days",
            type=_days,
            default=DAYS_UNUSED,
            help=f"unused for so many days (default: {DAYS_UNUSED})",
        )
        parser.add_argument("--dry-run", action="store_true", help="only list what would be removed")

    def handle(self, *args: Any, **options: Any) -> None:
        done = clean(options["days"], options["dry_run"])
        words = "would be removed" if options["dry_run"] else "removed"
        self.stdout.write(
            f"{words}: {done.labs} labs not used for {options['days']} days, {done.reports} reports of "
            f"them, {done.experiments} experiments and {done.audits} audits of before, "
            f"{done.orphans} orphaned folders ({done.orphan_bytes:,} bytes)"
        )
