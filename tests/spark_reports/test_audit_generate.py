"""Audits of generated logs against their truth, the bitmaps of integer keys, and the scenario that a log becomes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from simulator import World, load_scenario_text
from spark_reports.audit.generate import logs
from spark_reports.audit.generate.command import generate
from spark_reports.audit.generate.logs import Log, run_log
from spark_reports.audit.generate.writing import WRITERS, truth_of
from spark_reports.audit.job import Audit
from spark_reports.audit.mapping import mapping_of
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
    for name in ("a.jsonl", "b.csv"):
        plain = tmp_path / "logs" / name
        with pa.output_stream(f"{plain}.zst", compression="zstd") as packed:
            packed.write(plain.read_bytes())
        plain.unlink()
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
