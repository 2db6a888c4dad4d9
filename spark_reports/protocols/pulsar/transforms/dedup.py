"""The dedup window: how many recent ids, and what span, an idempotent consumer must keep.

Rules: an id is stored when it is acknowledged in any cluster. A repeated acknowledgement makes it recent
again. So the ids that count between a duplicate's acknowledgement and its delivery are the acknowledgements
in between minus those repeated in between. Both are counted by blocks of seq: no task sorts a whole trace,
only blocks that contain a duplicate's end are searched, and no join compares every repeated acknowledgement
with every duplicate.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark_reports.transforms.places import is_type

_OF = ("run", "subscription")
BLOCKS_MOST = 512
BLOCK_ROWS_LEAST = 8192


def block_rows(rows_of_longest_run: int) -> int:
    """Rows of the trace per block: at most `BLOCKS_MOST` blocks per run, and few for a short one."""
    return max(BLOCK_ROWS_LEAST, rows_of_longest_run // BLOCKS_MOST + 1)


def ends(duplicates: DataFrame, block_rows: int) -> DataFrame:
    """The rows between which ids count: duplicates' acknowledgements and deliveries.

    Columns: run, subscription, seq, seq_block.
    """
    each = duplicates.select(*_OF, F.explode(F.array("ack_seq", "seq")).alias("seq")).distinct()
    return _with_blocks(each, "seq", block_rows=block_rows)


def dedup_windows(
    duplicates: DataFrame, counted: DataFrame, repeated: DataFrame, block_rows: int
) -> DataFrame:
    """The dedup window of each failover: run, failover_seq, dedup_messages, dedup_us.

    `repeated`: run, subscription, early, late.
    """
    wanted = duplicates.select(
        *_OF,
        "failover_seq",
        F.col("ack_seq").alias("first"),
        F.col("seq").alias("last"),
        (F.col("at_us") - F.col("ack_us")).alias("span_us"),
    )
    wanted = _with_blocks(wanted, "first", "last", block_rows=block_rows)
    pairs = _with_blocks(repeated, "early", "late", block_rows=block_rows)
    firsts, lasts = (
        counted.withColumnsRenamed({"seq": end, "acks": f"acks_{end}"}) for end in ("first", "last")
    )
    found = (
        wanted.join(firsts, [*_OF, "first"], "inner")
        .join(lasts, [*_OF, "last"], "inner")
        .join(_far(wanted, pairs), [*_OF, "first_block", "last_block"], "left")
        .join(_near(wanted, pairs), [*_OF, "last"], "left")
    )
    between = F.col("acks_last") - F.col("acks_first") + 1
    repeats = F.coalesce("far", F.lit(0)) + F.coalesce("near", F.lit(0))
    return (
        found.groupBy("run", "failover_seq")
        .agg(F.max(between - repeats).alias("dedup_messages"), F.max("span_us").alias("dedup_us"))
        .select("run", "failover_seq", "dedup_messages", "dedup_us")
    )


def counted(ends: DataFrame, blocks: DataFrame, near: DataFrame, block_rows: int) -> DataFrame:
    """How many acknowledgements the subscription had up to each of `ends`.

    `blocks` has the number of each block, `near` at least the rows of the blocks of `ends`. Columns: run,
    subscription, seq, acks.
    """
    close = _with_blocks(
        near.filter(is_type("message.acknowledged")).select(*_OF, "seq"), "seq", block_rows=block_rows
    )
    earlier = Window.partitionBy(*_OF).orderBy("seq_block").rowsBetween(Window.unboundedPreceding, -1)
    whole = blocks.groupBy(*_OF, "seq_block").agg(F.sum("acks").alias("acks"))
    totals = whole.select(
        *_OF, "seq_block", F.coalesce(F.sum("acks").over(earlier), F.lit(0)).alias("acks_before")
    )
    inside = close.join(
        F.broadcast(ends.select(*_OF, "seq_block").distinct()), [*_OF, "seq_block"], "leftsemi"
    )
    merged = inside.withColumn("acks", F.lit(1)).unionByName(ends.withColumn("acks", F.lit(0)))
    # a range frame, so an end that is an acknowledgement counts itself
    of_block = Window.partitionBy(*_OF, "seq_block").orderBy("seq")
    counted = merged.withColumn("acks_inside", F.sum("acks").over(of_block)).filter(F.col("acks") == 0)
    return counted.join(totals, [*_OF, "seq_block"], "left").select(
        *_OF, "seq", (F.coalesce("acks_before", F.lit(0)) + F.col("acks_inside")).alias("acks")
    )


def _with_blocks(frame: DataFrame, *names: str, block_rows: int) -> DataFrame:
    return frame.withColumns({f"{name}_block": F.floor(F.col(name) / block_rows) for name in names})


def _far(wanted: DataFrame, pairs: DataFrame) -> DataFrame:
    """The number of pairs whose blocks are strictly between the blocks of a span."""
    cells = pairs.groupBy(*_OF, "early_block", "late_block").agg(F.count("*").alias("pairs"))
    spans = wanted.select(*_OF, "first_block", "last_block").distinct()
    inside = (F.col("early_block") > F.col("first_block")) & (F.col("late_block") < F.col("last_block"))
    met = spans.join(cells, list(_OF), "inner").filter(inside)
    return met.groupBy(*_OF, "first_block", "last_block").agg(F.sum("pairs").alias("far"))


def _near(wanted: DataFrame, pairs: DataFrame) -> DataFrame:
    """The number of pairs inside a span whose early block is its first, or late block its last.

    They are compared one by one.
    """
    spans = wanted.select(
        *_OF,
        "first",
        "last",
        "first_block",
        F.explode(
            F.array(
                F.struct(F.lit(True).alias("begins"), F.col("first_block").alias("block")),
                F.struct(F.lit(False).alias("begins"), F.col("last_block").alias("block")),
            )
        ).alias("at"),
    ).select(*_OF, "first", "last", "first_block", "at.begins", "at.block")
    ends = pairs.select(
        *_OF,
        "early",
        "late",
        "early_block",
        F.explode(
            F.array(
                F.struct(F.lit(True).alias("begins"), F.col("early_block").alias("block")),
                F.struct(F.lit(False).alias("begins"), F.col("late_block").alias("block")),
            )
        ).alias("at"),
    ).select(*_OF, "early", "late", "early_block", "at.begins", "at.block")
    met = spans.join(ends, [*_OF, "begins", "block"], "inner")
    inside = (F.col("early") >= F.col("first")) & (F.col("late") < F.col("last"))
    once = F.col("begins") | (F.col("early_block") > F.col("first_block"))
    return met.filter(inside & once).groupBy(*_OF, "last").agg(F.count("*").alias("near"))
