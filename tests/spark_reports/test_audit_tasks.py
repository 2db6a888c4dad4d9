"""What the tasks of an audit count in NumPy, without Spark: repeated keys and chosen rows."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from spark_reports.audit.generate.logs import EPOCH_US
from spark_reports.audit.numbered import counts, grouping, selection
from spark_reports.audit.numbered.keys import KeySet
from tests.spark_reports.audit_rows import BASES, KINDS, Row, feed_of


def deliveries(bases: list[int]) -> list[Row]:
    draw = random.Random(5)
    step = 1 << 50 if bases[0] else 1
    keys = [draw.choice(bases) + step * draw.randrange(2000) for _ in range(9000)]
    return [Row(draw.choice("abc"), key, at_us=EPOCH_US + place) for place, key in enumerate(keys)]


def first_scan(tasks: list[list[list[Row]]]) -> list[dict[str, Any]]:
    """The joined result of tasks with their batches."""
    scan = counts.FirstScan(KINDS, False, 10)
    parts = [part for task in tasks for part in scan(feed_of(batch) for batch in task)]
    return pa.Table.from_batches(list(counts.joined(iter(parts)))).to_pylist()


@pytest.mark.parametrize("bases", BASES)
def test_repeated_keys_are_found_within_and_between_batches_and_tasks(
    bases: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grouping, "BATCH_ROWS", 2000)
    rows = deliveries(bases)
    found = first_scan([[rows[:2000]], [rows[2000:2001], rows[2001:6000], rows[6000:]]])
    sets = {one["partition"]: one for one in found if one["shape"] == -1}
    counted = Counter((row.partition, row.key) for row in rows)
    for name, own in sets.items():
        keys = [key for partition, key in counted if partition == name]
        again = np.frombuffer(own["again"], np.int64).tolist()
        assert sorted(again) == sorted(key for key in keys if counted[name, key] > 1)
        assert (own["messages"], own["lines"]) == (len(keys), sum(row.partition == name for row in rows))
    spans = {one["partition"]: one for one in found if one["shape"] != -1}
    for name, own in spans.items():
        at_us = [row.at_us for row in rows if row.partition == name]
        assert (own["lines"], own["first_us"], own["last_us"]) == (len(at_us), at_us[0], at_us[-1])
    assert sets.keys() == spans.keys() == set("abc")


def test_repeats_of_a_dense_part_are_kept_beside_a_sparse_one() -> None:
    """Key 7 is in several rows of the dense part only, 0 in one row of each part."""
    parts = [[*range(100), 7, 7], [number << 50 for number in range(100)], [3 << 50, 150]]
    own = KeySet()
    for part in parts:
        own.add(np.array(part, np.uint64))
    counted = Counter(key for part in parts for key in part)
    messages, again = own.counted()
    assert (own.lines, messages) == (sum(counted.values()), len(counted))
    assert again.tolist() == [0, 7, 3 << 50]


@pytest.mark.parametrize("bases", BASES)
def test_rows_of_repeated_keys_are_chosen_and_of_one_message_in_seven(bases: list[int]) -> None:
    rows = deliveries(bases)
    sets = [one for one in first_scan([[rows]]) if one["shape"] == -1]
    places = {("billing", "orders", one["partition"], ""): one["again"] for one in sets}
    scan = selection.SecondScan(KINDS, False, 10, places, 7)
    more = [Row("a", row.key, "ack") for row in rows[:50]] + [Row("a", row.key, "publish") for row in rows]
    chosen = pa.Table.from_batches(list(scan(iter([feed_of([*rows, *more])])))).to_pylist()
    counted = Counter((row.partition, row.key) for row in rows)
    expected = Counter(
        (row.partition, row.key, row.kind.lower())
        for row in [*rows, *more]
        if row.kind != "publish" and counted[row.partition, row.key] > 1
    )
    assert expected == Counter(
        (one["partition"], int(one["key"]), one["kind"]) for one in chosen if one["again"]
    )
    keys = {int(one["key"]) for one in chosen if one["measured"]}
    everything = {row.key for row in rows}
    assert len(everything) / 14 < len(keys) < len(everything) / 3.5
    measured = sum(one["measured"] for one in chosen)
    assert measured == sum(row.key in keys for row in [*rows, *more])
    assert all(one["topic"] == "orders" and one["cluster"] == "" for one in chosen)


def test_a_column_with_too_many_values_is_refused_inside_the_task() -> None:
    rows = [Row(str(number), number) for number in range(11)]
    with pytest.raises(ValueError, match=grouping.GROUPS_MARK):
        list(counts.FirstScan({}, False, 10)(iter([feed_of(rows)])))
