"""How a task of the worker ends when Spark fails: columns of its row, end of session and worker."""

from __future__ import annotations

import errno
import logging
import os
import signal
from typing import Any

from visualizer.tasks.models import TaskState

log = logging.getLogger("labsite.tasks")

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Numbers of errors that mean that the disk is full."""


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
