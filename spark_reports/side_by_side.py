"""Several works at the same time, where a report waits for the driver and not for tasks.

Rules: only while each query is one task (`tuning`). Spark then plans the queries of one work, or runs their
single tasks, while Python builds those of another. Tasks of a long trace need every core, and the settings
that its queries change are those of the whole session, so there the works are done one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from spark_reports.tuning import one_task


def side_by_side(spark: Any, works: Sequence[Callable[[], None]]) -> None:
    """Do all works and return when the last one is done. Raises the first work's error, or another's.

    The first one is done in this thread. The others' jobs have the group and the tags of this thread.
    """
    if not one_task(spark):
        for work in works:
            work()
        return
    from pyspark import InheritableThread

    errors: list[Exception] = []

    def attempt(work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:
            errors.append(error)

    threads = [InheritableThread(attempt, args=(work,), session=spark) for work in works[1:]]
    for thread in threads:
        thread.start()
    try:
        works[0]()
    finally:
        for thread in threads:
            thread.join()
    if errors:
        raise errors[0]
