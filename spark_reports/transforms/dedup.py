"""The dedup window: how many recent ids, and what span, an idempotent consumer must remember so that no duplicate gets through.

Rules: an id is remembered when it is acknowledged, wherever; again makes it recent again. So the ids that count between a
duplicate's acknowledgement and its delivery are the acknowledgements in between less those repeated in between. Pairs of
an acknowledgement and its repeat are counted by blocks of seq, so no join meets every pair with every duplicate.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

_OF = ("run", "subscription")
BLOCKS_MOST = 512
BLOCK_ROWS_LEAST = 8192


def block_rows(rows_of_longest_run: int) -> int:
    """Rows of the trace per block: at most `BLOCKS_MOST` blocks a run, and few for a short one."""
    return max(BLOCK_ROWS_LEAST, rows_of_longest_run // BLOCKS_MOST + 1)


def dedup_windows(judged: DataFrame, handled: DataFrame, block_rows: int) -> DataFrame:
    """run, failover_seq, dedup_messages, dedup_us."""
    wanted = judged.filter(F.col("verdict") == "duplicate").select(
        *_OF, "failover_seq", F.col("ack_seq").alias("first"), F.col("seq").alias("last"), (F.col("at_us") - F.col("ack_us")).alias("span_us"),
        (F.col("acks_so_far") - F.col("ack_number") + 1).alias("acks_between"),
    )  # fmt: skip
    pairs = repeated(handled)
    wanted = _with_blocks(wanted, "first", "last", block_rows)
    pairs = _with_blocks(pairs, "early", "late", block_rows)
    far, near = _far(wanted, pairs), _near(wanted, pairs)
    told = wanted.join(far, [*_OF, "first_block", "last_block"], "left").join(near, [*_OF, "last"], "left")
    repeats = F.coalesce("far", F.lit(0)) + F.coalesce("near", F.lit(0))
    return told.groupBy("run", "failover_seq").agg(
        F.max(F.col("acks_between") - repeats).alias("dedup_messages"), F.max("span_us").alias("dedup_us")
    ).select("run", "failover_seq", "dedup_messages", "dedup_us")  # fmt: skip


def repeated(handled: DataFrame) -> DataFrame:
    """Acknowledgements that were repeated: run, subscription, early (its seq), late (the next one's)."""
    following = F.lead("seq").over(Window.partitionBy(*_OF, "producer", "sequence_id").orderBy("seq"))
    acks = handled.filter(F.col("type") == "message.acknowledged").withColumn("late", following)
    return acks.filter(F.col("late").isNotNull()).select(*_OF, F.col("seq").alias("early"), "late")


def _with_blocks(frame: DataFrame, first: str, last: str, block_rows: int) -> DataFrame:
    return frame.withColumns({f"{name}_block": F.floor(F.col(name) / block_rows) for name in (first, last)})


def _far(wanted: DataFrame, pairs: DataFrame) -> DataFrame:
    """Pairs whose blocks lie wholly inside, by the blocks of a span."""
    cells = pairs.groupBy(*_OF, "early_block", "late_block").agg(F.count("*").alias("pairs"))
    spans = wanted.select(*_OF, "first_block", "last_block").distinct()
    inside = (F.col("early_block") > F.col("first_block")) & (F.col("late_block") < F.col("last_block"))
    met = spans.join(cells, list(_OF), "inner").filter(inside)
    return met.groupBy(*_OF, "first_block", "last_block").agg(F.sum("pairs").alias("far"))


def _near(wanted: DataFrame, pairs: DataFrame) -> DataFrame:
    """Pairs that share their early block with a span's first or their late block with its last, one by one."""
    spans = wanted.select(*_OF, "first", "last", "first_block", F.explode(F.array(
        F.struct(F.lit(True).alias("begins"), F.col("first_block").alias("block")), F.struct(F.lit(False).alias("begins"), F.col("last_block").alias("block")),
    )).alias("at")).select(*_OF, "first", "last", "first_block", "at.begins", "at.block")  # fmt: skip
    ends = pairs.select(*_OF, "early", "late", "early_block", F.explode(F.array(
        F.struct(F.lit(True).alias("begins"), F.col("early_block").alias("block")), F.struct(F.lit(False).alias("begins"), F.col("late_block").alias("block")),
    )).alias("at")).select(*_OF, "early", "late", "early_block", "at.begins", "at.block")  # fmt: skip
    met = spans.join(ends, [*_OF, "begins", "block"], "inner")
    inside = (F.col("early") >= F.col("first")) & (F.col("late") < F.col("last"))
    once = F.col("begins") | (F.col("early_block") > F.col("first_block"))
    return met.filter(inside & once).groupBy(*_OF, "last").agg(F.count("*").alias("near"))
