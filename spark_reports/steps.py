"""The frames of a counting in steps: small ones are made local, large ones are kept until the end.

Large frames are read by several steps, and freed at the end. For a short trace they are small, too. Of a long
trace most frames are small as well. Queries that read only those are run as for a short trace.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession

from spark_reports import transforms, tuning
from spark_reports.local import made_local
from spark_reports.side_by_side import side_by_side


class Steps:
    """The frames of one counting. Subclasses have the steps."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self._kept: list[DataFrame] = []
        self._large: list[DataFrame] = []

    def local(self, frame: DataFrame) -> DataFrame:
        """A small frame made local: its rows, without the plan that computed them."""
        return made_local(self.spark, frame)

    def keep(self, frame: DataFrame) -> DataFrame:
        """A large frame that several steps read, computed once.

        Of a short trace it is made local: a kept frame's plan would be analysed again by every reader.
        """
        if tuning.one_task(self.spark):
            return self.local(frame)
        self._kept.append(frame.persist(StorageLevel.MEMORY_AND_DISK))
        self._large.append(frame)
        return frame

    def settle(self, frame: DataFrame, rows: int | None = None, quick_most: int | None = None) -> DataFrame:
        """A frame that may be large, computed now: made local if it is small, else kept.

        `rows` is the number of its rows, if it is known. In both cases Spark knows its size from now on.
        Queries on a kept frame of up to `quick_most` rows get the settings of a short trace, too. Their
        results are made local, so only a frame whose results are all small may have this limit.
        """
        if tuning.one_task(self.spark) or (rows is not None and rows <= tuning.SMALL_ROWS_MOST):
            return self.local(frame)
        kept = self.keep(frame)
        counted = kept.count()
        if quick_most is not None and counted <= quick_most:
            self._large.remove(kept)
        if counted > tuning.SMALL_ROWS_MOST:
            return kept
        found = self.local(kept)
        kept.unpersist()
        self._kept.remove(kept)
        return found

    def quick(self, *frames: DataFrame) -> AbstractContextManager[None]:
        """Settings for queries that read only small frames, if none of these settled frames is large."""
        return tuning.quick(self.spark, not any(frame is large for frame in frames for large in self._large))

    def side_by_side(self, *works: Callable[[], None]) -> None:
        """Do works that do not depend on each other, at the same time where that is faster."""
        side_by_side(self.spark, works)

    def near(self, rows: DataFrame, frame: DataFrame, name: str) -> DataFrame:
        """The rows whose column has a value that it has in `frame`, and some others.

        `frame` is settled. Rows of a short trace are all returned: they were read before.
        """
        if tuning.one_task(self.spark):
            return rows
        with self.quick(frame):
            return rows.filter(transforms.within(name, transforms.spans_of(frame, name)))

    def release(self) -> None:
        """Free the kept frames."""
        for frame in self._kept:
            frame.unpersist()
        self._kept, self._large = [], []
