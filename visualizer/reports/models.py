"""A requested report: its run, its progress, and how it ended.

Rules: the row holds the run's inputs, so a report keeps its run while the lab continues. A worker writes only
rows of its own `attempt`, so one that was given up cannot overwrite the next one's. Every change of state is
a conditional update.
"""

from __future__ import annotations

import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import F
from django.db.models.signals import post_delete
from django.dispatch import receiver
from django.utils import timezone

from visualizer.labs.clients import KEY_LENGTH
from visualizer.models import ID_LENGTH, Lab, new_lab_id

SILENT_FOR_S = 15
"""Seconds without a write after which a worker counts as dead. A worker writes every second."""

UNTAKEN_FOR_S = 20
"""Seconds in the queue after which a report's page names the worker that should take it."""


class Report(models.Model):
    """One report. `figures` is its headline, once it is done."""

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"
        CANCELLED = "cancelled"

    id = models.CharField(primary_key=True, max_length=ID_LENGTH, default=new_lab_id, editable=False)
    lab = models.ForeignKey(Lab, on_delete=models.CASCADE, related_name="reports")
    created_at = models.DateTimeField(auto_now_add=True)
    client = models.CharField(
        max_length=KEY_LENGTH,
        blank=True,
        default="",
        db_index=True,
        help_text="who asked (`visualizer.labs.clients`)",
    )
    title = models.CharField(max_length=200)
    scenario_text = models.TextField()
    seed = models.BigIntegerField()
    commands = models.JSONField(default=list)
    until_us = models.BigIntegerField()
    site = models.CharField(
        max_length=300,
        blank=True,
        help_text=(
            "address of the site that was asked, as https://lab.example.org; a downloaded page links to it"
        ),
    )

    state = models.CharField(max_length=10, choices=State.choices, default=State.QUEUED)
    attempt = models.IntegerField(default=1)
    queued_at = models.DateTimeField(default=timezone.now)
    worker_seen_at = models.DateTimeField(null=True, blank=True, help_text="when its worker last wrote")
    finished_at = models.DateTimeField(null=True, blank=True)
    cancel_wanted = models.BooleanField(default=False)
    step_number = models.IntegerField(default=0)
    step_count = models.IntegerField(default=0)
    step_name = models.CharField(max_length=100, blank=True)
    tasks_done = models.IntegerField(default=0)
    tasks_count = models.IntegerField(default=0)
    error = models.TextField(blank=True)
    hint = models.TextField(blank=True)
    figures = models.JSONField(default=list)
    simulator_figures = models.JSONField(
        default=list, help_text="the simulator's own headline figures, shown while Spark counts"
    )

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"{self.id} ({self.title}, {self.state})"

    @property
    def folder(self) -> Path:
        """The folder of the report's files."""
        return Path(settings.DATA_DIR) / "reports" / self.pk

    @property
    def over(self) -> bool:
        """Whether the report has ended: done, failed or cancelled."""
        return self.state in (self.State.DONE, self.State.FAILED, self.State.CANCELLED)

    def mine(self) -> models.QuerySet[Report]:
        """A query for this row, empty when its attempt is outdated."""
        return Report.objects.filter(pk=self.pk, attempt=self.attempt)


def next_report() -> tuple[str, int] | None:
    """The queued report to make next, and its attempt.

    Client addresses take turns: the one least recently worked for is next.
    """
    latest = dict(Report.objects.values_list("client").annotate(models.Max("worker_seen_at")))
    queued = Report.objects.filter(state=Report.State.QUEUED).values_list(
        "client", "queued_at", "id", "attempt"
    )

    def turn(one: tuple[str, Any, str, int]) -> tuple[bool, Any, Any]:
        worker_seen_at = latest[one[0]]
        return worker_seen_at is not None, worker_seen_at or one[1], one[1]

    first = min(queued, key=turn, default=None)
    return None if first is None else (first[2], first[3])


SILENT = "The worker that made this report ended before it was done."


def record_progress(report: Report, columns: dict[str, Any]) -> bool:
    """Record the worker's progress or result; False when this attempt is over.

    An attempt given up for not writing continues if its worker writes again: the database was unreachable.
    """
    going_on = {"state": Report.State.RUNNING, "error": "", "hint": "", "finished_at": None}
    wanted = models.Q(state=Report.State.RUNNING) | models.Q(state=Report.State.FAILED, error=SILENT)
    return bool(
        report.mine().filter(wanted).update(**{**going_on, "worker_seen_at": timezone.now(), **columns})
    )


def give_up_on_the_silent(report_id: str) -> None:
    """Mark a running report as failed when its worker has died."""
    long_ago = timezone.now() - timedelta(seconds=SILENT_FOR_S)
    Report.objects.filter(pk=report_id, state=Report.State.RUNNING, worker_seen_at__lt=long_ago).update(
        state=Report.State.FAILED,
        finished_at=timezone.now(),
        error=SILENT,
        hint="Nothing of the lab is lost. Try again; when it happens twice, look at the worker's log.",
    )


def ask_to_cancel(report: Report) -> None:
    """Cancel a queued report at once; a running one is cancelled by its worker within two seconds."""
    waiting = Report.objects.filter(pk=report.pk, state=Report.State.QUEUED)
    if not waiting.update(state=Report.State.CANCELLED, finished_at=timezone.now(), cancel_wanted=True):
        Report.objects.filter(pk=report.pk, state=Report.State.RUNNING).update(cancel_wanted=True)


def requeue(report: Report) -> bool:
    """Queue a failed or cancelled report again; False when it is neither."""
    again = Report.objects.filter(
        pk=report.pk, state__in=(Report.State.FAILED, Report.State.CANCELLED)
    ).update(
        state=Report.State.QUEUED,
        attempt=F("attempt") + 1,
        queued_at=timezone.now(),
        worker_seen_at=None,
        finished_at=None,
        cancel_wanted=False,
        step_number=0,
        step_name="",
        tasks_done=0,
        tasks_count=0,
        error="",
        hint="",
        simulator_figures=[],
    )
    return bool(again)


def remove_files(report: Report) -> None:
    """Delete the files of a report."""
    shutil.rmtree(report.folder, ignore_errors=True)


@receiver(post_delete, sender=Report)
def _files_go_with_the_row(sender: type[Report], instance: Report, **_: object) -> None:
    """Delete a report's files with its row, also when the row is deleted with its lab."""
    remove_files(instance)
