"""Positions and instants as single integers, and conditions on rows.

Rules: a place is `ledger * 2^32 + entry`, so places of one log compare as positions do. Entry -1 is before
the first. A row is earlier than another when its seq is smaller. Instants are only for display and for
latencies.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

LEDGER_STEP = 1 << 32
NEVER = (1 << 62) - 1
"""A seq or instant later than every other."""

MESSAGE = ("run", "producer", "sequence_id")
FAILOVER = ("run", "failover_seq")


def place(ledger: str = "ledger", entry: str = "entry") -> Column:
    """The position in the two columns as one integer; null when there is none."""
    return F.col(ledger) * F.lit(LEDGER_STEP) + F.col(entry)


def is_type(*names: str) -> Column:
    """Whether the row has one of the event types."""
    return F.col("type").isin(*names)


def first_seq(condition: Column, value: str = "seq") -> Column:
    """The least value among the rows for which the condition holds; null when there is none."""
    return F.min(F.when(condition, F.col(value)))


def base_topic(topic: str = "topic") -> Column:
    """The topic as the scenario names it, without its partition."""
    return F.regexp_replace(F.col(topic), "-partition-[0-9]+$", "")


def by_bin(things: DataFrame, place: tuple[str, ...], came: str, left: str, bins: DataFrame) -> DataFrame:
    """How many items of a place arrived and left in each bin: `place`, bin, came, left.

    Columns `came` and `left` are instants. `left` is null for an item that stays. `bins`: run, bin_us.
    """
    placed = things.join(F.broadcast(bins), "run", "inner")
    counts = [
        placed.filter(F.col(instant).isNotNull())
        .groupBy(*place, F.floor(F.col(instant) / F.col("bin_us")).alias("bin"))
        .agg(F.count("*").alias(name))
        for instant, name in ((came, "came"), (left, "left"))
    ]
    both = counts[0].join(counts[1], [*place, "bin"], "full")
    return both.select(
        *place, "bin", F.coalesce("came", F.lit(0)).alias("came"), F.coalesce("left", F.lit(0)).alias("left")
    )


# --- spans of numbers: the few ranges that contain all values of a column, to skip parts of a trace
#
# Rules: a trace's file is sorted by seq, and a producer's messages by sequence id. So a condition on ranges
# of either lets Spark skip most of a long file, by the least and greatest value of each row group. A span
# is (least, greatest). Every value is in one, and other numbers may be, too.


SPANS_MOST = 16
"""Most ranges of a condition. Each is compared with every row that is read."""
CELL = 4096
"""Values of one cell are in one span: a row group of a trace has more messages and rows."""

Span = tuple[int, int]


def spans_of(frame: DataFrame, name: str) -> list[Span]:
    """At most `SPANS_MOST` spans that contain every value of the column."""
    cells = frame.groupBy(F.floor(F.col(name) / CELL).alias("cell")).agg(
        F.min(name).alias("least"), F.max(name).alias("greatest")
    )
    return merged(((row.least, row.greatest) for row in cells.collect()), SPANS_MOST)


def merged(spans: Iterable[Span], most: int) -> list[Span]:
    """The spans in order, those with the least gaps between them joined until there are at most `most`."""
    ordered = sorted(spans)
    gaps = sorted(
        range(1, len(ordered)), key=lambda place: ordered[place][0] - ordered[place - 1][1], reverse=True
    )
    cuts = [0, *sorted(gaps[: most - 1]), len(ordered)]
    return [
        (ordered[start][0], ordered[end - 1][1])
        for start, end in zip(cuts, cuts[1:], strict=False)
        if start < end
    ]


def within(name: str, spans: Iterable[Span]) -> Column:
    """Whether the column is in one of the spans."""
    return reduce(or_, (F.col(name).between(*span) for span in spans), F.lit(False))
