"""The scans of a log, and what the driver makes of them.

Rules: the first scan gives the overview, messages and rows of every partition, and the keys of several rows.
The second gives the rows of those keys and the rows whose times are measured. Keys that are texts are counted
by a hash. Messages with several rows are counted after the second scan, by their texts, so two texts with the
same hash change no figure about deliveries. A third scan finds publishes without a delivery, by hashes alone;
it is the only one for logs that are not all Parquet. Workers need numpy, pyarrow and pyroaring, but not this
package.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StringType, StructField, StructType

from spark_reports.audit import labels
from spark_reports.audit.columns import ACK, DELIVER, GROUP, IDENTITY, KIND_NAMES, PUBLISH, UNITS
from spark_reports.audit.inputs import InputFile
from spark_reports.audit.mapping import IGNORE, MESSAGE_ID, POSITION, SHARED, TEXT, Mapping
from spark_reports.audit.numbered import counts, files, grouping, hashing, keys, lost, selection
from spark_reports.audit.numbered.files import FileScan
from spark_reports.audit.numbered.local_files import INTEGERS, parts_of, source_of
from spark_reports.audit.rows import completed, named, of_kinds, timed
from spark_reports.local import from_rows

CODES = (*UNITS, TEXT)
"""Time units by their code, which counts from 1. 0: there is no `ts`."""
OTHER = len(CODES) + 1
"""The code of an instant whose unit is not known."""
SPELLINGS = 4
"""How many groups of a task may be the same one after the rules of a row."""
AGAIN_MOST = 4_000_000
"""The most repeated keys that are sent to every task (8 bytes each); more are found by a join."""
_GROUPS = StructType(
    [
        StructField("ts", StringType()),
        StructField("at_us", LongType()),
        StructField("unit", StringType()),
        *(StructField(name, StringType()) for name in grouping.TEXTS),
        StructField("message_id", StringType()),
        StructField("position", StringType()),
        StructField("file", StringType()),
    ]
)
_ABSENT = ("consumer", "delivery_count", "text", "corrupt")
_AGAIN = pa.schema([(name, pa.string()) for name in IDENTITY])

for _module in (labels, grouping, hashing, keys, counts, selection, lost, files):
    cloudpickle.register_pickle_by_value(_module)


class Numbered:
    """Two scans of raw rows, whose keys are the integers or texts of the column `key`.

    `whole` are topics whose messages are identified without their partition.
    """

    def __init__(
        self, raw: DataFrame, key: str, mapping: Mapping, files: Sequence[InputFile], groups_most: int
    ) -> None:
        self.spark: SparkSession = raw.sparkSession
        self.raw, self.key, self.mapping, self.files = raw, key, mapping, files
        self.hashed = isinstance(raw.schema[key].dataType, StringType)
        scoped = key == POSITION and mapping.positions != SHARED and mapping.identity != MESSAGE_ID
        kinds = {**KIND_NAMES, IGNORE: IGNORE, **mapping.kinds}
        self.rules = (kinds, scoped, SPELLINGS * groups_most)
        self.whole: frozenset[str] = frozenset()

    def _scanned(self, scan: Any, schema: str, consumers: bool = False) -> DataFrame:
        source = source_of(self.raw, self.key, self.mapping, self.files, consumers)
        if source:
            return parts_of(self.spark, self.files).mapInArrow(FileScan(source, scan), schema)
        rows = timed(completed(self.raw, self.mapping, self.files), self.mapping)
        return _feed(rows, self.key, consumers).mapInArrow(scan, schema)

    def first(self) -> DataFrame:
        """The result of the first scan, small enough to be kept."""
        parts = self._scanned(counts.FirstScan(*self.rules, self.whole), counts.PARTIAL)
        return parts.repartition(_tasks(self.spark), *GROUP).mapInArrow(counts.joined, counts.COUNTED)

    def all_have_keys(self, found: DataFrame) -> bool:
        """Whether every row has a key, from the result of the first scan."""
        return not found.filter("shape >= 0 and shape % 2 = 0").count()

    def not_delivered(self) -> DataFrame:
        """Publishes without a delivery (`lost.NOT_DELIVERED`) of each subscription, by another scan."""
        return _by_topic(
            self._scanned(lost.LossScan(*self.rules, self.key == POSITION, self.whole), lost.PART)
        )

    def overview(self, found: DataFrame) -> list[dict[str, Any]]:
        """The same rows as `counting.overview`, from the result of the first scan."""
        own = found.filter("shape >= 0").drop("once", "again", "messages").toArrow().to_pylist()
        rows = [self._raw(number, one) for number, one in enumerate(own)]
        # `file` holds the number of the group; the rules of a row decide about the group
        frame = from_rows(self.spark, rows, _GROUPS).withColumns(
            {name: F.lit(None).cast("string") for name in _ABSENT}
        )
        groups: dict[tuple[Any, ...], dict[str, Any]] = {}
        for row in named(frame, self.mapping).collect():
            _join(groups, row, own[int(row["file"])])
        return list(groups.values())

    def _raw(self, number: int, one: dict[str, Any]) -> tuple[Any, ...]:
        """A row that stands for all rows of a group."""
        code, (instant, keyed) = one["shape"] // 6, divmod(one["shape"] % 6, 2)
        key = "0" if keyed else None
        return (
            "ts" if code else None,
            (one["first_us"] if instant == grouping.USABLE else -1) if instant else None,
            CODES[code - 1] if 0 < code < OTHER else None,
            *(one[name] for name in grouping.TEXTS),
            *(key if name == self.key else None for name in ("message_id", "position")),
            str(number),
        )

    def totals(self, found: DataFrame) -> dict[tuple[str, ...], dict[str, int]]:
        """Messages with one row of a delivery, and rows of deliveries, of each group."""
        made: dict[tuple[str, ...], dict[str, int]] = {}
        once = F.col("messages") - F.length("again") / F.lit(8)
        sets = found.filter("shape < 0").select(*GROUP, "lines", once.cast("bigint").alias("messages"))
        for row in sets.toArrow().to_pylist():
            known = made.setdefault(tuple(row[name] for name in GROUP), {"messages": 0, "delivery_rows": 0})
            known["messages"] += row["messages"]
            known["delivery_rows"] += row["lines"]
        return made

    def second(self, found: DataFrame, share: int) -> DataFrame | None:
        """The result of the second scan; None if there are too many repeated keys for it."""
        sets = found.filter("shape < 0 and length(again) > 0").select(*GROUP, "cluster", "again")
        size = sets.agg(F.sum(F.length("again"))).collect()[0][0] or 0
        if size > AGAIN_MOST * 8:
            return None
        again = {tuple(one.values())[:4]: one["again"] for one in sets.toArrow().to_pylist()}
        scan = selection.SecondScan(*self.rules, again, share, self.whole)
        chosen = self._scanned(scan, selection.CHOSEN, consumers=True)
        return chosen.withColumn("problem", F.lit(None).cast("string"))


def not_delivered(rows: DataFrame, by_position: bool, groups_most: int) -> DataFrame:
    """The same as `Numbered.not_delivered`, from canonical rows, whose keys are texts."""
    key = F.concat(F.coalesce("scope", F.lit("")), F.lit("\0"), "key")
    code = F.lit(0).cast("tinyint")
    fed = of_kinds(rows, PUBLISH, DELIVER, ACK).select("at_us", code, key, *grouping.TEXTS)
    kinds = {kind: kind for kind in (PUBLISH, DELIVER, ACK)}
    scan = lost.LossScan(kinds, False, SPELLINGS * groups_most, by_position)
    return _by_topic(fed.mapInArrow(scan, lost.PART))


def _by_topic(parts: DataFrame) -> DataFrame:
    """The figures of each topic, whose parts meet in one task."""
    tasks = _tasks(parts.sparkSession)
    return parts.repartition(tasks, "topic").mapInArrow(lost.not_delivered, lost.NOT_DELIVERED)


def _tasks(spark: SparkSession) -> int:
    return max(2, int(spark.conf.get("spark.sql.shuffle.partitions") or 2))


def repeated_keys(found: DataFrame) -> DataFrame:
    """The columns of an identity for each integer of several rows, from the result of the first scan."""
    sets = found.filter("shape < 0").select(*GROUP, F.col("cluster").alias("scope"), "again")
    return sets.mapInArrow(_identities, ", ".join(f"{name} string" for name in IDENTITY))


def _identities(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for *place, again in zip(*(one.to_pylist() for one in batch.columns)):
            keys = np.frombuffer(again, np.int64)
            named_columns = [pa.array([one] * len(keys), pa.string()) for one in place]
            yield pa.RecordBatch.from_arrays(
                [*named_columns, pa.array(keys).cast(pa.string())], schema=_AGAIN
            )


def _feed(rows: DataFrame, key: str, consumers: bool) -> DataFrame:
    """The columns that a scan reads, in the order of `grouping`."""
    unit = F.lit(OTHER)
    for number, name in enumerate(CODES, start=1):
        unit = F.when(F.col("unit") == name, F.lit(number)).otherwise(unit)
    consumer = F.nullif(F.trim(F.col("consumer").cast("string")), F.lit(""))
    text = isinstance(rows.schema[key].dataType, StringType)
    numbered = F.nullif(F.trim(F.col(key)), F.lit("")) if text else F.col(key).cast("bigint")
    return rows.select(
        "at_us",
        F.when(F.col("ts").isNull(), F.lit(0)).otherwise(unit).cast("tinyint").alias("code"),
        numbered.alias("key"),
        *(_kept(rows, name) for name in grouping.TEXTS),
        *((consumer.alias("consumer"), F.col("delivery_count").try_cast("bigint")) if consumers else ()),
    )


def _kept(rows: DataFrame, name: str) -> Column:
    kind = rows.schema[name].dataType
    return F.col(name) if isinstance(kind, (StringType, *INTEGERS)) else F.col(name).cast("string")


def _join(groups: dict[tuple[Any, ...], dict[str, Any]], row: Row, own: dict[str, Any]) -> None:
    """Add a group of the log to the group that it is after the rules of a row."""
    names = ("kind", "cluster", *GROUP, "unit", "problem")
    known = groups.setdefault(
        tuple(row[name] for name in names),
        {**{name: row[name] for name in names}, "rows": 0, "first_us": None, "last_us": None, "scoped": 0},
    )
    known["rows"] += own["lines"]
    known["scoped"] += own["lines"] if row["scope"] is not None else 0
    for name, chosen in (("first_us", min), ("last_us", max)):
        if own[name] is not None:
            known[name] = own[name] if known[name] is None else chosen(known[name], own[name])
