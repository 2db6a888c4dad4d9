"""Logs in Parquet: files read by tasks, files read by Spark, ids as integers and as text give the same audit."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import functions as F

from spark_reports.audit import rows as spark_rows
from spark_reports.audit.formats import tables
from spark_reports.audit.job import Audit
from spark_reports.audit.mapping import Mapping, mapping_of
from spark_reports.audit.numbered import hashing, scans
from spark_reports.audit.numbered.files import instants
from tests.oracle.audit import lost, recount
from tests.spark_reports.test_audit import START_US, failure, rows_of

COMPARED = (
    "rows",
    "span",
    "clusters",
    "groups",
    "timeline",
    "worst",
    "losses",
    "latencies",
    "processing",
    "findings",
)
COLUMNS = {
    "ts": pa.int64(),
    "kind": pa.string(),
    "cluster": pa.string(),
    "topic": pa.string(),
    "partition": pa.int32(),
    "message_id": pa.int64(),
    "subscription": pa.string(),
    "consumer": pa.string(),
}
COMPLETE = mapping_of("format: 1\ncomplete: true\nkinds: {noise: ignore}\n", "m.yaml")


def numbered(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows with integer ids: dense, and every seventh far away."""
    numbers = {name: place for place, name in enumerate(dict.fromkeys(row["message_id"] for row in rows))}
    far = {name: place + (place % 7 == 0) * (1 << 50) * place for name, place in numbers.items()}
    return [{**row, "ts": row["at_us"], "message_id": far[row["message_id"]]} for row in rows]


def bad_rows() -> list[dict[str, Any]]:
    good = {
        "ts": START_US,
        "kind": "deliver",
        "cluster": "us-west",
        "topic": "orders",
        "partition": 1,
        "message_id": 3,
        "subscription": "billing",
        "consumer": "x",
    }
    changes: list[dict[str, Any]] = [
        {"ts": None},
        {"ts": -5},
        {"ts": 5_000_000_000_000},
        {"kind": None},
        {"kind": "sneeze"},
        {"message_id": None},
        {"message_id": None, "kind": "sneeze", "ts": None},
        {"kind": "Noise"},
    ]
    return [{**good, **change} for change in changes]


def write(path: Path, rows: list[dict[str, Any]], **kinds: pa.DataType) -> None:
    columns = {
        name: pa.array([row[name] for row in rows], kind).cast(kinds.get(name, kind))
        for name, kind in COLUMNS.items()
    }
    pq.write_table(pa.table(columns), path, row_group_size=500)


def audited(spark: Any, folder: Path, name: str) -> Audit:
    audit = Audit(spark, [str(folder / name)], folder / f"{name}-out", COMPLETE)
    audit.make()
    return audit


def test_every_way_of_reading_gives_the_recount(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kinds, texts with spaces, three time units, and rows that cannot be used are in the log."""
    good = numbered(rows_of(3))
    draw = random.Random(1)
    mixed = [dict(row) for row in good]
    for row in draw.sample(mixed, len(mixed) // 3):
        row["ts"] //= 1000  # rows_of has whole milliseconds
    for row in draw.sample(mixed, len(mixed) // 3):
        row |= {"kind": f" {row['kind'].upper()}", "topic": " orders "}
    half = len(mixed) // 2
    for name, kind in (("ids", pa.int64()), ("texts", pa.string())):
        (tmp_path / name).mkdir()
        write(tmp_path / name / "a.parquet", mixed[:half], message_id=kind)
        write(tmp_path / name / "b.parquet", [*mixed[half:], *bad_rows()], message_id=kind)
    by_task = audited(spark, tmp_path, "ids")
    assert by_task.scans and scans.source_of(
        by_task.scans.raw, "message_id", COMPLETE, by_task.scans.files, consumers=True
    )
    others = [audited(spark, tmp_path, "texts")]
    monkeypatch.setattr(hashing, "BITS", 5)  # most texts share their hash with others, which only losses show
    monkeypatch.setattr(scans, "source_of", lambda *_: None)
    others.append(audited(spark, tmp_path, "texts"))
    monkeypatch.setattr(hashing, "BITS", 64)
    monkeypatch.setattr(scans, "AGAIN_MOST", 0)
    others += [audited(spark, tmp_path, name) for name in ("ids", "texts")]
    assert all(audit.scans for audit in others)
    monkeypatch.setattr(tables, "key_column", lambda *_: None)
    others.append(audited(spark, tmp_path, "texts"))
    assert others[-1].scans is None
    for number, audit in enumerate(others):
        for name in COMPARED:
            if (number, name) != (1, "losses"):
                assert audit.report[name] == by_task.report[name], name
    reasons = [audit.report["unreadable"]["reasons"] for audit in (by_task, *others)]
    assert all(one == reasons[0] for one in reasons) and sum(reasons[0].values()) == 7
    expected = recount(good)
    got = {(one["subscription"], one["topic"], one["partition"]): one for one in by_task.report["groups"]}
    assert got.keys() == expected.keys() and sum(one["duplicates"] or 0 for one in expected.values()) > 20
    for place, figures in expected.items():
        assert {key: got[place][key] for key in figures} == figures
    for one in by_task.report["losses"]:
        assert one["between"] == len(lost(good, one["subscription"])) > 0


@pytest.mark.parametrize("positions", ["per-cluster", "shared"])
def test_positions_are_counted_within_partition_and_cluster(
    spark: Any, tmp_path: Path, positions: str
) -> None:
    """Position 5 of partition 0: in two clusters, and again in the first. Position 9 is never delivered."""
    rows = [
        (0, "publish", "west", 0, 5),
        (1, "publish", "west", 0, 9),
        (1, "publish", "west", 1, 5),
        (2, "publish", "west", 0, 6),
        (3, "deliver", "west", 0, 5),
        (4, "deliver", "west", 0, 5),
        (5, "deliver", "east", 0, 5),
        (6, "deliver", "west", 0, 6),
        (7, "deliver", "west", 1, 5),
    ]
    table = {
        "ts": pa.array([START_US + row[0] * 1_000_000 for row in rows], pa.timestamp("us", "UTC")),
        "kind": [row[1] for row in rows],
        "cluster": [row[2] for row in rows],
        "partition": [row[3] for row in rows],
        "position": [row[4] for row in rows],
        "subscription": [None if row[1] == "publish" else "billing" for row in rows],
    }
    pq.write_table(pa.table(table), tmp_path / "log.parquet")
    mapping = mapping_of(
        f"format: 1\ncomplete: true\npositions: {positions}\nidentity: position\nconstants: {{topic: t}}\n",
        "m.yaml",
    )
    audit = Audit(spark, [str(tmp_path / "log.parquet")], tmp_path / "out", mapping)
    groups = {one["partition"]: one for one in audit.make()["groups"]}
    assert audit.scans is not None
    shared = positions == "shared"
    assert (groups["0"]["messages"], groups["0"]["deliveries"]) == (2 if shared else 3, 4)
    assert (groups["0"]["in_several_clusters"], groups["0"]["in_one_cluster"]) == (
        (1, 0) if shared else (0, 1)
    )
    assert (groups["1"]["messages"], groups["1"]["repeated_messages"]) == (1, 0)
    (losses,) = audit.report["losses"]
    assert {name: losses[name] for name in ("published", "received", "between", "lost")} == {
        "published": 4,
        "received": 3,
        "between": 1,
        "lost": 1,
    }


@pytest.mark.parametrize("without_id", [0, 3])
def test_rows_without_an_id_are_identified_by_their_position(
    spark: Any, tmp_path: Path, without_id: int
) -> None:
    """Every message is delivered in two clusters, at another position in each. Some rows have no id."""
    rows = [(cluster, number) for cluster in ("east", "west") for number in range(20)]
    table = {
        "ts": [START_US + place for place in range(len(rows))],
        "kind": ["deliver"] * len(rows),
        "cluster": [cluster for cluster, _ in rows],
        "message_id": ["" if number < without_id else f"order-{number}" for _, number in rows],
        "position": [f"{len(cluster)}:{number}" for cluster, number in rows],
    }
    pq.write_table(pa.table(table), tmp_path / "log.parquet")
    audit = Audit(spark, [str(tmp_path / "log.parquet")], tmp_path / "out")
    (group,) = audit.make()["groups"]
    assert (audit.scans is None) == (without_id > 0)
    assert (group["messages"], group["in_several_clusters"]) == (20 + without_id, 20 - without_id)


TEXTS = st.lists(st.text("ab \té\0", max_size=20) | st.none(), max_size=40)


@given(TEXTS, st.integers(0, 40), st.integers(0, 40))
def test_hashes_depend_on_the_text_only(texts: list[str | None], first: int, end: int) -> None:
    """Neither on the texts beside it nor on its place; different texts have different ones here."""
    keys = hashing.usable_keys(pa.array(texts, pa.string()))
    assert keys.to_pylist() == [(text or "").strip(" ") or None for text in texts]
    found = hashing.key_numbers(keys).tolist()
    assert hashing.key_numbers(keys[first:end]).tolist() == found[first:end]
    alone = {key: int(hashing.key_numbers(pa.array([key], pa.string()))[0]) for key in keys.to_pylist()}
    assert found == [alone[key] for key in keys.to_pylist()]
    assert len(set(alone.values())) == len(alone)


def test_hashes_of_a_million_ids_differ() -> None:
    for pattern in ("order-{}", "{}:7:0", "0193f0c2-{:07}-7abc"):
        keys = pa.array([pattern.format(number) for number in range(1_000_000)])
        assert len(np.unique(hashing.key_numbers(keys))) == len(keys)


@pytest.mark.parametrize("unit", ["auto", "s", "ms", "us", "ns"])
def test_tasks_read_instants_as_spark_does(spark: Any, unit: str) -> None:
    edges = [10**11, 10**14, 10**17, 4_102_444_800, 4_102_444_800_000, 2**63 // 1000, 2**63 // 10**6]
    numbers = [None, 0, -1, 1_767_225_600_123_456_999, 1_767_225_600_123_457_000, 4_102_444_800_000_000_999]
    numbers += [edge + more for edge in edges for more in (-1, 0, 1)]
    frame = spark.createDataFrame(pa.table({"ts": pa.array(numbers, pa.int64())}))
    timed = spark_rows.timed(frame, Mapping(time_unit=unit)).select("at_us", F.coalesce("unit", F.lit("")))
    names = ("", "s", "ms", "us", "ns")
    at_us, code = instants(pa.array(numbers), None if unit == "auto" else names.index(unit) - 1)
    ours = [(at, names[number]) for at, number in zip(at_us.to_pylist(), code.to_pylist())]
    assert ours == [tuple(row) for row in timed.collect()]
    if unit == "ns":
        assert [at for at, _ in ours[1:4]] == [0, -1, 1_767_225_600_123_456]


def test_a_damaged_file_among_good_ones_is_named(spark: Any, tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", numbered(rows_of(1, 10)))
    content = bytearray((tmp_path / "a.parquet").read_bytes())
    content[4:2000] = bytes(1996)
    (tmp_path / "b.parquet").write_bytes(content)
    words = failure(Audit(spark, [str(tmp_path)], tmp_path / "out"))
    assert "b.parquet" in words and "damaged" in words


def test_too_many_groups_are_explained(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spark_reports.audit.job.GROUPS_MOST", 1)
    monkeypatch.setattr(scans, "SPELLINGS", 1)
    write(tmp_path / "a.parquet", numbered(rows_of(1, 10)))
    assert "groups of subscription, topic" in failure(Audit(spark, [str(tmp_path)], tmp_path / "out"))
