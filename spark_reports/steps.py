"""The frames of a counting in steps: small ones are made local, large ones are kept until the end.

Large frames are read by several steps, and freed at the end. For a short trace they are small, too.
"""

from __future__ import annotations

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession

from spark_reports.local import made_local
from spark_reports.tuning import one_task


class Steps:
    """The frames of one counting. Subclasses have the steps."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self._kept: list[DataFrame] = []

    def local(self, frame: DataFrame) -> DataFrame:
        """A small frame made local: its rows, without the plan that computed them."""
        return made_local(self.spark, frame)

    def keep(self, frame: DataFrame) -> DataFrame:
        """A large frame that several steps read, computed once.

        Of a short trace it is made local: a kept frame's plan would be analysed again by every reader.
        """
        if one_task(self.spark):
            return self.local(frame)
        self._kept.append(frame.persist(StorageLevel.MEMORY_AND_DISK))
        return frame

    def release(self) -> None:
        """Free the kept frames."""
        for frame in self._kept:
            frame.unpersist()
        self._kept = []
