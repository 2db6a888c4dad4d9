"""The report of an experiment as one HTML file that opens offline.

Rules: every value is escaped. Styles, Plotly, figures and the scenarios of the listed runs are inlined, so
the page makes no request. Without scripts it still has all text, tables and heat maps.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from typing import Any

import pyarrow as pa
from markupsafe import Markup

from simulator import ENGINE_VERSION
from simulator.experiments import Experiment
from spark_reports.experiments.report import charts
from spark_reports.experiments.report.answer import (
    NOT_BY_THE_END,
    amount,
    answer_of,
    axis_label,
    bound_words,
    breakable,
    coverage,
    millionths,
    percent,
)
from spark_reports.experiments.report.charts import heat_maps
from spark_reports.experiments.report.choices import Setting, circumstances
from spark_reports.experiments.report.results import SETTINGS_MOST, Example, Results, examples_of, results_of
from spark_reports.experiments.report.tables import (
    always_zero,
    axis_heads,
    failed_table,
    measures_table,
    settings_table,
    share_name,
    values_of,
)
from spark_reports.html.charts import DRAW, chart_json, plotly_script
from spark_reports.html.numbers import number
from spark_reports.html.sections import render

Terms = list[tuple[str, str]]


def definitions(results: Results) -> Terms:
    """The terms of the page and their meaning."""
    found = _runs(results)
    if results.experiment.wanted is not None:
        found += _bound(results)
    return [*found, *_figures(results)]


def _runs(results: Results) -> Terms:
    experiment = results.experiment
    found = [
        ("Setting", "One value for each parameter. Each setting is run with the same seeds."),
        (
            "Seed",
            "Decides every random draw of a run: arrivals, processing times, latencies. With another seed "
            "the same setting has other traffic.",
        ),
    ]
    if experiment.phases > 1 or experiment.drawn or experiment.by_seed:
        how = (
            "drawn at random for each run"
            if experiment.drawn
            else "one for each seed, evenly spaced, which cover the period once"
            if experiment.by_seed
            else f"{experiment.phases} evenly spaced ones, which cover the period once"
        )
        found.append(
            (
                "Phase",
                "How much later than written the failure begins. What it costs repeats with a period (that "
                f"of snapshots or commits), so one instant would be an accident. The phases are {how}.",
            )
        )
    found.append(
        (
            "Order of settings",
            "From the cheapest to the most expensive: parameters are compared one after the other, first "
            "those for which the experiment says what is cheaper, then the others in the order of their "
            "values.",
        )
    )
    return found


def _bound(results: Results) -> Terms:
    wanted = results.experiment.wanted
    assert wanted is not None
    share, confidence = millionths(wanted.share_millionths), millionths(wanted.confidence_millionths)
    names = [axis_label(results.experiment, path) for path in circumstances(results.experiment)]
    found = []
    if names:
        found.append(
            (
                "Circumstances",
                f"The experiment says of no value of {' and '.join(names)} that it is cheaper. These are no "
                "choices: the answer has to meet the bound for each of their values.",
            )
        )
    return [
        *found,
        (
            "Within the bound",
            f"A run with {bound_words(results.experiment, wanted)}. A failed run, and one that never reached "
            "what is measured, is not within.",
        ),
        (
            "Lower bound of the share",
            f"With {confidence} confidence at least this share of failures is within the bound: the exact "
            "one-sided interval of Clopper and Pearson. Between evenly spaced phases a measure may rise "
            "further. So a run counts here only if it is within the bound up to the next phase too, where "
            "the trends on both sides are continued.",
        ),
        (
            "Independent runs",
            "Runs of one seed share everything up to the failure, so they are alike. Their number is divided "
            "by the design effect (how much the means of seeds vary, compared with independent runs) and "
            "reduced for few seeds, as Korn and Graubard do for surveys. If every seed gives the same runs, "
            "or there is one seed, the phases are an enumeration. Then nothing is random, and no confidence "
            "is claimed.",
        ),
        (
            "Verdict",
            f"Meets it: the lower bound of the share is at least {share}. Misses it: the upper bound, with "
            "the same confidence, is below. Else the runs are too few to tell. The confidence is that of one "
            "setting.",
        ),
    ]


def _figures(results: Results) -> Terms:
    return [
        (
            "Mean, with 95 % interval",
            "Student's t interval over the means of the seeds; over the runs where each seed has one, or "
            "where one seed has drawn phases.",
        ),
        (
            "Median, p95, with 95 % interval",
            "Nearest ranks. The interval is between two order statistics, which holds for any distribution "
            "(Woodruff's interval where runs are alike). An open end (…) means that so few runs have no such "
            "bound.",
        ),
        (
            "Larger than that, at most",
            "With 95 % confidence at most this share of failures exceeds the largest value that was seen.",
        ),
        (
            "In closed form",
            "What follows from the setting without a run, for regular traffic and acks in order; – where no "
            "closed form covers the run.",
        ),
        (
            "Share of the variance",
            "Analysis of variance over all runs of the grid, each setting with equal weight. The share of a "
            "parameter is its main effect (Sobol's first-order index on the grid), of two parameters (×) "
            "their interaction. The rest is between runs of the same setting.",
        ),
    ]


FOLDER = "experiments/report/templates"


def page(results: Results, examples: dict[int, list[Example]]) -> str:
    """The whole page; `examples` are the runs to open, by point."""
    figures = _chart_figures(results) if results.finished else {}
    style = files("spark_reports.html").joinpath("report.css").read_text(encoding="utf-8")
    own = files("spark_reports.experiments.report").joinpath("sweep.css").read_text(encoding="utf-8")
    return render(
        f"{FOLDER}/sweep.html",
        results=results,
        experiment=results.experiment,
        described=results.experiment.described(),
        engine=ENGINE_VERSION,
        answer=answer_of(results),
        style=Markup(style + own),
        big=_large_figures(results),
        settings=settings_table(results),
        axis_heads=axis_heads(results),
        charts=figures,
        maps=heat_maps(results) if results.finished else [],
        shares=[(share_name(results, one), one.share) for one in results.shares or ()],
        examples=_examples(results, examples),
        examples_most=SETTINGS_MOST,
        measures=measures_table(results),
        zero=always_zero(results),
        failed=failed_table(results),
        definitions=definitions(results),
        figures=[(name, chart_json(figure)) for name, figure in figures.items()],
        plotly=plotly_script(),
        draw=Markup(DRAW),
        percent=percent,
        breakable=breakable,
    )


def _chart_figures(results: Results) -> dict[str, dict[str, Any]]:
    """The charts of the page by name; a chart that does not apply is absent."""
    found = {
        "ranges": charts.ranges(results),
        "distributions": charts.distributions(results),
        "phases": charts.phases(results),
    }
    return {name: figure for name, figure in found.items() if figure is not None}


def _large_figures(results: Results) -> list[dict[str, str]]:
    """The row of large figures below the answer."""
    choice = results.chosen or (results.closest if results.experiment.wanted else None)
    shown = choice.weakest if choice else None
    settings = len(results.settings)
    found = [
        _large(number(results.present), "run" if results.present == 1 else "runs"),
        _large(number(settings), "setting" if settings == 1 else "settings"),
    ]
    if shown is not None and shown.judged is not None and shown.judged.runs:
        figures = shown.figures[results.main.name]
        largest = NOT_BY_THE_END if figures.never else amount(figures.largest, results.main.unit)
        measure = results.main
        found += [
            _large(percent(shown.share_within), "of the runs of this setting within the bound"),
            _large(amount(figures.median, measure.unit), f"{measure.title}, median"),
            _large(largest, f"{measure.title}, largest"),
        ]
    words = "failed run" if results.failures == 1 else "failed runs"
    found.append(_large(number(results.failures), words, "harm" if results.failures else "zero"))
    return found


def _expected_words(ends: tuple[int, int] | None, unit: str) -> str:
    """A value in closed form: one number, or both ends of a range."""
    if ends is None:
        return ""
    return " to ".join(amount(end, unit) for end in dict.fromkeys(ends))


def _large(value: str, words: str, kind: str = "") -> dict[str, str]:
    return {"value": value, "words": words, "kind": kind}


def _examples(results: Results, examples: dict[int, list[Example]]) -> list[dict[str, Any]]:
    """The rows of the table of runs to open."""
    return [
        {
            "setting": values_of(setting) if place == 0 else [""] * len(values_of(setting)),
            "example": example,
            "expected": _expected_words(example.expected, results.main.unit),
            "value": NOT_BY_THE_END if example.value is None else amount(example.value, results.main.unit),
        }
        for setting in results.settings
        for place, example in enumerate(examples.get(setting.point.number, []))
    ]


# --- writes the report of an experiment: `sweep.html`, and its data as `sweep.json`


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
