"""Spark settings of a report or an audit by its rows: set while it is made, then restored.

Rules: only settings change, the queries are the same. A short trace costs almost no task time. Its report
waits for Spark to plan queries, to compile code that runs once, and to start jobs. So each query is one job
with one task, which exchanges nothing, and small frames are held as values.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from spark_reports.session import SHUFFLED, cut_for

SHORT_ROWS_MOST = 50_000
"""Most rows of a report's traces together for which `SHORT` is set. Its frames pass through the driver."""

SMALL_ROWS_MOST = 50_000
"""Most rows of a frame that is made local, although its trace is long. Such frames need no tasks either."""

QUICK_ROWS_MOST = 500_000
"""Most rows of a frame whose queries get `SHORT` although it is too large to be local.

A trace of 35 million rows has 184,000 of the control plane: three dozen queries read them.
"""

ONE_TASK = "spark.failoverLab.oneTask"
"""Set in a session while each query is one task."""

EVERY = {
    # descriptions of plans that nobody reads
    "spark.sql.ui.explainMode": "simple",
    "spark.sql.maxPlanStringLength": "0",
    "spark.sql.dataFrameQueryContext.enabled": "false",
    # checks of Spark's own rules
    "spark.sql.lightweightPlanChangeValidation": "false",
}
"""Settings for every trace."""

SHORT = {
    ONE_TASK: "true",
    SHUFFLED: "1",
    "spark.sql.files.minPartitionNum": "1",
    # expressions are interpreted: a few thousand rows do not repay compiling a class for each query
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # each stage of an adaptive query is a job, and is planned again
    "spark.sql.adaptive.enabled": "false",
    # frames of one partition are joined where they are, and each broadcast would be a job
    "spark.sql.optimizer.disableHints": "true",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.leafNodeDefaultParallelism": "1",
    # it derives filters on nulls, which save nothing here
    "spark.sql.constraintPropagation.enabled": "false",
}
"""Settings for short traces, beside `EVERY`. docs/reports.md has the figures."""


def one_task(spark: Any) -> bool:
    """Whether each query of the session is one task now."""
    return bool(spark.conf.get(ONE_TASK, "false") == "true")


def tuned(spark: Any, rows: int) -> AbstractContextManager[None]:
    """Set the session for traces of so many rows, and restore its settings afterwards."""
    return _set(spark, EVERY | (SHORT if rows <= SHORT_ROWS_MOST else {}))


def quick(spark: Any, small: bool = True) -> AbstractContextManager[None]:
    """Set the session for queries that read only small frames, whatever the length of the trace.

    Nothing is changed where `small` is false, or where each query is one task already.
    """
    return _set(spark, SHORT) if small and not one_task(spark) else nullcontext()


@contextmanager
def _set(spark: Any, settings: dict[str, str]) -> Iterator[None]:
    before = {name: spark.conf.get(name, None) for name in settings}
    try:
        for name, value in settings.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, own in before.items():
            if own is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, own)


def cut_tasks(spark: Any, rows: int) -> None:
    """Set the number of tasks for so many rows, unless each query is one task."""
    if not one_task(spark):
        cut_for(spark, rows)
