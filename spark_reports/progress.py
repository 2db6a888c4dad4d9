"""Progress of a report, and its cancellation: step n of m by name, tasks done of the running stage.

Rules: a classic session is polled through its status tracker. A Connect session calls a progress handler
while a query runs. Cancelling ends the Spark job by its group (classic) or its tag (Connect). Then
`Cancelled` ends the report between two steps.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from spark_reports.side_by_side import side_by_side

if TYPE_CHECKING:
    from pyspark import StatusTracker

Result = TypeVar("Result")

Step = tuple[str, Callable[[], None]]
"""The name and the work of a step."""

Lanes = list[list[Step]]
"""Lists of steps that do not depend on each other's. They are done side by side where that is faster."""

WATCH_EVERY_S = 0.5
"""Time between polls of the status tracker and of the cancel mark. A cancel takes effect within 2 s."""


class Cancelled(Exception):
    """The report was cancelled."""


class NullProgress:
    """Ignores progress and never cancels."""

    def step(self, number: int, of: int, name: str) -> None:
        """Step `number` of `of` begins."""

    def tasks(self, done: int, of: int) -> None:
        """`done` of `of` tasks of the running stage are done."""

    def cancel_wanted(self) -> bool:
        """Whether the report should stop."""
        return False


class Spoken:
    """Prints progress as lines on standard error."""

    def __init__(self, quiet: bool) -> None:
        self.quiet = quiet

    def step(self, number: int, of: int, name: str) -> None:
        """Print the step."""
        if not self.quiet:
            print(f"step {number} of {of}: {name}", file=sys.stderr, flush=True)

    def tasks(self, done: int, of: int) -> None:
        """Print nothing: there are too many tasks."""

    def cancel_wanted(self) -> bool:
        """Never: Ctrl-C ends the process itself."""
        return False


class Watch:
    """Runs a report's steps, beside a thread that reports progress and cancels the job group on request."""

    def __init__(self, spark: Any, listener: Any, group: str, description: str = "failover report") -> None:
        self.spark = spark
        self.description = description
        self.listener = listener
        self.group = group
        self._steps, self._begun, self._lock = 0, 0, threading.Lock()
        self._over = threading.Event()
        self._cancelled = threading.Event()
        self._failed = threading.Event()
        self._thread = threading.Thread(target=self._look, name="report-progress", daemon=True)
        self._context = getattr(spark, "_sc", None)  # absent on Connect

    def __enter__(self) -> Watch:
        if self._context is not None:
            self._context.setJobGroup(self.group, self.description, interruptOnCancel=True)
        else:
            self.spark.addTag(self.group)
            self.spark.registerProgressHandler(self._progress_of_server)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        if self._context is not None:
            self._context.setLocalProperty("spark.jobGroup.id", None)
        else:
            self.spark.removeProgressHandler(self._progress_of_server)
            self.spark.removeTag(self.group)

    def run(self, steps: Sequence[Step | Lanes]) -> None:
        """Run the steps in order, and those of lanes side by side.

        Raises Cancelled when the report was cancelled, whatever error Spark raised.
        """
        self._steps = sum(1 if isinstance(entry, tuple) else sum(map(len, entry)) for entry in steps)
        self._begun = 0
        for entry in steps:
            lanes = [[entry]] if isinstance(entry, tuple) else entry
            side_by_side(self.spark, [partial(self._run_lane, lane) for lane in lanes])
        self._raise_if_cancelled()

    def _run_lane(self, lane: list[Step]) -> None:
        for name, work in lane:
            self._raise_if_cancelled()
            if self._failed.is_set():
                return  # the other lane raises its error
            with self._lock:
                self._begun += 1
                self.listener.step(self._begun, self._steps, name)
            try:
                self._do(work)
            except BaseException:
                self._failed.set()
                raise

    def run_one(self, work: Callable[[], Result]) -> Result:
        """Do one piece of work that is no step, and return its result. Raises Cancelled as `run` does."""
        self._raise_if_cancelled()
        return self._do(work)

    def _do(self, work: Callable[[], Result]) -> Result:
        try:
            return work()
        except Exception as error:
            if self._cancelled.is_set():
                raise Cancelled from error
            raise

    def _raise_if_cancelled(self) -> None:
        if self._cancelled.is_set() or self.listener.cancel_wanted():
            raise Cancelled

    def _look(self) -> None:
        while not self._over.wait(WATCH_EVERY_S):
            if not self._cancelled.is_set() and self.listener.cancel_wanted():
                self._cancelled.set()
            if self._cancelled.is_set():
                # Repeated at every poll, since the report may have started its next job in between.
                self._cancel()
            elif self._context is not None:
                self._report_tasks(self._context.statusTracker())

    def _cancel(self) -> None:
        if self._context is not None:
            self._context.cancelJobGroup(self.group)
        else:
            self.spark.interruptTag(self.group)

    def _report_tasks(self, tracker: StatusTracker) -> None:
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        running = [info for info in stages if info is not None]
        if running:
            self.listener.tasks(
                sum(info.numCompletedTasks for info in running), sum(info.numTasks for info in running)
            )

    def _progress_of_server(
        self, stages: Iterable[Any] | None, inflight_tasks: int, operation_id: str | None, done: bool
    ) -> None:
        """Spark Connect's progress handler, called in the thread that waits for the query."""
        running = [stage for stage in stages or () if not stage.done]
        if running and not done:
            self.listener.tasks(
                sum(stage.num_completed_tasks for stage in running), sum(stage.num_tasks for stage in running)
            )
