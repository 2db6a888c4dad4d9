"""The report's data as JSON: every figure of every setting, the answer, and how it was found."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from simulator import ENGINE_VERSION
from spark_reports.experiments.report.answer import answer_of
from spark_reports.experiments.report.choices import Setting
from spark_reports.experiments.report.coverage import coverage
from spark_reports.experiments.report.examples import Example
from spark_reports.experiments.report.results import Results

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
