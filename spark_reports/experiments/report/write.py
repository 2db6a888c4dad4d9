"""Writes the report of an experiment: `sweep.html` and `sweep.json`.

Rules: both files are written aside and renamed at the end, so that each is complete or absent. Equal runs
give equal bytes: nothing reads the clock.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa

from simulator.experiments import Experiment
from spark_reports.experiments.report.document import document_of
from spark_reports.experiments.report.examples import SETTINGS_MOST, examples_of
from spark_reports.experiments.report.page import page
from spark_reports.experiments.report.results import results_of

PAGE, DATA = "sweep.html", "sweep.json"


def write_report(
    experiment: Experiment, rows: pa.Table, out: Path, *, partial: bool = False, site_url: str | None = None
) -> dict[str, Any]:
    """Write page and JSON, and return what the JSON file has. Raises ValueError for another table.

    `rows` has one row per run. `partial` says that the experiment is still running or was stopped.
    `site_url` is the address of the experiment on the site: `{site_url}/runs/{run}/?at_us=…` opens a run.
    """
    results = results_of(experiment, rows, partial)
    examples = {
        one.point.number: examples_of(results, one, site_url) for one in results.spread(SETTINGS_MOST)
    }
    found = document_of(results, examples)
    out.mkdir(parents=True, exist_ok=True)
    texts = {
        DATA: json.dumps(found, indent=1, ensure_ascii=False, allow_nan=False) + "\n",
        PAGE: page(results, examples),
    }
    for name, text in texts.items():
        (out / f"{name}.partial").write_text(text, encoding="utf-8")
    for name in texts:
        os.replace(out / f"{name}.partial", out / name)
    return found
