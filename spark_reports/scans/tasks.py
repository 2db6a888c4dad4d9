"""Scans as frames: the parts of a report's traces, spread over tasks.

Rules: a short trace is scanned by the driver, as all its queries are one task. Of a long one each task holds
the rows of one share, so that its memory is bounded whatever the length of a run.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from copy import copy
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import LongType, StringType, StructField, StructType

from spark_reports.local import from_rows, in_one_part
from spark_reports.read import TraceInput
from spark_reports.scans import files
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
        _make_portable(scan)
        return parts.mapInArrow(FileScan(scan, options, self.hidden), from_arrow_schema(scan.schema))

    def rows(self, scan: Scan, **options: Any) -> list[Row]:
        """The rows of `frame`, which are few."""
        found = self._here(scan, options) if one_task(self.spark) else self.frame(scan, **options).toArrow()
        return [Row(**row) for row in found.to_pylist()]

    def _here(self, scan: Scan, options: dict[str, Any]) -> pa.Table:
        batches = FileScan(scan, options, self.hidden).of_shares(self.shares)
        # Spark's local relation ends at the first batch without rows
        return pa.Table.from_batches(batches, scan.schema).combine_chunks()


def _make_portable(scan: Scan) -> None:
    """Send the code of the scan's package, and of this one, with it: tasks may not have them."""
    packages = (files.__package__, scan.work.__module__.rpartition(".")[0])
    for name in sorted(sys.modules):
        if name.rpartition(".")[0] in packages:
            cloudpickle.register_pickle_by_value(sys.modules[name])
