"""Scans as frames: the parts of a report's traces, spread over tasks.

Rules: a short trace is scanned by the driver, as all its queries are one task. Of a long one each task holds
the rows of one share, so that its memory is bounded whatever the length of a run.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from copy import copy
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import LongType, StringType, StructField, StructType

from spark_reports.experiments.job import prepare
from spark_reports.local import from_rows, in_one_part
from spark_reports.read import TraceInput
from spark_reports.scans.files import FileScan, Scan
from spark_reports.tuning import one_task

ROWS_OF_A_SHARE = 2_000_000
"""Rows of a run, of all its types, for each share of its messages. A task needs about 230 bytes per row."""
TASKS_MOST = 2_000
_SHARES = StructType(
    [
        StructField("run", LongType()),
        StructField("path", StringType()),
        StructField("share", LongType()),
        StructField("shares", LongType()),
    ]
)


class Scans:
    """The scans of some traces. Rows of the subscriptions that `hidden` names by run are left out."""

    def __init__(
        self, spark: SparkSession, inputs: Sequence[TraceInput], hidden: Mapping[int, Sequence[str]]
    ) -> None:
        self.spark, self.hidden = spark, dict(hidden)
        self.shares = [
            (entry.run, str(entry.path), share, shares)
            for entry in inputs
            for shares in [max(1, -(-entry.meta["rows"] // ROWS_OF_A_SHARE))]
            for share in range(shares)
        ]

    def of(self, runs: Collection[int]) -> Scans:
        """The scans of these runs only."""
        found = copy(self)
        found.shares = [share for share in self.shares if share[0] in runs]
        return found

    def frame(self, scan: Scan, **options: Any) -> DataFrame:
        """What the scan makes of every share."""
        if one_task(self.spark):
            found = self._here(scan, options)
            return in_one_part(self.spark, self.spark.createDataFrame(found, from_arrow_schema(scan.schema)))
        tasks = max(1, min(len(self.shares), TASKS_MOST))
        parts = from_rows(self.spark, self.shares, _SHARES).repartition(tasks)
        prepare(self.spark)
        return parts.mapInArrow(FileScan(scan, options, self.hidden), from_arrow_schema(scan.schema))

    def rows(self, scan: Scan, **options: Any) -> list[Row]:
        """The rows of `frame`, which are few."""
        return [Row(**row) for row in self.table(scan, **options).to_pylist()]

    def table(self, scan: Scan, **options: Any) -> pa.Table:
        """The same rows as one table."""
        return self._here(scan, options) if one_task(self.spark) else self.frame(scan, **options).toArrow()

    def _here(self, scan: Scan, options: dict[str, Any]) -> pa.Table:
        batches = FileScan(scan, options, self.hidden).of_shares(self.shares)
        # Spark's local relation ends at the first batch without rows
        return pa.Table.from_batches(batches, scan.schema).combine_chunks()
