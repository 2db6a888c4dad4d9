"""Audits of generated logs against their truth, the bitmaps of integer keys, and the scenario that a log becomes."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from simulator import World, load_scenario_text
from spark_reports.audit.generate import logs
from spark_reports.audit.generate.command import generate
from spark_reports.audit.generate.logs import EPOCH_US, Log, run_log
from spark_reports.audit.generate.writing import WRITERS, truth_of
from spark_reports.audit.job import Audit
from spark_reports.audit.mapping import mapping_of
from spark_reports.audit.numbered import counts, grouping, selection
from spark_reports.audit.scenario import scenario_text

COMPLETE = mapping_of("format: 1\ncomplete: true\n", "m.yaml")


@pytest.fixture(scope="module")
def log() -> Log:
    return run_log(1200, seed=3)


def audited(spark: Any, folder: Path, logs: Path) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    report = Audit(spark, [str(logs)], folder / "out", COMPLETE).make()
    return report, {one["partition"]: one for one in report["groups"]}


def assert_truth(log: Log, groups: dict[str, dict[str, Any]], copies: int) -> None:
    truth = truth_of(log, copies, log.rows * copies)
    assert groups.keys() == {one["partition"] for one in truth["groups"]}
    for one in truth["groups"]:
        assert {name: groups[one["partition"]][name] for name in one} == one


def test_the_truth_agrees_with_the_simulators_verdict(log: Log) -> None:
    """A message received in both regions is a duplicate or a redelivery of the failover."""
    figures, verdict = log.truth["figures"], log.truth["simulator"]
    assert figures["in_several_clusters"] == verdict["duplicates"] + verdict["redeliveries"] > 10
    assert figures["duplicates"] == verdict["duplicates"] and figures["in_one_cluster"] > 0


def test_every_format_of_a_generated_log_gives_its_truth(spark: Any, log: Log, tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    for copy, (kind, name) in enumerate((("jsonl", "a.jsonl"), ("csv", "b.csv"), ("parquet", "d.parquet"))):
        WRITERS[kind](tmp_path / "logs" / name, log, range(copy, copy + 1))
    report, groups = audited(spark, tmp_path, tmp_path / "logs")
    assert_truth(log, groups, 3)
    assert report["input"]["formats"] == {"csv": 1, "jsonl": 1, "parquet": 1}
    text = (tmp_path / "out" / "scenario.yaml").read_text()
    latency_us = int(re.search(r"us-east <-> us-west: \{latency: (\d+)us", text)[1])
    median_us = int(re.search(r"lognormal, median: (\d+)us", text)[1])
    # 35 ms and 2 ms in the run that the log was made from
    assert 25_000 < latency_us < 45_000 and 1_500 < median_us < 3_000
    world = World(load_scenario_text(text), 1)
    world.run(until_us=1_000_000)
    assert world.trace.seqs(types=["message.acknowledged"])


def test_integer_keys_are_counted_by_bitmaps_with_the_same_result(
    spark: Any, log: Log, tmp_path: Path
) -> None:
    (tmp_path / "logs").mkdir()
    WRITERS["parquet"](tmp_path / "logs" / "a.parquet", log, range(2))
    WRITERS["parquet"](tmp_path / "logs" / "b.parquet", log, range(2, 3))
    audit = Audit(spark, [str(tmp_path / "logs")], tmp_path / "out", COMPLETE)
    groups = {one["partition"]: one for one in audit.make()["groups"]}
    assert audit.scans is not None
    assert_truth(log, groups, 3)
    assert audit.report["losses"][0]["lost"] == log.truth["simulator"]["lost"] == 0


def feed_of(rows: list[tuple[str, int]]) -> pa.RecordBatch:
    """A batch as both scans read it: deliveries of (partition, key)."""
    count = len(rows)
    columns = {
        "at_us": pa.array(range(EPOCH_US, EPOCH_US + count)),
        "code": pa.array([3] * count, pa.int8()),
        "key": pa.array([key for _, key in rows]),
        "kind": pa.array(["Deliver"] * count),
        "cluster": pa.array([None] * count, pa.string()),
        "topic": pa.array([" orders"] * count),
        "partition": pa.array([partition for partition, _ in rows]),
        "subscription": pa.array(["billing"] * count),
        "consumer": pa.array(["c"] * count),
        "delivery_count": pa.array([1] * count),
    }
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


@pytest.mark.parametrize("bases", [[0], [0, 1 << 32, 1 << 45], [-(1 << 62), 1 << 62]])
def test_repeated_keys_are_found_within_and_between_batches_and_tasks(
    bases: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keys are dense, in several dense ranges, or sparse over all integers."""
    monkeypatch.setattr(grouping, "BATCH_ROWS", 2000)
    draw = random.Random(5)
    step = 1 << 50 if bases[0] else 1
    rows = [(draw.choice("abc"), draw.choice(bases) + step * draw.randrange(2000)) for _ in range(9000)]
    tasks = [[rows[:2000]], [rows[2000:2001], rows[2001:6000], rows[6000:]]]
    kinds = {"deliver": "deliver"}
    parts = [
        part for task in tasks for part in counts.FirstScan(kinds, False, 10)(feed_of(one) for one in task)
    ]
    found = pa.Table.from_batches(list(counts.joined(iter(parts)))).to_pylist()
    sets = {one["partition"]: one for one in found if one["shape"] == -1}
    counted = Counter(rows)
    again = {name: np.frombuffer(one["again"], np.int64).tolist() for name, one in sets.items()}
    expected = {
        name: sorted(key for (own, key), count in counted.items() if own == name and count > 1)
        for name in "abc"
    }
    assert {name: sorted(keys) for name, keys in again.items()} == expected
    assert sum(one["messages"] for one in sets.values()) == len(counted)
    assert sum(one["lines"] for one in sets.values()) == len(rows)
    spans = [one for one in found if one["shape"] != -1]
    assert sum(one["lines"] for one in spans) == len(rows) and len(spans) == 3
    assert min(one["first_us"] for one in spans) == EPOCH_US

    places = {("billing", "orders", name, ""): sets[name]["again"] for name in "abc"}
    scan = selection.SecondScan(kinds, False, 10, places, 7)
    chosen = pa.Table.from_batches(list(scan(iter([feed_of(rows)])))).to_pylist()
    repeated = [(one["partition"], int(one["key"])) for one in chosen if one["again"]]
    assert Counter(repeated) == {row: count for row, count in counted.items() if count > 1}
    measured = [one for one in chosen if one["measured"]]
    keys = {int(one["key"]) for one in measured}
    assert sum(row[1] in keys for row in rows) == len(measured) > len(rows) // 20


def test_a_column_with_too_many_values_is_refused_inside_the_task() -> None:
    rows = [(str(number), number) for number in range(11)]
    with pytest.raises(ValueError, match=grouping.GROUPS_MARK):
        list(counts.FirstScan({}, False, 10)(iter([feed_of(rows)])))


def test_generate_writes_at_least_the_rows_and_their_truth(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "MESSAGES_MOST", 60)
    rows = generate(900, tmp_path / "out", seed=4)
    truth = json.loads((tmp_path / "out" / "truth.json").read_text())
    table = pq.read_table(tmp_path / "out" / "logs")
    assert rows == table.num_rows == truth["rows"] >= 900 and truth["copies"] == len(truth["groups"]) >= 2
    assert len(np.unique(table.column("partition").to_numpy())) == truth["copies"]
    assert not list(tmp_path.glob(".out*"))


def test_a_scenario_names_what_it_assumes() -> None:
    row = {
        "problem": None,
        "cluster": "DC 1",
        "topic": "persistent://a/b/Orders",
        "first_us": 0,
        "last_us": 10_000_000,
    }
    overview = [
        {**row, "kind": "publish", "subscription": None, "rows": 1001},
        {**row, "kind": "deliver", "subscription": "Billing", "rows": 900},
    ]
    source = {"ack_holes": 2, "individually_deleted": 18}
    report = {
        "clusters": ["DC 1"],
        "latencies": [],
        "processing": [{"subscription": "Billing", "messages": 9, "p50_us": 5000, "p99_us": 5000}],
        "positions": [{"subscription": "Billing", "from": "DC 1", "source": source}],
    }
    scenario = load_scenario_text(scenario_text(report, overview))
    assert list(scenario.clusters) == ["dc-1", "second-region"]
    for words in ("second-region is assumed", "assumed to be 40 ms", "holds 10 %"):
        assert words in scenario.about
    assert scenario_text({**report, "clusters": [], "positions": []}, overview) is None
