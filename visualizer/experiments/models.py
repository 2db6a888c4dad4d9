"""A requested experiment: its text, its progress and results so far, and how it ended.

Rules: a worker writes only rows of its own `attempt`, so one that was given up cannot overwrite the next
one's. Every change of state is a conditional update. Finished runs are files; another attempt makes only the
missing ones.
"""

from __future__ import annotations

import secrets
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
from visualizer.models import ID_LENGTH, hash_of, new_lab_id
from visualizer.reports.models import SILENT_FOR_S, Report

FOLDER = "experiments"
"""The folder of all experiments, in the folder of the site's data."""


class Experiment(models.Model):
    """One experiment. `results` are the figures of the runs that are finished so far."""

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"
        CANCELLED = "cancelled"

    id = models.CharField(primary_key=True, max_length=ID_LENGTH, default=new_lab_id, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    client = models.CharField(
        max_length=KEY_LENGTH,
        blank=True,
        default="",
        db_index=True,
        help_text="who asked (`visualizer.labs.clients`)",
    )
    token_hash = models.CharField(max_length=64)
    title = models.CharField(max_length=200)
    text = models.TextField(help_text="the experiment's YAML")
    site = models.CharField(max_length=300, blank=True, help_text="address of the site that was asked")
    core_s = models.FloatField(help_text="estimated seconds of one core for all runs")

    state = models.CharField(max_length=10, choices=State.choices, default=State.QUEUED)
    attempt = models.IntegerField(default=1)
    queued_at = models.DateTimeField(default=timezone.now)
    worker_seen_at = models.DateTimeField(null=True, blank=True, help_text="when its worker last wrote")
    finished_at = models.DateTimeField(null=True, blank=True)
    cancel_wanted = models.BooleanField(default=False)
    runs = models.IntegerField(help_text="all runs of the experiment")
    runs_finished = models.IntegerField(default=0, help_text="those that failed are among them")
    runs_failed = models.IntegerField(default=0)
    left_s = models.FloatField(null=True, blank=True, help_text="seconds left, null before the first runs")
    message = models.CharField(max_length=300, blank=True, help_text="what the worker does, or noticed")
    error = models.TextField(blank=True)
    hint = models.TextField(blank=True)
    results = models.JSONField(default=dict)

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"{self.id} ({self.title}, {self.state})"

    @property
    def folder(self) -> Path:
        """The folder of the experiment's files."""
        return Path(settings.DATA_DIR) / FOLDER / self.pk

    @property
    def over(self) -> bool:
        """Whether the experiment has ended: done, failed or cancelled."""
        return self.state in (self.State.DONE, self.State.FAILED, self.State.CANCELLED)

    def is_owner(self, token: Any) -> bool:
        """Whether this is the owner's token."""
        return isinstance(token, str) and secrets.compare_digest(self.token_hash, hash_of(token))

    def current_attempt(self) -> models.QuerySet[Experiment]:
        """A query for this row, empty when its attempt is outdated."""
        return Experiment.objects.filter(pk=self.pk, attempt=self.attempt)


WAITING = (Experiment.State.QUEUED, Experiment.State.RUNNING)


def next_experiment() -> tuple[str, int] | None:
    """The queued experiment to run next, and its attempt.

    Client addresses take turns: the one least recently worked for is next.
    """
    latest = dict(Experiment.objects.values_list("client").annotate(models.Max("worker_seen_at")))
    queued = Experiment.objects.filter(state=Experiment.State.QUEUED).values_list(
        "client", "queued_at", "id", "attempt"
    )

    def turn(one: tuple[str, Any, str, int]) -> tuple[bool, Any, Any]:
        worker_seen_at = latest[one[0]]
        return worker_seen_at is not None, worker_seen_at or one[1], one[1]

    first = min(queued, key=turn, default=None)
    return None if first is None else (first[2], first[3])


def others_wait(experiment: Experiment) -> bool:
    """Whether a report, or an experiment of another client address, waits for the worker."""
    queued = Experiment.objects.filter(state=Experiment.State.QUEUED).exclude(client=experiment.client)
    return queued.exists() or Report.objects.filter(state=Report.State.QUEUED).exists()


SILENT = "The worker that ran this experiment ended before it was done."


def record_progress(experiment: Experiment, columns: dict[str, Any]) -> bool:
    """Record the worker's progress or result; False when this attempt is over.

    An attempt given up for not writing continues if its worker writes again: the database was unreachable.
    """
    going_on = {"state": Experiment.State.RUNNING, "error": "", "hint": "", "finished_at": None}
    wanted = models.Q(state=Experiment.State.RUNNING) | models.Q(state=Experiment.State.FAILED, error=SILENT)
    changed = {**going_on, "worker_seen_at": timezone.now(), **columns}
    return bool(experiment.current_attempt().filter(wanted).update(**changed))


def give_up_on_the_silent(experiment_id: str) -> None:
    """Mark a running experiment as failed when its worker has died."""
    long_ago = timezone.now() - timedelta(seconds=SILENT_FOR_S)
    Experiment.objects.filter(
        pk=experiment_id, state=Experiment.State.RUNNING, worker_seen_at__lt=long_ago
    ).update(
        state=Experiment.State.FAILED,
        finished_at=timezone.now(),
        left_s=None,
        error=SILENT,
        hint="Finished runs are kept. Try again: only the missing runs are made.",
    )


def ask_to_cancel(experiment: Experiment) -> None:
    """Cancel a queued experiment at once; a running one is cancelled by its worker within two seconds."""
    queued = Experiment.objects.filter(pk=experiment.pk, state=Experiment.State.QUEUED)
    if not queued.update(state=Experiment.State.CANCELLED, finished_at=timezone.now(), cancel_wanted=True):
        Experiment.objects.filter(pk=experiment.pk, state=Experiment.State.RUNNING).update(cancel_wanted=True)


def requeue(experiment: Experiment) -> bool:
    """Queue a failed or cancelled experiment again; False when it is neither."""
    again = Experiment.objects.filter(
        pk=experiment.pk, state__in=(Experiment.State.FAILED, Experiment.State.CANCELLED)
    ).update(
        state=Experiment.State.QUEUED,
        attempt=F("attempt") + 1,
        queued_at=timezone.now(),
        worker_seen_at=None,
        finished_at=None,
        cancel_wanted=False,
        left_s=None,
        message="",
        error="",
        hint="",
    )
    return bool(again)


@receiver(post_delete, sender=Experiment)
def _files_go_with_the_row(sender: type[Experiment], instance: Experiment, **_: object) -> None:
    """Delete an experiment's files with its row."""
    shutil.rmtree(instance.folder, ignore_errors=True)
