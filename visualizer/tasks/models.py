"""A task of the report worker as a row: queued, running, and how it ended.

Rules: a worker writes only rows of its own `attempt`, so one that was given up cannot overwrite the next
one's. Every change of state is a conditional update. A task's files are deleted with its row.
"""

from __future__ import annotations

import secrets
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar, Self

from django.apps import apps
from django.conf import settings
from django.db import models
from django.db.models import F
from django.utils import timezone
from django.utils.module_loading import import_string

from visualizer.labs.clients import KEY_LENGTH
from visualizer.models import ID_LENGTH, hash_of, new_lab_id

SILENT_FOR_S = 15
"""Seconds without a write after which a worker counts as dead. A worker writes four times a second."""

UNTAKEN_FOR_S = 20
"""Seconds in the queue after which a task's page names the worker that should take it."""


class TaskState(models.TextChoices):
    """The states of a task."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


ENGINE_UNTAKEN_FOR_S = 4
"""The same for a task that needs no Spark: its worker takes one four times a second."""

WAITING = (TaskState.QUEUED, TaskState.RUNNING)
OVER = (TaskState.DONE, TaskState.FAILED, TaskState.CANCELLED)


class QueuedTask(models.Model):
    """One task of the worker. A kind of task adds its inputs, its progress and its result."""

    State = TaskState
    FOLDER: ClassVar[str]
    """The folder of all tasks of this kind, in the folder of the site's data."""
    TASK: ClassVar[str]
    """The import path of what the worker runs, so that the web process never imports it."""
    SILENT: ClassVar[str]
    """The error of a task whose worker has died."""
    SILENT_HINT: ClassVar[str]
    AT_FIRST: ClassVar[dict[str, Any]] = {}
    """Columns of progress, as another attempt begins with them."""

    id = models.CharField(primary_key=True, max_length=ID_LENGTH, default=new_lab_id, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    client = models.CharField(
        max_length=KEY_LENGTH,
        blank=True,
        default="",
        db_index=True,
        help_text="who asked (`visualizer.labs.clients`)",
    )
    title = models.CharField(max_length=200)
    state = models.CharField(max_length=10, choices=TaskState.choices, default=TaskState.QUEUED)
    attempt = models.IntegerField(default=1)
    queued_at = models.DateTimeField(default=timezone.now)
    worker_seen_at = models.DateTimeField(null=True, blank=True, help_text="when its worker last wrote")
    doing_since = models.DateTimeField(null=True, blank=True, help_text="when its present work began")
    finished_at = models.DateTimeField(null=True, blank=True)
    cancel_wanted = models.BooleanField(default=False)
    error = models.TextField(blank=True)
    hint = models.TextField(blank=True)

    class Meta:
        abstract = True
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"{self.id} ({self.title}, {self.state})"

    @property
    def folder(self) -> Path:
        """The folder of the task's files."""
        return Path(settings.DATA_DIR) / self.FOLDER / self.pk

    @property
    def over(self) -> bool:
        """Whether the task has ended: done, failed or cancelled."""
        return self.state in OVER

    @property
    def waited_s(self) -> float:
        """Seconds since the task was queued."""
        return (timezone.now() - self.queued_at).total_seconds()

    @property
    def lasting_s(self) -> float | None:
        """Seconds of the present work, as of its worker's last sign of life; if queued, in the queue."""
        if self.state == TaskState.QUEUED:
            return self.waited_s
        if self.state != TaskState.RUNNING or self.worker_seen_at is None or self.doing_since is None:
            return None
        return max(0.0, (self.worker_seen_at - self.doing_since).total_seconds())

    def current_attempt(self) -> models.QuerySet[Self]:
        """A query for this row, empty when its attempt is outdated."""
        return type(self).objects.filter(pk=self.pk, attempt=self.attempt)

    def enqueue(self) -> None:
        """Queue the current attempt for the worker."""
        self.refresh_from_db()
        import_string(self.task_path).enqueue(self.pk, self.attempt)

    @property
    def needs_spark(self) -> bool:
        """Whether its worker is the one with Spark."""
        return True

    @property
    def task_path(self) -> str:
        """The import path of what the worker runs for this row."""
        return self.TASK

    @classmethod
    def of_spark(cls) -> models.QuerySet[Self]:
        """The rows whose worker is the one with Spark."""
        return cls.objects.all()

    @classmethod
    def next_in_turn(cls, **which: Any) -> tuple[str, int] | None:
        """The queued task to do next, and its attempt, of the rows with these values.

        Client addresses take turns: the one least recently worked for is next.
        """
        latest = dict(cls.objects.values_list("client").annotate(models.Max("worker_seen_at")))
        columns = ("client", "queued_at", "id", "attempt")
        queued = cls.objects.filter(state=TaskState.QUEUED, **which).values_list(*columns)

        def turn(one: tuple[str, Any, str, int]) -> tuple[bool, Any, Any]:
            worker_seen_at = latest[one[0]]
            return worker_seen_at is not None, worker_seen_at or one[1], one[1]

        first = min(queued, key=turn, default=None)
        return None if first is None else (first[2], first[3])

    @classmethod
    def take(cls, pk: str, attempt: int, **columns: Any) -> Self | None:
        """Mark a queued task as running and return it; None when this attempt is over."""
        queued = cls.objects.filter(pk=pk, attempt=attempt, state=TaskState.QUEUED)
        now = timezone.now()
        if not queued.update(state=TaskState.RUNNING, worker_seen_at=now, doing_since=now, **columns):
            return None
        return cls.objects.get(pk=pk, attempt=attempt)

    def record_progress(self, columns: dict[str, Any]) -> bool:
        """Record the worker's progress or result; False when this attempt is over.

        An attempt given up for not writing continues if its worker writes again: the database was
        unreachable.
        """
        going_on = {"state": TaskState.RUNNING, "error": "", "hint": "", "finished_at": None}
        wanted = models.Q(state=TaskState.RUNNING) | models.Q(state=TaskState.FAILED, error=self.SILENT)
        changed = {**going_on, "worker_seen_at": timezone.now(), **columns}
        return bool(self.current_attempt().filter(wanted).update(**changed))

    @classmethod
    def give_up_on_the_silent(cls, pk: str) -> None:
        """Mark a running task as failed when its worker has died."""
        long_ago = timezone.now() - timedelta(seconds=SILENT_FOR_S)
        cls.objects.filter(pk=pk, state=TaskState.RUNNING, worker_seen_at__lt=long_ago).update(
            state=TaskState.FAILED, finished_at=timezone.now(), error=cls.SILENT, hint=cls.SILENT_HINT
        )

    def ask_to_cancel(self) -> None:
        """Cancel a queued task at once; a running one is cancelled by its worker within two seconds."""
        own = type(self).objects.filter(pk=self.pk)
        ended = {"state": TaskState.CANCELLED, "finished_at": timezone.now(), "cancel_wanted": True}
        if not own.filter(state=TaskState.QUEUED).update(**ended):
            own.filter(state=TaskState.RUNNING).update(cancel_wanted=True)

    def requeue(self) -> bool:
        """Queue a failed or cancelled task again; False when it is neither."""
        ended = type(self).objects.filter(pk=self.pk, state__in=(TaskState.FAILED, TaskState.CANCELLED))
        return bool(
            ended.update(
                state=TaskState.QUEUED,
                attempt=F("attempt") + 1,
                queued_at=timezone.now(),
                worker_seen_at=None,
                doing_since=None,
                finished_at=None,
                cancel_wanted=False,
                error="",
                hint="",
                **self.AT_FIRST,
            )
        )

    def remove_files(self) -> None:
        """Delete the files of the task."""
        shutil.rmtree(self.folder, ignore_errors=True)


class OwnedTask(QueuedTask):
    """A task with an owner: the client that asked for it, which has its token."""

    NOUN: ClassVar[str]
    """What a task of this kind is called on the page; it begins with a vowel."""

    token_hash = models.CharField(max_length=64)
    site = models.CharField(max_length=300, blank=True, help_text="address of the site that was asked")

    class Meta(QueuedTask.Meta):
        abstract = True

    def is_owner(self, token: Any) -> bool:
        """Whether this is the owner's token."""
        return isinstance(token, str) and secrets.compare_digest(self.token_hash, hash_of(token))


def kinds() -> list[type[QueuedTask]]:
    """Every kind of task."""
    return [model for model in apps.get_models() if issubclass(model, QueuedTask)]


def any_queued() -> bool:
    """Whether a task of any kind waits for the worker with Spark."""
    return any(kind.of_spark().filter(state=TaskState.QUEUED).exists() for kind in kinds())


def others_wait(task: QueuedTask) -> bool:
    """Whether a task of another kind, or one of another client address, waits for the worker with Spark."""
    for kind in kinds():
        queued = kind.of_spark().filter(state=TaskState.QUEUED)
        if kind is type(task):
            queued = queued.exclude(client=task.client)
        if queued.exists():
            return True
    return False


def remove_files_of_row(sender: type[QueuedTask], instance: QueuedTask, **_: object) -> None:
    """Delete a task's files with its row; each kind connects it to `post_delete`."""
    instance.remove_files()
