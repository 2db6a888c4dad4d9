"""The report of an experiment that compares scenarios shows each of them."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa

from simulator.experiments import batches, read_experiment_text, run_batch
from spark_reports.experiments.report.page import write_report
from spark_reports.experiments.store import columns_of, with_axes

TEXT = "scenario: {one: region-down, two: periodic-snapshots}\nphases: 2\n"


def test_the_report_has_the_text_of_each_scenario_under_its_name(tmp_path: Path):
    experiment = read_experiment_text(TEXT)
    rows = [row for batch in batches(experiment) for row in run_batch(experiment, batch)]
    table = with_axes(pa.Table.from_pylist(rows, columns_of(experiment)), experiment)
    found = write_report(experiment, table, tmp_path)
    page = (tmp_path / "sweep.html").read_text(encoding="utf-8")
    assert re.findall(r"<summary>(The scenario[^<]*)", page) == ["The scenario one", "The scenario two"]
    assert "name: region-down" in page and "name: periodic-snapshots" in page
    assert "two" in str(found)
