"""An attempt of a worker at a task: its row, kept up to date by one thread, and how it ends.

Rules: what the kinds share is in `Attempt`; a kind adds how it is made and its own errors. Every error ends
as a message in the row, without a path of the server, and is logged with its traceback. The thread writes
four times a second, so that missing writes reveal a dead worker and a cancel is noticed at any step.
`doing_since` is the instant at which the row's words about the present work were first collected, so that the
page shows how long it has lasted. While the database is unreachable the work continues, and its result is
written later. A cancelled task has ENDS_WITHIN_S to end by itself; if Spark still works for it then, its row
is ended, and the worker with its JVM.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any, ClassVar, Generic, Self, TypeVar

from django import db
from django.db import close_old_connections, connection
from django.utils import timezone

from simulator import ScenarioError
from spark_reports.progress import Cancelled
from spark_reports.session import JavaMissing, MasterUnreachable
from visualizer.labs.saving import is_trouble
from visualizer.tasks.files import NO_ROOM
from visualizer.tasks.models import Experiment, QueuedTask, TaskState, others_wait

log = logging.getLogger("labsite.tasks")

WRITE_EVERY_S = 0.25

WORK = ("step_number", "step_name", "message")
"""Columns that say what the worker does at present."""

DATABASE_WAIT_S, DATABASE_PAUSE_S = 600.0, 2.0
"""How long the start or end of a task waits for the database, and the pause between retries.

The files are kept in any case.
"""

ENDS_WITHIN_S = 10.0
"""How long a task may go on after a cancel, the end of its time, or a signal to its worker."""

Task = TypeVar("Task", bound=QueuedTask)


class Attempt(Generic[Task]):
    """Makes a task, and collects its progress, which one thread writes; it is also the work's listener."""

    kind: type[Task]
    at_first: ClassVar[dict[str, Any]] = {}
    """Columns of the row when the attempt begins."""
    retry = "Try again."
    """What a visitor may do after an error."""
    of_input: ClassVar[tuple[type[Exception], ...]] = ()
    """Errors that a visitor's input causes; they are not logged."""
    limit_s: float | None = None
    """The longest time of an attempt that Spark works for; None for a task without Spark."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.stopping = threading.Event()
        self._begin_s = time.monotonic()
        self._end_wanted_s: float | None = None
        self._too_long = threading.Event()
        self._unwritten: dict[str, Any] = {}
        self._work = {name: getattr(task, name) for name in WORK if hasattr(task, name)}
        self._lock = threading.Lock()
        self._over, self._soon = threading.Event(), threading.Event()
        self._cancel = threading.Event()
        self._thread = threading.Thread(target=self._keep_writing, name="attempt", daemon=True)

    @classmethod
    def run(cls, pk: str, attempt: int) -> str:
        """Make this attempt of a task and return its state; "given up" if the attempt is over already."""
        taken = when_the_database_is_there(lambda: cls.kind.take(pk, attempt, **cls.at_first))
        if taken is None:
            return "given up"
        made = cls(taken)
        return carried_out(made, made.outcome)

    def make(self) -> dict[str, Any]:
        """Make the task. Returns columns of its result; raises Cancelled."""
        return {}

    def refusal(self, error: Exception) -> dict[str, Any] | None:
        """How the task ends with an error that its kind knows, as columns of the row."""
        return None

    def discard(self) -> None:
        """Remove what was made, when the task was cancelled or the disk is full."""

    def outcome(self) -> dict[str, Any]:
        """Make the task and return how it ended, as columns of the row."""
        task, noun = self.task, self.task.NOUN
        try:
            return {"state": TaskState.DONE, **self.make()}
        except Cancelled:
            self.discard()
            if self.stopping.is_set():
                return failed(f"The worker was stopped while it made this {noun}.", self.retry)
            return {"state": TaskState.CANCELLED}
        except (JavaMissing, MasterUnreachable) as error:
            log.error("The %s %s cannot be made: %s", noun, task.pk, error)
            return failed(f"{noun.capitalize()}s need Spark, which cannot be started.", str(error))
        except Exception as error:
            # Spark and its JVM may raise any exception here: the row must not stay "running".
            if not isinstance(error, self.of_input):
                log.exception("The %s %s failed", noun, task.pk)
            refused = self.refusal(error)
            if refused is not None:
                return refused
            if self.limit_s is not None:
                forget_broken_session()
            if isinstance(error, OSError) and error.errno in NO_ROOM:
                self.discard()
                return failed(
                    f"The {noun} could not be made: there is no room left for its files.",
                    "Try again when the site's operator has made room; `manage.py clean` removes old files.",
                )
            return failed(
                f"The {noun} could not be made: internal error ({type(error).__name__}).",
                f"{self.retry} The worker's log has the details.",
            )

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._soon.set()
        self._thread.join()

    def cancelled(self) -> bool:
        """Whether the task was cancelled, or its attempt was given up."""
        return self._cancel.is_set()

    def cancel_wanted(self) -> bool:
        """Whether the task was cancelled, or the worker is stopping."""
        return self.cancelled() or self.stopping.is_set()

    def go_on(self) -> None:
        """Raise Cancelled when the task was cancelled or the worker is stopping."""
        if self.cancel_wanted():
            raise Cancelled

    def collect(self, **columns: Any) -> None:
        """Columns to write with the next write."""
        work = {name: columns[name] for name in WORK if name in columns}
        with self._lock:
            if {**self._work, **work} != self._work:
                self._work.update(work)
                columns["doing_since"] = timezone.now()
            self._unwritten.update(columns)

    def write_soon(self) -> None:
        """Write what was collected without waiting for the next quarter of a second."""
        self._soon.set()

    @property
    def unwritten(self) -> dict[str, Any]:
        """The progress that is not in the row yet."""
        with self._lock:
            return dict(self._unwritten)

    def _keep_writing(self) -> None:
        try:
            while True:
                self._soon.wait(WRITE_EVERY_S)
                self._soon.clear()
                if self._over.is_set():
                    return
                self._try_to_write()
                if self.limit_s is not None:
                    self._check_time(self.limit_s)
        finally:
            connection.close()

    def _try_to_write(self) -> None:
        """Write the collected progress. A failed write is retried a quarter of a second later."""
        with self._lock:
            changes, self._unwritten = self._unwritten, {}
        try:
            close_old_connections()
            wanted = self.task.current_attempt().values_list("cancel_wanted", flat=True)
            if not self.task.record_progress(changes) or wanted.first():
                self._cancel.set()
        except db.Error as error:
            kind = type(self.task).__name__.lower()
            words = (kind, self.task.pk, type(error).__name__, error)
            log.warning("The progress of %s %s cannot be written: %s: %s", *words)
            with self._lock:
                self._unwritten = {**changes, **self._unwritten}

    def _check_time(self, limit_s: float) -> None:
        """Cancel a task that exceeds its time limit, and end the worker if a cancelled one goes on."""
        now_s = time.monotonic()
        if now_s - self._begin_s > limit_s:
            self._too_long.set()
            self._cancel.set()
        if not self.cancel_wanted():
            return
        if self._end_wanted_s is None:
            self._end_wanted_s = now_s
        elif now_s - self._end_wanted_s > ENDS_WITHIN_S and not self._over.is_set():
            log.error("The work for %s does not end; this worker ends with Spark", self.task.pk)
            columns = {
                **self.unwritten,
                "finished_at": timezone.now(),
                **self.ended({"state": TaskState.CANCELLED}),
            }
            try:
                self.task.record_progress(columns)
            except db.Error as error:
                log.warning("The end of %s cannot be written: %s", self.task.pk, error)
            end_worker()

    def ended(self, columns: dict[str, Any]) -> dict[str, Any]:
        """How the task ended, as columns of the row: `columns`, unless its time was over."""
        if not self._too_long.is_set() or columns["state"] != TaskState.CANCELLED:
            return columns
        return failed(
            f"It was stopped because it took longer than {(self.limit_s or 0) / 60:.0f} minutes.",
            "Try again when the site is less busy, or ask for less: a shorter run, or fewer rows.",
        )


class StepAttempt(Attempt[Task]):
    """An attempt at a task in steps, as a listener of `spark_reports.progress.Watch`."""

    limit_s = 1_800.0

    def step(self, number: int, of: int, name: str) -> None:
        """Record that a step begins."""
        self.collect(step_number=number, step_count=of, step_name=name, tasks_done=0, tasks_count=0)

    def tasks(self, done: int, of: int) -> None:
        """Record the tasks of the running stage."""
        self.collect(tasks_done=done, tasks_count=of)

    def say(self, name: str) -> None:
        """Record the work done before the first step."""
        self.collect(step_name=name)


class ExperimentAttempt(Attempt[Experiment]):
    """An attempt at an experiment, which gives way to other visitors. Only missing runs are made."""

    kind = Experiment
    retry = Experiment.SILENT_HINT

    def __init__(self, task: Experiment) -> None:
        super().__init__(task)
        self.giving_way = threading.Event()

    def outcome(self) -> dict[str, Any]:
        """How it ended, as columns of the row; one that gives way is queued again."""
        ended = super().outcome()
        if ended["state"] == TaskState.CANCELLED and self.giving_way.is_set() and not self.cancelled():
            ended = {"state": TaskState.QUEUED, "finished_at": None, "message": ""}
        return {"left_s": None, **ended}

    def refusal(self, error: Exception) -> dict[str, Any] | None:
        """How it ends with a text that this version cannot read."""
        if isinstance(error, ScenarioError):
            return failed(f"The experiment cannot be read: {error}", "Run its YAML as a new experiment.")
        return None

    def others_wait(self) -> bool:
        """Whether tasks of others wait for this worker; not while the database is away: the runs go on."""
        try:
            return others_wait(self.task)
        except db.Error:
            return False


def carried_out(attempt: Attempt[Task], work: Callable[[], dict[str, Any]]) -> str:
    """Do the work beside the thread that writes the row; returns the state in which it ended.

    `work` returns how it ended, as columns of the row.
    """
    with attempt, StopsWith(attempt):
        ended = work()
    # a quick last step may have begun after the last write of the progress
    ended = attempt.ended(ended)
    last = {**attempt.unwritten, "finished_at": timezone.now(), **ended}
    recorded = when_the_database_is_there(lambda: attempt.task.record_progress(last))
    if recorded and ended["state"] == QueuedTask.State.QUEUED:
        attempt.task.enqueue()
    return str(ended["state"])


def when_the_database_is_there(write: Callable[[], Any]) -> Any:
    """Write now, or as soon as the database can be reached. Raises its error after `DATABASE_WAIT_S`."""
    end_s = time.monotonic() + DATABASE_WAIT_S
    while True:
        try:
            return write()
        except db.Error as error:
            if not is_trouble(error) or time.monotonic() > end_s:
                raise
            log.warning("A task's row cannot be written, trying again: %s: %s", type(error).__name__, error)
            time.sleep(DATABASE_PAUSE_S)
            close_old_connections()  # only after an error: in a transaction it would close a working one


class StopsWith:
    """Cancels a task when a signal stops the worker, which ends within seconds."""

    def __init__(self, attempt: Attempt[Any]) -> None:
        self.attempt = attempt
        self._before: dict[int, Any] = {}

    def __enter__(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return  # only the main thread can handle signals; a test may use another thread
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.getsignal(number)
            signal.signal(number, self._stop)

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self.attempt.stopping.set()
        handler = self._before[number]
        if callable(handler):
            handler(number, frame)


# --- how a task of the worker ends when Spark fails: columns of its row, end of session and worker


def failed(error: str, hint: str) -> dict[str, Any]:
    """The columns of a task that failed."""
    return {"state": TaskState.FAILED, "error": error, "hint": hint}


def forget_broken_session() -> None:
    """End the worker if the Spark session's JVM has died, since it cannot do another task.

    The worker's supervisor starts another one. A dead JVM refuses the question for the session, too.
    """
    from pyspark.sql import SparkSession

    try:
        spark = SparkSession.getActiveSession()
        if spark is not None:
            spark.range(1).collect()
    except Exception:
        log.exception("The Spark session is broken; this worker ends after this task")
        signal.raise_signal(signal.SIGTERM)


ENDED_BY_FORCE = 75
"""Exit code of a worker that ended itself because Spark would not stop."""


def end_worker() -> None:
    """End this process and Spark's JVM at once, whatever they do.

    Java's regular expressions, for example, cannot be interrupted. The worker's supervisor starts another
    one, and other tasks are still in their queue.
    """
    from pyspark import SparkContext

    java = getattr(getattr(SparkContext, "_gateway", None), "proc", None)
    if java is not None:
        java.kill()
    logging.shutdown()
    os._exit(ENDED_BY_FORCE)
