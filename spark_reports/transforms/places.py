"""Positions and instants as single integers, and conditions on rows.

Rules: a place is `ledger * 2^32 + entry`, so places of one log compare as positions do. Entry -1 is before
the first. A row is earlier than another when its seq is smaller. Instants are only for display and for
latencies.
"""

from __future__ import annotations

from pyspark.sql import Column
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
