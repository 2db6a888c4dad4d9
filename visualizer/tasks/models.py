"""The worker's tasks as rows: reports, experiments and audits; queued, running, and how they ended.

Rules: what the kinds share is in `QueuedTask`; a kind adds its inputs, its progress and its result. A worker
writes only rows of its own `attempt`, so one that was given up cannot overwrite the next one's. Every change
of state is a conditional update. A task's files are deleted with its row.
"""

from __future__ import annotations

import base64
import secrets
import shutil
import zlib
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar, Self

from django.conf import settings
from django.db import models
from django.db.models import F
from django.db.models.signals import post_delete
from django.dispatch import receiver
from django.urls import reverse
from django.utils import timezone
from django.utils.module_loading import import_string

from visualizer.labs import clients
from visualizer.labs.clients import KEY_LENGTH
from visualizer.models import ID_LENGTH, Lab, hash_of, new_lab_id
from visualizer.tasks.files import AUDIT_FILES, EXPERIMENT_FILES, REPORT_FILES, Download

MAKE_NEXT = "labsite.tasks.make_next"
"""The import path of what a worker runs, so that the web process never imports what makes a task."""

ENGINE_QUEUE, SPARK_QUEUE = "engine", "default"
"""The queues of the two workers: `manage.py db_worker --queue-name engine` needs neither Spark nor Java."""

SILENT_FOR_S = 15
"""Seconds without a write after which a worker counts as dead. A worker writes four times a second."""

UNTAKEN_FOR_S = 20
"""Seconds in the queue after which a task's page names the worker that should take it."""

ENGINE_UNTAKEN_FOR_S = 4
"""The same for a task that needs no Spark: its worker takes one four times a second."""


class TaskState(models.TextChoices):
    """The states of a task."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


WAITING = (TaskState.QUEUED, TaskState.RUNNING)
OVER = (TaskState.DONE, TaskState.FAILED, TaskState.CANCELLED)


class QueuedTask(models.Model):
    """One task of a worker. It belongs to who has its token; any holder of the link may read it."""

    State = TaskState
    NOUN: ClassVar[str]
    """What a task of this kind is called."""
    FOLDER: ClassVar[str]
    """The beginning of its addresses, and the folder of all tasks of this kind in the site's data."""
    FILES: ClassVar[Sequence[Download]]
    """The files that come out."""
    FILE_PREFIX: ClassVar[str]
    """The beginning of the names of downloaded files."""
    NOT_OWNER: ClassVar[tuple[str, str]]
    """Error and hint for who has not the owner's token."""
    MISSING_HINT: ClassVar[str] = "It may have been deleted."
    SILENT: ClassVar[str]
    """The error of a task whose worker has died."""
    SILENT_HINT: ClassVar[str]
    AT_FIRST: ClassVar[dict[str, Any]] = {}
    """Columns of progress, as another attempt begins with them."""
    WAITING_OF_CLIENT: ClassVar[int]
    """Most tasks of one address that are queued or running at once."""
    KEPT_OF_CLIENT: ClassVar[int]
    """Most tasks of one address that are kept."""
    KEPT: ClassVar[int]
    """Most rows. Beyond that the site asks its operator to delete old ones."""
    UNLISTED: ClassVar[tuple[str, ...]] = ()
    """Long columns, which a list does not need."""
    token_hash: Any

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
    site = models.CharField(
        max_length=300,
        blank=True,
        help_text="address of the site that was asked, as https://lab.example.org; a result links to it",
    )
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

    def is_owner(self, token: Any) -> bool:
        """Whether this is the owner's token."""
        return isinstance(token, str) and secrets.compare_digest(self.token_hash, hash_of(token))

    @property
    def url(self) -> str:
        """The address of the task's page."""
        return reverse(f"tasks:{self.NOUN}", args=[self.pk])

    @property
    def url_on_site(self) -> str | None:
        """The absolute address, for a result that is opened from a disk; None if the site is not known."""
        return f"{self.site}{self.url}".rstrip("/") if self.site else None

    @property
    def folder(self) -> Path:
        """The folder of the task's files."""
        return Path(settings.DATA_DIR) / self.FOLDER / self.pk

    @property
    def results_folder(self) -> Path | None:
        """The folder of the files to download; None before they are complete."""
        return self.folder if self.state == TaskState.DONE else None

    @property
    def downloads(self) -> list[Download]:
        """The files that can be downloaded now."""
        folder = self.results_folder
        return [] if folder is None else [one for one in self.FILES if one.path_in(folder) is not None]

    @property
    def may_retry(self) -> bool:
        """Whether what another attempt needs is still there."""
        return True

    def words(self) -> str:
        """The state as a sentence."""
        if self.state == TaskState.FAILED:
            return self.error or "It failed."
        said = {TaskState.QUEUED: "Queued.", TaskState.RUNNING: "Running.", TaskState.DONE: "Done."}
        return said.get(TaskState(self.state), "It was cancelled.")

    def progress(self) -> dict[str, Any]:
        """What the status has beside that of every kind."""
        return {}

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
        import_string(MAKE_NEXT).using(queue_name=self.queue).enqueue(self.FOLDER, self.queue)

    @property
    def queue(self) -> str:
        """The queue from which its worker takes."""
        return SPARK_QUEUE

    @classmethod
    def of_queue(cls, queue: str) -> models.QuerySet[Self]:
        """The rows whose worker takes from this queue."""
        return cls.objects.all() if queue == SPARK_QUEUE else cls.objects.none()

    @classmethod
    def next_in_turn(cls, queue: str = SPARK_QUEUE) -> tuple[str, int] | None:
        """The task of a queue to do next, and its attempt.

        Client addresses take turns: the one least recently worked for is next.
        """
        latest = dict(cls.objects.values_list("client").annotate(models.Max("worker_seen_at")))
        columns = ("client", "queued_at", "id", "attempt")
        queued = cls.of_queue(queue).filter(state=TaskState.QUEUED).values_list(*columns)

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


class StepTask(QueuedTask):
    """A task that counts steps, and Spark's tasks within a step."""

    AT_FIRST: ClassVar[dict[str, Any]] = {
        "step_number": 0,
        "step_name": "",
        "tasks_done": 0,
        "tasks_count": 0,
    }

    step_number = models.IntegerField(default=0)
    step_count = models.IntegerField(default=0)
    step_name = models.CharField(max_length=100, blank=True)
    tasks_done = models.IntegerField(default=0)
    tasks_count = models.IntegerField(default=0)

    class Meta(QueuedTask.Meta):
        abstract = True

    def words(self) -> str:
        """The state as a sentence."""
        if self.state != TaskState.RUNNING:
            return super().words()
        if self.cancel_wanted:
            return "Being cancelled."
        if not self.step_number:
            doing = self.step_name or "starting"
            return f"{doing[0].upper()}{doing[1:]}."
        count = self.tasks_count
        tasks = f" {self.tasks_done} of {count} Spark tasks are done." if count else ""
        return f"Step {self.step_number} of {self.step_count}: {self.step_name}.{tasks}"


class Experiment(QueuedTask):
    """One experiment. `results` are the figures of the runs that are finished so far.

    Finished runs are files; another attempt makes only the missing ones.
    """

    NOUN, FOLDER, FILE_PREFIX, FILES = "experiment", "experiments", "experiment", EXPERIMENT_FILES
    NOT_OWNER = "Only who started this experiment can do that.", "Start an experiment of your own."
    SILENT = "The worker that ran this experiment ended before it was done."
    SILENT_HINT = "Finished runs are kept. Try again: only the missing runs are made."
    AT_FIRST = {"left_s": None, "message": ""}
    WAITING_OF_CLIENT, KEPT_OF_CLIENT = clients.EXPERIMENTS_PER_CLIENT, clients.EXPERIMENTS_KEPT_PER_CLIENT
    KEPT = 2_000
    UNLISTED = ("text", "results")

    token_hash = models.CharField(max_length=64)
    text = models.TextField(help_text="the experiment's YAML")
    core_s = models.FloatField(help_text="estimated seconds of one core for all runs")
    runs = models.IntegerField(help_text="all runs of the experiment")
    runs_finished = models.IntegerField(default=0, help_text="those that failed are among them")
    runs_failed = models.IntegerField(default=0)
    left_s = models.FloatField(null=True, blank=True, help_text="seconds left, null before the first runs")
    message = models.CharField(max_length=300, blank=True, help_text="what the worker does, or noticed")
    results = models.JSONField(default=dict)
    engine = models.BooleanField(default=False, help_text="run by the engine's processes, without Spark")
    engine_version = models.CharField(max_length=40, blank=True, help_text="of the engine that ran it")
    set_up = models.BooleanField(default=False, help_text="an answer of My set-up")

    @property
    def queue(self) -> str:
        """The queue from which its worker takes."""
        return ENGINE_QUEUE if self.engine else SPARK_QUEUE

    @classmethod
    def of_queue(cls, queue: str) -> models.QuerySet[Self]:
        """The rows whose worker takes from this queue."""
        return cls.objects.filter(engine=queue == ENGINE_QUEUE)

    @classmethod
    def engine_works(cls) -> bool:
        """Whether the engine's processes run an experiment now: their worker wrote lately."""
        lately = timezone.now() - timedelta(seconds=SILENT_FOR_S)
        running = cls.objects.filter(engine=True, state=TaskState.RUNNING, worker_seen_at__gte=lately)
        return running.exists()

    @property
    def results_folder(self) -> Path:
        """The folder of the files to download; each is written aside and renamed, so it is complete."""
        return self.folder

    def words(self) -> str:
        """The state as a sentence."""
        of = f"{self.runs_finished:,} of {self.runs:,} runs finished"
        failed = f", {self.runs_failed:,} of them failed" if self.runs_failed else ""
        if self.state == TaskState.QUEUED:
            return f"Queued, {of}." if self.runs_finished else "Queued."
        if self.state == TaskState.RUNNING:
            if self.cancel_wanted:
                return f"Being cancelled: {of}."
            if self.message and not self.runs_finished and self.left_s is None:
                return f"{self.message[0].upper()}{self.message[1:]}."
            doing = f"; {self.message}" if self.message and self.runs_finished == self.runs else ""
            left = f", about {spoken(self.left_s)} left" if self.left_s is not None else ""
            return f"{of}{failed}{doing}{left}."
        if self.state == TaskState.DONE:
            return f"Finished: {self.runs:,} runs{failed}."
        return f"Cancelled: {of}." if self.state == TaskState.CANCELLED else super().words()

    def progress(self) -> dict[str, Any]:
        """Its runs, and their results so far."""
        return {
            "runs": self.runs,
            "finished": self.runs_finished,
            "failed": self.runs_failed,
            "set_up": self.set_up,
            "left_s": self.left_s if self.state == TaskState.RUNNING else None,
            "files": (self.folder / "sweep.html").is_file(),
            "results": self.results,
        }


def spoken(seconds: float) -> str:
    """A duration for people: `8 s`, `12 min`."""
    return f"{max(1, round(seconds))} s" if seconds < 90 else f"{round(seconds / 60)} min"


HEADLINE_FIGURES = ("duplicates", "redeliveries", "stranded", "lost")


class Report(StepTask):
    """One report. `figures` is its headline, once it is done.

    The row holds the run's inputs, so a report keeps its run while the lab continues. It belongs to the owner
    of its lab.
    """

    NOUN, FOLDER, FILE_PREFIX, FILES = "report", "reports", "failover", REPORT_FILES
    NOT_OWNER = (
        "Only who opened this lab can ask for its reports.",
        "Open the scenario from the gallery to have a lab of your own.",
    )
    MISSING_HINT = "Ask for one on the lab's page."
    SILENT = "The worker that made this report ended before it was done."
    SILENT_HINT = "Nothing of the lab is lost. Try again; when it happens twice, look at the worker's log."
    AT_FIRST = {**StepTask.AT_FIRST, "simulator_figures": []}
    WAITING_OF_CLIENT = clients.REPORTS_PER_CLIENT

    lab = models.ForeignKey(Lab, on_delete=models.CASCADE, related_name="reports", null=True)
    experiment = models.ForeignKey(
        Experiment,
        on_delete=models.CASCADE,
        related_name="recounts",
        null=True,
        help_text="the answer of My set-up whose runs are counted again, in place of a lab's run",
    )
    scenario_text = models.TextField(help_text="of a recount, the experiment's YAML")
    seed = models.BigIntegerField()
    commands = models.JSONField(default=list)
    until_us = models.BigIntegerField()
    figures = models.JSONField(default=list)
    checks = models.JSONField(
        default=list,
        help_text="of a recount, each claim with the number of runs in which it held and was violated",
    )
    simulator_figures = models.JSONField(
        default=list, help_text="the simulator's own headline figures, shown while Spark counts"
    )
    reruns = models.JSONField(
        default=list,
        help_text=(
            "outcomes of what would have helped that the lab's page has computed already; of a recount, "
            "the answer's runs and figures"
        ),
    )

    def is_owner(self, token: Any) -> bool:
        """Whether this is the token of the lab's owner."""
        return self.lab is not None and isinstance(token, str) and self.lab.is_owner(token)

    def progress(self) -> dict[str, Any]:
        """Its steps, its figures, and the simulator's own until Spark has counted."""
        return {
            "step_number": self.step_number,
            "step_count": self.step_count,
            "step_name": self.step_name,
            "tasks_done": self.tasks_done,
            "tasks_count": self.tasks_count,
            "figures": self.figures,
            "checks": self.checks,
            "simulator_figures": [] if self.over else [_figures_shown(one) for one in self.simulator_figures],
        }


def _figures_shown(figures: dict[str, Any]) -> dict[str, Any]:
    """One line of the simulator's own figures: its subject as text, and numbers of messages."""
    if "group" in figures:
        subject = f"Group {figures['group']}"
    else:
        subject = "{subscription}, {from} to {to}".format(**figures) + f", {figures['at_us'] / 1e6:.3f} s"
        if figures.get("pending_repeats"):
            subject += ", still delivering at the end: lower bounds"
    return {"subject": subject, **{name: figures.get(name) for name in HEADLINE_FIGURES}}


class Audit(StepTask):
    """One audit. `figures` is its headline, once it is done."""

    NOUN, FOLDER, FILE_PREFIX, FILES = "audit", "audits", "audit", AUDIT_FILES
    NOT_OWNER = "Only who started this audit can do that.", "Start an audit of your own."
    SILENT = "The worker that made this audit ended before it was done."
    SILENT_HINT = "The uploaded files are kept. Try again; if it happens twice, upload fewer of them."
    WAITING_OF_CLIENT, KEPT_OF_CLIENT = clients.AUDITS_PER_CLIENT, clients.AUDITS_KEPT_PER_CLIENT
    KEPT = 1_000
    UNLISTED = ("mapping",)

    token_hash = models.CharField(max_length=64)
    format = models.CharField(max_length=20)
    files = models.JSONField(default=list, help_text="name and size of each uploaded file")
    mapping = models.TextField(blank=True)
    figures = models.JSONField(default=dict)

    @property
    def input(self) -> Path:
        """The folder of the uploaded files; it is removed when the audit is done or cannot be done."""
        return self.folder / "input"

    @property
    def result(self) -> Path:
        """The folder of the results; it exists when they are complete."""
        return self.folder / "result"

    @property
    def results_folder(self) -> Path | None:
        """The folder of the files to download; None before they are complete."""
        return self.result if self.state == TaskState.DONE else None

    @property
    def may_retry(self) -> bool:
        """Whether the uploaded files are still there."""
        return self.input.is_dir()

    def words(self) -> str:
        """The state as a sentence; of a finished audit its result."""
        if self.state != TaskState.DONE:
            return super().words()
        figures = self.figures
        if figures.get("messages") is None:
            most = figures.get("repeated_most")
            known = "an unknown number of" if most is None else f"at most {most:,}"
            return f"A failover at that instant would repeat {known} entries."
        repeated, duplicates = figures["repeated"], figures["duplicates"]
        of = f"{repeated:,} of {figures['messages']:,} messages were delivered more than once"
        return f"{of}; {duplicates:,} of them had been acknowledged before." if duplicates else f"{of}."

    def progress(self) -> dict[str, Any]:
        """Its steps, and whether it can be tried again."""
        return {
            "may_retry": self.may_retry,
            "step_number": self.step_number,
            "step_count": self.step_count,
            "figures": self.figures,
        }

    @property
    def set_up_link(self) -> str:
        """The link that opens the audit's scenario in My set-up; empty without a scenario.

        The text is in the fragment, as `static/js/wire/text_link.js` reads it.
        """
        path = self.result / "scenario.yaml"
        if self.state != TaskState.DONE or not path.is_file():
            return ""
        packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
        packed = packer.compress(path.read_bytes()) + packer.flush()
        letters = base64.urlsafe_b64encode(packed).decode().rstrip("=")
        return f"{reverse('visualizer:set-up')}#yaml={letters}"


KINDS: dict[str, type[QueuedTask]] = {kind.FOLDER: kind for kind in (Report, Experiment, Audit)}
"""The kinds of task by folder."""


def any_queued() -> bool:
    """Whether a task of any kind waits for the worker with Spark."""
    return any(kind.of_queue(SPARK_QUEUE).filter(state=TaskState.QUEUED).exists() for kind in KINDS.values())


def others_wait(task: QueuedTask) -> bool:
    """Whether a task of another kind, or one of another client address, waits for the same worker."""
    for kind in KINDS.values():
        queued = kind.of_queue(task.queue).filter(state=TaskState.QUEUED)
        if kind is type(task):
            queued = queued.exclude(client=task.client)
        if queued.exists():
            return True
    return False


@receiver(post_delete, sender=Report)
@receiver(post_delete, sender=Experiment)
@receiver(post_delete, sender=Audit)
def remove_files_of_row(sender: type[QueuedTask], instance: QueuedTask, **_: object) -> None:
    """Delete a task's files with its row."""
    instance.remove_files()
