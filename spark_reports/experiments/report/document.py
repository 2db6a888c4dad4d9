"""Writes the report of an experiment: `sweep.html`, and its data as `sweep.json`."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa

from simulator import ENGINE_VERSION
from simulator.experiments import Experiment
from spark_reports.experiments.report.answer import answer_of
from spark_reports.experiments.report.choices import Setting
from spark_reports.experiments.report.coverage import coverage
from spark_reports.experiments.report.examples import SETTINGS_MOST, Example, examples_of
from spark_reports.experiments.report.page import page
from spark_reports.experiments.report.results import Results, results_of

# --- the report's data as JSON: every figure of every setting, the answer, and how it was found


FORMAT = 1


def document_of(results: Results, examples: dict[int, list[Example]]) -> dict[str, Any]:
    """All figures, as `sweep.json` has them: equal for equal runs. `examples` are by point."""
    answer = answer_of(results)
    shown: dict[str, Any] = {
        "format": FORMAT,
        "engine_version": ENGINE_VERSION,
        "experiment": results.experiment.described(),
        "partial": results.partial,
        "runs": {
            "planned": results.experiment.runs,
            "present": results.present,
            "finished": results.finished,
            "failed": results.failures,
            "missing": results.missing,
            "delivering_at_the_end": results.delivering,
        },
        "measures": [one.described() for one in results.experiment.measures],
        "measure": results.main.name,
        "answer": {
            "verdict": answer.verdict,
            "sentence": answer.sentence,
            "more": answer.more,
            "points": [one.point.number for one in results.chosen.settings] if results.chosen else [],
        },
        "settings": [_setting(results, one, examples.get(one.point.number, [])) for one in results.settings],
        "variance": None
        if results.shares is None
        else [{"paths": list(one.paths), "source": one.name, "share": one.share} for one in results.shares],
        "failed": [asdict(one) for one in results.failed],
        "reasons": [{"reason": reason, "runs": runs} for reason, runs in results.reasons],
    }
    return rounded(shown)


def _setting(results: Results, setting: Setting, examples: list[Example]) -> dict[str, Any]:
    design = setting.design
    return {
        "point": setting.point.number,
        "values": setting.point.values,
        "runs": len(setting.runs.runs),
        "design": {**asdict(design), "covers": coverage(results, setting)},
        "bound": None if setting.judged is None else asdict(setting.judged),
        "figures": {name: asdict(figures) for name, figures in setting.figures.items()},
        "examples": [_example(one) for one in examples],
    }


def _example(example: Example) -> dict[str, Any]:
    """A run to open; the page has its scenario, and the experiment's file makes it again."""
    return {name: value for name, value in asdict(example).items() if name != "data"}


def rounded(value: Any) -> Any:
    """The same with floats of at most nine decimals: sums in another order give equal bytes."""
    if isinstance(value, float):
        return round(value, 9)
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(one) for one in value]
    return value


PAGE, DATA = "sweep.html", "sweep.json"


def write_report(
    experiment: Experiment, rows: pa.Table, out: Path, *, partial: bool = False, site_url: str | None = None
) -> dict[str, Any]:
    """Write page and JSON, and return what the JSON file has. Raises ValueError for another table.

    `rows` has one row per run. `partial` says that the experiment is still running or was stopped. `site_url`
    is the address of the experiment on the site: `{site_url}/runs/{run}/?at_us=…` opens a run.

    Rules: both files are written aside and renamed at the end, so that each is complete or absent. Equal runs
    give equal bytes: nothing reads the clock.
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
