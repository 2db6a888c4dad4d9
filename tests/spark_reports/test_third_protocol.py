"""The protocol that exists only in the tests gets a report.

Counted by Spark, on the page, in the downloads.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet
import pytest

from simulator import World, load_scenario_text
from spark_reports.jobs.failover import FailoverReport
from spark_reports.protocols.table import PROTOCOLS
from tests.spark_reports.conftest import write_run
from tests.third_protocol import registered
from tests.third_protocol.report import FIGURES, MANIFEST

pytestmark = pytest.mark.slow

TEXT = """\
format: 1
name: one-crash
title: One crash
family: single-log
until: 30s
servers:
  alpha: {every: 1s, count: 20, persistEach: 4}
  beta: {every: 1s, count: 20, persistEach: 4}
commands:
  - {at: 10500ms, do: server.crash, server: alpha}
"""


def test_report_figures_equal_the_summary(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registered.register(monkeypatch)
    monkeypatch.setitem(PROTOCOLS, MANIFEST.name, MANIFEST)
    world = World.from_scenario(load_scenario_text(TEXT))
    world.run()
    trace = write_run(world, tmp_path / "one-crash.parquet")

    report = FailoverReport(spark, [trace], tmp_path / "report").make()

    [run] = report["runs"]
    summary = world.summary()["servers"]
    assert {one["name"]: {name: one[name] for name in FIGURES} for one in run["servers"]} == {
        name: {figure: one[figure] for figure in FIGURES} for name, one in summary.items()
    }
    assert MANIFEST.result_lines(run) == ["alpha: 2 duplicates", "beta: 0 duplicates"]
    page = (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    assert "Every server" in page and "had delivered before" in page
    with (tmp_path / "report" / "figures.csv").open(encoding="utf-8") as file:
        assert [(line["name"], line["duplicates"]) for line in csv.DictReader(file)] == [
            ("alpha", "2"),
            ("beta", "0"),
        ]
    rows = parquet.read_table(tmp_path / "report" / "deliveries.parquet").to_pylist()
    assert len(rows) == 42 and sum(row["verdict"] == "duplicate" for row in rows) == 2
