"""What the tasks of an audit count in NumPy, without Spark: repeated keys, chosen rows, and losses."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest

from spark_reports.audit.generate.logs import EPOCH_US
from spark_reports.audit.numbered import counts, grouping, lost, selection
from spark_reports.audit.numbered.keys import KeySet


class Row(NamedTuple):
    """A row as a scan reads it."""

    partition: str
    key: int
    kind: str = "Deliver"
    subscription: str | None = "billing"
    at_us: int = EPOCH_US


def feed_of(rows: Sequence[Row]) -> pa.RecordBatch:
    """A batch of rows."""
    count = len(rows)
    columns = {
        "at_us": pa.array([row.at_us for row in rows]),
        "code": pa.array([3] * count, pa.int8()),
        "key": pa.array([row.key for row in rows]),
        "kind": pa.array([row.kind for row in rows]),
        "cluster": pa.array([None] * count, pa.string()),
        "topic": pa.array([" orders"] * count),
        "partition": pa.array([row.partition for row in rows]),
        "subscription": pa.array([row.subscription for row in rows], pa.string()),
        "consumer": pa.array(["c"] * count),
        "delivery_count": pa.array([1] * count),
    }
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


KINDS = {"deliver": "deliver", "publish": "publish", "ack": "ack"}
BASES = [[0], [0, 1 << 32, 1 << 45], [-(1 << 62), 1 << 62]]
"""Keys are dense, in several dense ranges, or sparse over all integers."""


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


@pytest.mark.parametrize("bases", BASES)
@pytest.mark.parametrize("by_position", [False, True])
def test_publishes_without_a_delivery_are_found_from_parts(bases: list[int], by_position: bool) -> None:
    """Key 3 of partition b is published twice: its first instant counts.

    Two messages are published at each instant: billing receives 21, but not 20 of the same instant.
    """
    draw = random.Random(7)
    step = 1 << 50 if bases[0] else 1
    keys = [draw.choice(bases) + step * place for place in range(600)]
    rows = [Row("b", key, "publish", None, EPOCH_US + place // 2) for place, key in enumerate(keys)]
    rows.append(Row("b", keys[3], "publish", None, EPOCH_US + 9_999_999))
    for name, low, high in (("billing", 20, 500), ("audit", 0, 600)):
        for place in range(low, high):
            if place != 20 and (draw.random() < 0.8 or place in (3, 21)):
                rows += [
                    Row("b", keys[place], kind, name)
                    for kind in draw.choice([["deliver"], ["deliver", "ack"]])
                ]
            elif place != 20 and draw.random() < 0.3:
                rows.append(Row("b", keys[place], "ack", name))
    rows.append(Row("c", keys[501], "deliver", "billing"))  # another message if a position identifies it
    draw.shuffle(rows)
    scan = lost.LossScan(KINDS, False, 20, by_position)
    parts = [part for half in (rows[:700], rows[700:]) for part in scan(iter([feed_of(half)]))]
    got = pa.Table.from_batches(list(lost.not_delivered(iter(parts)))).to_pylist()
    assert sorted(one["subscription"] for one in got) == ["audit", "billing"]
    for one in got:
        assert one == {**one, **recounted(keys, rows, one["subscription"], by_position)}


def recounted(keys: list[int], rows: list[Row], name: str, by_position: bool) -> dict[str, int]:
    own = [row for row in rows if row.subscription == name and (row.partition == "b" or not by_position)]
    delivered = {row.key for row in own if row.kind == "deliver"}
    acked = {row.key for row in own if row.kind == "ack"}
    places = [place // 2 for place, key in enumerate(keys) if key in delivered]
    missing = [place // 2 for place, key in enumerate(keys) if key not in delivered | acked]
    return {
        "published": len(keys),
        "received": len(delivered),
        "acked_only": len(acked - delivered),
        "before": sum(place <= places[0] for place in missing),
        "between": sum(places[0] < place < places[-1] for place in missing),
        "after": sum(place >= places[-1] for place in missing),
    }


def test_a_topic_without_deliveries_has_no_reader_and_one_without_publishes_no_figures() -> None:
    rows = [Row("a", 1, "publish", None), Row("a", 1, "ack", "billing")]
    scan = lost.LossScan(KINDS, False, 9, False)
    assert not pa.Table.from_batches(list(lost.not_delivered(scan(iter([feed_of(rows)]))))).num_rows
    assert not pa.Table.from_batches(list(lost.not_delivered(scan(iter([feed_of([Row("a", 1)])]))))).num_rows


def test_a_column_with_too_many_values_is_refused_inside_the_task() -> None:
    rows = [Row(str(number), number) for number in range(11)]
    with pytest.raises(ValueError, match=grouping.GROUPS_MARK):
        list(counts.FirstScan({}, False, 10)(iter([feed_of(rows)])))
