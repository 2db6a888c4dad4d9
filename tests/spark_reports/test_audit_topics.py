"""Labels of topics, partitions and ids that differ between logs, and what an audit makes of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spark_reports.audit.job import Audit
from spark_reports.audit.labels import partly_labelled, place_of, regrouped, renamed
from spark_reports.audit.mapping import Mapping, mapping_of

START_US = 1_700_000_000_000_000
SHOP = "persistent://shop/prod/orders"
HEARD = [("west", "deliver", n, n) for n in range(4)] + [("west", "ack", n, 10 + n) for n in range(3)]
HEARD += [("east", "deliver", n, 20 + n) for n in range(2, 6)]
"""Cluster, kind, message and second: east receives 2 and 3 again, 2 after its acknowledgement."""


@pytest.mark.parametrize(
    ("labels", "place"),
    [
        (("persistent://public/default/orders", ""), ("orders", "")),
        (("orders-partition-3", ""), ("orders", "3")),
        ((f"{SHOP}-partition-3", "3"), ("shop/prod/orders", "3")),
        (("shop/prod/orders", "shop/prod/orders-partition-0"), ("shop/prod/orders", "0")),
        (("persistent/shop/prod/orders", "-1"), ("shop/prod/orders", "")),
        (("shop/prod/persistent/orders-partition-12", ""), ("shop/prod/orders", "12")),
        (
            ("persistent://shop/us-west/prod/orders-partition-1", ""),
            ("persistent://shop/us-west/prod/orders", "1"),
        ),
        (("non-persistent://shop/prod/orders", "2.0"), ("non-persistent://shop/prod/orders", "2")),
        (("orders-partition-03", ""), ("orders-partition-03", "")),
        (("orders-partition-2147483648", ""), ("orders-partition-2147483648", "")),
        (("orders-partition-3", "4"), ("orders-partition-3", "4")),
        (("sensors/hall/1/temperature", "x"), ("sensors/hall/1/temperature", "x")),
        (("", ""), ("", "")),
    ],
)
def test_names_are_the_same_by_pulsars_rules(labels: tuple[str, str], place: tuple[str, str]) -> None:
    assert place_of(*labels) == place == place_of(*place)


def row(cluster: str, kind: str, message: int, second: int, **more: Any) -> dict[str, Any]:
    return {
        "ts": START_US + second * 1_000_000,
        "kind": kind,
        "message_id": f"o-{message}",
        "cluster": cluster,
        "subscription": None if kind == "publish" else "billing",
        **more,
    }


def audited(
    spark: Any, folder: Path, rows: list[dict[str, Any]], form: str, text: str = ""
) -> dict[str, Any]:
    """The audit of rows as JSON Lines, or as Parquet that tasks read ("ids" with integers for ids)."""
    folder.mkdir(exist_ok=True)
    if form == "jsonl":
        path = folder / "log.jsonl"
        path.write_text("\n".join(map(json.dumps, rows)))
    else:
        path = folder / "log.parquet"
        names = {name: None for one in rows for name in one}
        made = {name: [one.get(name) for one in rows] for name in names}
        if form == "ids":
            made["message_id"] = [int(one.removeprefix("o-")) for one in made["message_id"]]
        pq.write_table(pa.table(made), path)
    mapping = mapping_of("format: 1\n" + text, "m.yaml") if text else Mapping()
    audit = Audit(spark, [str(path)], folder / f"out-{form}", mapping)
    report = audit.make()
    assert (audit.scans is not None) == (form != "jsonl")
    return report


def repeated(report: dict[str, Any]) -> tuple[int, int]:
    """Messages that were received in several clusters, and duplicates."""
    groups = report["groups"]
    return sum(one["in_several_clusters"] for one in groups), sum(one["duplicates"] or 0 for one in groups)


def codes(report: dict[str, Any]) -> dict[str, int]:
    usual = {"no_publishes", "no_acks", "no_topic"}
    return {one["code"]: one["count"] for one in report["findings"] if one["code"] not in usual}


@pytest.mark.parametrize("form", ["jsonl", "texts", "ids"])
def test_the_same_topic_under_two_names_is_one(spark: Any, tmp_path: Path, form: str) -> None:
    """West logs the partition's full name, east a short name and the partition; publishes have no partition."""
    labels = {"west": {"topic": f"{SHOP}-partition-3"}, "east": {"topic": "shop/prod/orders", "partition": 3}}
    rows = [row("west", "publish", n, n - 1, topic=SHOP, partition=None) for n in range(6)]
    rows += [row(*one, **{"partition": None, **labels[one[0]]}) for one in HEARD]
    report = audited(spark, tmp_path, rows, form, "complete: true\n")
    (group,) = report["groups"]
    assert (group["topic"], group["partition"], group["messages"]) == ("shop/prod/orders", "3", 6)
    assert repeated(report) == (2, 1) and codes(report) == {}
    (losses,) = report["losses"]
    assert (losses["published"], losses["received"], losses["lost"]) == (6, 6, 0)


@pytest.mark.parametrize("form", ["jsonl", "texts", "ids"])
def test_a_partition_in_one_log_only_is_left_out_where_ids_are_unique(
    spark: Any, tmp_path: Path, form: str
) -> None:
    parts = {"west": 3, "east": None}
    rows = [row(*one, topic="orders", partition=parts[one[0]]) for one in HEARD]
    rows += [row("west", "deliver", 9, 9, topic="orders", partition=4)]
    report = audited(spark, tmp_path, rows, form)
    (group,) = report["groups"]
    assert (group["partition"], group["messages"]) == ("", 7)
    assert repeated(report) == (2, 1) and codes(report) == {"partitions_missing": 4}
    # id 3 in two partitions: it is not known which of them east received
    rows.append(row("west", "deliver", 3, 11, topic="orders", partition=4))
    report = audited(spark, tmp_path, rows, form)
    assert {one["partition"] for one in report["groups"]} == {"", "3", "4"}
    assert repeated(report) == (0, 0) and codes(report)["partitions_not_matched"] == 4


def test_names_that_the_rules_do_not_match_are_findings(spark: Any, tmp_path: Path) -> None:
    """Old names with clusters, a prefix of a mirror, and a log without topics."""
    pairs = [
        ("persistent://shop/us-west/prod/orders", "persistent://shop/us-east/prod/orders"),
        ("orders", "west.orders"),
        ("orders", None),
    ]
    for number, (west, east) in enumerate(pairs):
        rows = [row(*one, topic={"west": west, "east": east}[one[0]]) for one in HEARD]
        report = audited(spark, tmp_path / str(number), rows, "jsonl")
        assert repeated(report)[0] == 0 and codes(report)["topics_not_matched"] == 2
    rows = [row("west", "publish", n, n - 1, topic="x.orders") for n in range(6)]
    rows += [row(*one, topic="orders" if one[1] == "deliver" else "acks") for one in HEARD]
    report = audited(spark, tmp_path / "kinds", rows, "jsonl")
    assert {"publishes_not_matched": 6, "acks_not_matched": 3}.items() <= codes(report).items()


def overview(
    kind: str, topic: str | None, partition: str | None, rows: int, cluster: str = "west"
) -> dict[str, Any]:
    return {
        "kind": kind,
        "cluster": cluster,
        "subscription": "billing",
        "topic": topic,
        "partition": partition,
        "unit": "us",
        "problem": None,
        "rows": rows,
        "first_us": rows,
        "last_us": rows,
        "scoped": 0,
    }


def test_groups_are_joined_when_their_labels_are_the_same() -> None:
    seen = [
        overview("deliver", SHOP, None, 2),
        overview("deliver", "shop/prod/orders", "-1", 5),
        overview("ack", None, None, 1),
    ]
    places = renamed(seen)
    joined = regrouped(seen, places)
    assert [(one["topic"], one["partition"], one["rows"]) for one in joined] == [
        ("shop/prod/orders", None, 7),
        (None, None, 1),
    ]
    assert (joined[0]["first_us"], joined[0]["last_us"]) == (2, 5)
    mixed = [overview("deliver", "t", "1", 2), overview("publish", "t", None, 3)]
    assert partly_labelled(mixed, by_position=False) == {}
    assert partly_labelled(mixed, by_position=True) == {"t": 3}
    mixed[1]["scoped"] = 3  # these have positions only
    assert partly_labelled(mixed, by_position=False) == {"t": 3}


def test_a_suffix_that_contradicts_the_partition_is_a_finding(spark: Any, tmp_path: Path) -> None:
    rows = [row(*one, topic="orders-partition-3", partition=7) for one in HEARD]
    report = audited(spark, tmp_path, rows, "jsonl")
    assert report["groups"][0]["topic"] == "orders-partition-3"
    assert codes(report) == {"partitions_differ": 11}


PARTS = "columns: {ts: ts, kind: kind, cluster: cluster, subscription: subscription, message_id: [producer, sequence_id]}\n"


@pytest.mark.parametrize("form", ["jsonl", "texts", "csv"])
def test_an_id_of_several_columns(spark: Any, tmp_path: Path, form: str) -> None:
    """Two producers have the same numbers; a name with the separator is no other message's id."""
    rows = []
    for name in ("p", "q", "p/2"):
        for one in HEARD:
            made = row(*one, producer=name, sequence_id=one[2])
            del made["message_id"]
            rows.append(made)
    rows.append({**rows[0], "producer": None, "ts": START_US})
    if form == "csv":
        names = list(rows[0])
        lines = [
            names,
            *([str(one[name]) if one[name] is not None else "" for name in names] for one in rows),
        ]
        (tmp_path / "log.csv").write_text("\n".join(map(",".join, lines)) + "\n")
        report = Audit(
            spark, [str(tmp_path)], tmp_path / "out", mapping_of("format: 1\n" + PARTS, "m")
        ).make()
    else:
        report = audited(spark, tmp_path, rows, form, PARTS)
    (group,) = report["groups"]
    assert group["messages"] == 18 and repeated(report) == (6, 3)
    assert report["unreadable"]["reasons"] == {"it has neither message_id nor position": 1}
    assert {one["key"] for one in report["worst"]} == {"p/2", "p/3", "q/2", "q/3", "p\\/2/2", "p\\/2/3"}


def test_ids_of_several_columns_are_hashed_as_texts(spark: Any, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("spark_reports.audit.numbered.hashing.BITS", 2)  # most ids share their hash
    rows = [{**row(*one), "producer": "p", "sequence_id": one[2]} for one in HEARD]
    assert repeated(audited(spark, tmp_path, rows, "texts", PARTS)) == (2, 1)
