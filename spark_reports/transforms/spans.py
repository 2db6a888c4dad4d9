"""Spans of numbers: the few ranges that contain all values of a column, to skip parts of a trace.

Rules: a trace's file is sorted by seq, and a producer's messages by sequence id. So a condition on ranges of
either lets Spark skip most of a long file, by the least and greatest value of each row group. A span is
(least, greatest). Every value is in one, and other numbers may be, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

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
