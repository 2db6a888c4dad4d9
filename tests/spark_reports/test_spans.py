"""The few ranges that contain all values of a column: every value is in one, and there are few."""

from __future__ import annotations

import random
from typing import Any

from pyspark.sql import functions as F

from spark_reports import transforms


def test_the_least_gaps_are_joined() -> None:
    parts = [(90, 99), (0, 9), (12, 19), (50, 60)]
    assert transforms.merged(parts, 4) == [(0, 9), (12, 19), (50, 60), (90, 99)]
    assert transforms.merged(parts, 3) == [(0, 19), (50, 60), (90, 99)]
    assert transforms.merged(parts, 2) == [(0, 19), (50, 99)]
    assert transforms.merged(parts, 1) == [(0, 99)]
    assert transforms.merged([], 3) == []
    assert transforms.merged([(1, 1), (3, 3), (1000, 1000), (1100, 1100)], 3) == [
        (1, 3),
        (1000, 1000),
        (1100, 1100),
    ]
    assert transforms.merged([(0, 10), (12, 500), (530, 531)], 2) == [(0, 500), (530, 531)]


def test_every_value_is_within_at_most_sixteen_spans(spark: Any) -> None:
    draw = random.Random(3)
    values = sorted(
        {draw.randrange(10_000_000) for _ in range(200)} | {0, transforms.CELL - 1, transforms.CELL}
    )
    frame = spark.createDataFrame([(value,) for value in values], "number long")
    found = transforms.spans_of(frame, "number")
    assert len(found) == transforms.SPANS_MOST and (found[0][0], found[-1][1]) == (values[0], values[-1])
    everything = spark.range(10_000_000).select(F.col("id").alias("number"))
    inside = everything.filter(transforms.within("number", found))
    assert inside.join(frame, "number").count() == len(values)
    assert inside.count() == sum(greatest - least + 1 for least, greatest in found) < 10_000_000


def test_no_span_holds_nothing(spark: Any) -> None:
    assert transforms.spans_of(spark.range(0), "id") == []
    assert spark.range(5).filter(transforms.within("id", [])).count() == 0
