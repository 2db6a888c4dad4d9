"""Removes unused labs with all of theirs, old experiments and audits, and files without a row.

Rules: a lab is old when it was neither opened nor moved for a number of days, an experiment or audit when it
was started so long ago and has ended. Rows are deleted in small
transactions, so that other writers wait only briefly. A lab that a server runs now counts as in use. Files
are deleted after their rows.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone

from visualizer.models import Lab
from visualizer.tasks.models import KINDS, OVER, Audit, Experiment, QueuedTask, Report

DAYS_UNUSED = 90
"""Days without being opened or moved after which a lab is old: exercises last until the end of a term."""

LABS_AT_ONCE = 50
"""Labs deleted in one transaction, which takes about 50 ms: shorter than any writer's lock timeout."""

FRESH_FILE = timedelta(hours=1)
"""A folder younger than this may belong to a row that is being written."""


@dataclass(frozen=True, slots=True)
class Cleaned:
    """What was removed, or would be with `dry_run`: numbers of rows, and bytes of orphaned files."""

    labs: int
    reports: int
    experiments: int
    audits: int
    orphans: int
    orphan_bytes: int


def clean(days: int, dry_run: bool) -> Cleaned:
    """Remove old labs, experiments and audits, and files that belong to no report, experiment or audit.

    A lab is old when it was not used for `days` days. With `dry_run` they are only counted.
    """
    old = Lab.objects.filter(used_at__lt=timezone.now() - timedelta(days=days)).order_by("used_at")
    labs, reports = old.count(), Report.objects.filter(lab__in=old.order_by()).count()
    while not dry_run and (some := list(old.values_list("pk", flat=True)[:LABS_AT_ONCE])):
        # The condition again: a lab may have been opened since the first query.
        Lab.objects.filter(pk__in=some, used_at__lt=timezone.now() - timedelta(days=days)).delete()
    counts = {}
    for kind in (Experiment, Audit):
        old_ones = _old(kind, days)
        counts[kind] = old_ones.count()
        for row in [] if dry_run else list(old_ones):
            row.delete()
    orphans = [folder for kind in KINDS.values() for folder in _orphans(kind)]
    orphan_bytes = sum(_bytes_of(folder) for folder in orphans)
    if not dry_run:
        for folder in orphans:
            shutil.rmtree(folder, ignore_errors=True)
    return Cleaned(labs, reports, counts[Experiment], counts[Audit], len(orphans), orphan_bytes)


def _old(kind: type[QueuedTask], days: int) -> QuerySet[QueuedTask]:
    """The experiments or audits that were started long ago and have ended."""
    long_ago = timezone.now() - timedelta(days=days)
    return kind.objects.filter(created_at__lt=long_ago, state__in=OVER).only("id")


def _orphans(kind: type[QueuedTask]) -> list[Path]:
    """Folders of tasks that have no row any more."""
    place = Path(settings.DATA_DIR) / kind.FOLDER
    before_s = (timezone.now() - FRESH_FILE).timestamp()
    folders = (
        [path for path in sorted(place.iterdir()) if path.is_dir() and path.stat().st_mtime < before_s]
        if place.is_dir()
        else []
    )
    known = set(kind.objects.values_list("pk", flat=True))
    return [folder for folder in folders if folder.name not in known]


def _bytes_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
