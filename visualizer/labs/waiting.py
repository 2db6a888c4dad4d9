"""The queue of one lab's jobs, the first of which may be running.

Rules: it is bounded. Of several consecutive seeks only the newest is done, and those between are dropped at
once. The running one may finish within `GRACE_S`, so that dragging shows one instant after another, and is
then cancelled for the newest.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from visualizer.labs.work import Job, Wait
from visualizer.live.wire import Refused

JOBS_WAITING = 100
"""Longest queue of one lab. More requests are refused."""

GRACE_S = 0.25
"""How long a running seek may go on although a newer one waits."""


class Waiting:
    def __init__(self) -> None:
        self._jobs: deque[Job] = deque()
        self._answer: Any = None
        self._error: Exception | None = None
        self._began_s: float | None = None

    def __bool__(self) -> bool:
        return bool(self._jobs)

    def add(self, job: Job) -> None:
        """Queue a job. Raises Refused when the queue is full."""
        if job.replaceable:
            while len(self._jobs) > 1 and self._jobs[-1].replaceable:
                self._jobs.pop().work.close()
            if len(self._jobs) == 1 and self._jobs[0].replaceable and self._began_s is None:
                self._jobs.pop().work.close()
        if len(self._jobs) >= JOBS_WAITING:
            raise Refused(
                "too-many",
                f"{JOBS_WAITING} requests wait for this lab already.",
                "Wait until it has caught up.",
            )
        self._jobs.append(job)

    def give_up(self, why: Refused) -> None:
        """Close the lab: every pending request is refused with a reason."""
        jobs, self._jobs = self._jobs, deque()
        for job in jobs:
            job.work.close()
            job.refused(why)

    def busy_for_s(self, now_s: float) -> float:
        """How long the first job has been running."""
        return 0.0 if self._began_s is None else now_s - self._began_s

    @property
    def first(self) -> Job:
        return self._jobs[0]

    def resumed(self, answer: Any) -> None:
        """Pass the first job the result that it waits for."""
        self._answer = answer

    def interrupted(self, error: Exception) -> None:
        """Pass the first job an error, which is raised where the job waits."""
        self._error = error

    @property
    def under_way(self) -> bool:
        """Whether the first job has begun. It then moves the world slice by slice."""
        return self._began_s is not None

    def slice(self, now_s: float, whole: bool = True) -> Wait | None:
        """Run one slice of the first job; return what it waits for outside the engine, or None.

        Within an instant (not `whole`) the job is not cancelled. An internal error ends only the job when it
        only reads. Any other job may have left the world inconsistent, so the error is raised.
        """
        if whole and self._overtaken(now_s):
            self._finish(self._jobs[0])  # the world is consistent, at another instant
        job = self._jobs[0]
        if self._began_s is None:
            self._began_s = now_s
        answer, self._answer = self._answer, None
        error, self._error = self._error, None
        try:
            return job.work.send(answer) if error is None else job.work.throw(error)
        except StopIteration as stop:
            self._finish(job)
            job.done(stop.value)
        except Refused as refused:
            self._finish(job)
            job.refused(refused)
        except Exception as broken:
            if job.broken is None:
                raise
            self._finish(job)
            job.broken(broken)
        return None

    def _overtaken(self, now_s: float) -> bool:
        newer = len(self._jobs) > 1 and self._jobs[0].replaceable and self._jobs[1].replaceable
        return newer and self.busy_for_s(now_s) > GRACE_S

    def _finish(self, job: Job) -> None:
        assert self._jobs[0] is job
        self._jobs.popleft()
        job.work.close()
        self._began_s = self._answer = self._error = None
