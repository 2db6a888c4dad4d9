"""Published messages that a subscription never received, as tasks find them in NumPy, without Spark."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from spark_reports.audit.generate.logs import EPOCH_US
from spark_reports.audit.numbered import lost
from tests.spark_reports.audit_rows import BASES, KINDS, Row, feed_of


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
        assert one["topic"] == "orders"
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


def test_a_reader_that_received_other_messages_only_missed_all_from_the_first_on() -> None:
    rows = [Row("a", key, "publish", None) for key in (1, 2, 3)]
    rows += [Row("a", 9), Row("a", 2, "ack")]
    (one,) = pa.Table.from_batches(
        list(lost.not_delivered(lost.LossScan(KINDS, False, 9, False)(iter([feed_of(rows)]))))
    ).to_pylist()
    assert tuple(one[name] for name in lost.FIGURES) == (3, 0, 1, 2, 0, 0)
