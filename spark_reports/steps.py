"""What every counting in steps does with its frames: small ones are made local, large ones kept while
steps read them, and freed at the end.
"""

from __future__ import annotations

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession

from spark_reports.local import made_local


class Steps:
    """A counting's frames. Subclasses hold the steps."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self._kept: list[DataFrame] = []

    def local(self, frame: DataFrame) -> DataFrame:
        """A small frame made local: its rows, without the plan that led to them."""
        return made_local(self.spark, frame)

    def keep(self, frame: DataFrame) -> DataFrame:
        """A large frame that several steps read, computed once."""
        self._kept.append(frame.persist(StorageLevel.MEMORY_AND_DISK))
        return frame

    def release(self) -> None:
        """Free what was kept."""
        for frame in self._kept:
            frame.unpersist()
        self._kept = []
