"""Reads the output of Kafka's VerifiableProducer and VerifiableConsumer.

Rules: lines that are no JSON objects are left out, since both tools also print log lines. With `--verbose`
every record has a line and its value is the message's id. Without it a consumer prints ranges of offsets,
and messages are identified by offset. A committed offset acknowledges all records before it.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, LongType, StringType, StructField, StructType
from pyspark.sql.window import Window

from spark_reports.audit.columns import ACK, DELIVER, PUBLISH, PUBLISH_UNKNOWN
from spark_reports.audit.errors import AuditError
from spark_reports.audit.inputs import InputFile, text_lines
from spark_reports.audit.mapping import Mapping

NAMES = (
    "startup_complete",
    "producer_send_success",
    "producer_send_error",
    "tool_data",
    "shutdown_complete",
    "partitions_assigned",
    "partitions_revoked",
    "records_consumed",
    "record_data",
    "offsets_committed",
)
RANGE_MOST = 1_000_000
"""The most records of one range; a consumer's default is 500 per poll."""

_ONE = {"topic": StringType(), "partition": StringType(), "offset": LongType()}
_RANGE = {**_ONE, "count": LongType(), "minOffset": LongType(), "maxOffset": LongType()}


def check_records(spark: SparkSession, files: Sequence[InputFile], expanded_mib: int, most: int) -> None:
    """Raise AuditError when the ranges of offsets in these files stand for more than so many records.

    They are counted as Spark reads them, so no way of writing a range evades the limit.
    """
    lines = text_lines(spark, files, expanded_mib).select(F.from_json("value", _LINE).alias("row"))
    ranges = lines.filter("row.name = 'records_consumed'").select(F.explode("row.partitions").alias("one"))
    each = F.col("one.maxOffset") - F.col("one.minOffset") + 1
    found = ranges.filter(_is_whole()).agg(F.sum(each)).first()
    records = int(found[0] or 0) if found is not None else 0
    if records > most:
        raise AuditError(
            f"the ranges of records_consumed stand for {records:,} records, and at most {most:,} are "
            f"counted; audit fewer files at a time"
        )


def _is_whole() -> Column:
    """Whether a range is one that `_ranges` takes."""
    first, last = F.col("one.minOffset"), F.col("one.maxOffset")
    return (last >= first) & (last - first < RANGE_MOST)


def _struct(fields: dict) -> StructType:
    return StructType([StructField(name, kind) for name, kind in fields.items()])


_LINE = _struct(
    {
        "timestamp": StringType(),
        "name": StringType(),
        **_ONE,
        "value": StringType(),
        "partitions": ArrayType(_struct(_RANGE)),
        "offsets": ArrayType(_struct(_ONE)),
        "success": StringType(),
    }
)
_RAW = ("ts", "kind", "topic", "partition", "offset", "message_id", "consumer", "text", "file")


def read_verifiable(
    spark: SparkSession, files: Sequence[InputFile], mapping: Mapping, expanded_mib: int
) -> DataFrame:
    """Raw rows: publishes, deliveries, and one acknowledgement per record that a commit covers.

    The consumer is the file's name; group and cluster come from the mapping (`constants`, `from_path`).
    """
    lines = text_lines(spark, files, expanded_mib).withColumn("row", F.from_json("value", _LINE))
    lines = lines.select(
        *(F.col(f"row.{name}").alias(name) for name in _LINE.names),
        F.col("value").alias("line"),
        "file",
        F.regexp_extract("file", r"([^/]+?)(\.[A-Za-z]+)*$", 1).alias("consumer"),
    )
    verbose = not lines.filter("name = 'record_data'").isEmpty()
    produced = lines.filter(F.col("name").isin("producer_send_success", "producer_send_error")).select(
        F.col("timestamp").alias("ts"),
        F.when(F.col("name") == "producer_send_success", PUBLISH).otherwise(PUBLISH_UNKNOWN).alias("kind"),
        "topic",
        "partition",
        "offset",
        (F.col("value") if verbose else F.lit(None).cast("string")).alias("message_id"),
        "consumer",
        F.col("line").alias("text"),
        "file",
    )
    consumed = _records(lines) if verbose else _ranges(lines)
    rows = produced.unionByName(consumed).unionByName(_acknowledged(lines, consumed))
    return rows.select(
        *(name for name in _RAW if name != "offset"),
        F.col("offset").alias("position"),
        F.lit(None).cast("string").alias("corrupt"),
    )


def _records(lines: DataFrame) -> DataFrame:
    return lines.filter("name = 'record_data'").select(
        F.col("timestamp").alias("ts"),
        F.lit(DELIVER).alias("kind"),
        "topic",
        "partition",
        "offset",
        F.col("value").alias("message_id"),
        "consumer",
        F.col("line").alias("text"),
        "file",
    )


def _ranges(lines: DataFrame) -> DataFrame:
    """One delivery per offset of each range."""
    ranges = lines.filter("name = 'records_consumed'").select(
        "timestamp", "consumer", "line", "file", F.explode("partitions").alias("one")
    )
    return ranges.filter(_is_whole()).select(
        F.col("timestamp").alias("ts"),
        F.lit(DELIVER).alias("kind"),
        F.col("one.topic").alias("topic"),
        F.col("one.partition").alias("partition"),
        F.explode(F.sequence("one.minOffset", "one.maxOffset")).alias("offset"),
        F.lit(None).cast("string").alias("message_id"),
        "consumer",
        F.col("line").alias("text"),
        "file",
    )


def _acknowledged(lines: DataFrame, consumed: DataFrame) -> DataFrame:
    """Each record that was consumed, with the first commit of the same file beyond its offset."""
    commits = lines.filter("name = 'offsets_committed' and coalesce(success, 'true') = 'true'").select(
        F.col("timestamp").cast("bigint").alias("committed"), "file", F.explode("offsets").alias("one")
    )
    marks = commits.select(
        "file",
        F.col("one.topic").alias("topic"),
        F.col("one.partition").alias("partition"),
        (F.col("one.offset") - 1).alias("offset"),
        F.lit(1).alias("is_commit"),
        "committed",
    )
    records = consumed.select(
        "file", "topic", "partition", "offset", "message_id", "consumer", "text"
    ).distinct()
    both = records.withColumn("is_commit", F.lit(0)).unionByName(marks, allowMissingColumns=True)
    following = (
        Window.partitionBy("file", "topic", "partition")
        .orderBy("offset", "is_commit")
        .rowsBetween(0, Window.unboundedFollowing)
    )
    acked = both.withColumn("ts", F.min("committed").over(following))
    return acked.filter("is_commit = 0 and ts is not null").select(
        F.col("ts").cast("string").alias("ts"),
        F.lit(ACK).alias("kind"),
        *(name for name in _RAW if name not in ("ts", "kind")),
    )
