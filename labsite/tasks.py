"""The task that the workers run for the site (`python manage.py db_worker`).

Rules: the web process imports this module and never waits for a JVM. So everything heavy is imported inside
the function. The worker with Spark keeps one warm session. Only a task's own attempt writes its row.
"""

from __future__ import annotations

from collections.abc import Callable

from django_tasks import task

from visualizer.tasks.models import ENGINE_QUEUE, KINDS


@task()
def make_next(folder: str, queue: str) -> str:
    """Make the next task of a kind, named by its folder, for the workers of a queue; return how it ended.

    Each queued row has a task of django-tasks, but those arrive in the order of the requests. Which row is
    next is decided here, in turns among client addresses, so that thirty reports of one visitor do not delay
    another's.
    """
    while (chosen := KINDS[folder].next_in_turn(queue)) is not None:
        ended = _maker(folder, queue)(*chosen)
        if ended != "given up":  # another worker took it first
            return ended
    return "nothing queued"


def _maker(folder: str, queue: str) -> Callable[[str, int], str]:
    """What makes an attempt of a task and returns its state."""
    if queue == ENGINE_QUEUE:
        from labsite.engine_worker import EngineAttempt

        return EngineAttempt.run
    from labsite.spark_worker import ATTEMPTS

    return ATTEMPTS[folder].run
