"""The figures of an experiment's runs so far, for the page that shows them as they arrive.

Rules: they are small enough for a row that is read again and again, and made without pyarrow. Quantiles are
those of the report, nearest ranks, where a run that never reached what is measured is above every number. Of
equal runs the first is the example.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from simulator.experiments import FAILED, FINISHED, Experiment
from spark_reports.experiments.report.binomial import nearest_rank, quantile_ranks

P95 = 0.95
FAILED_SHOWN = 5
"""Failed runs that are listed with their reasons."""

ROWS_MOST = 200
"""Runs of an experiment whose rows are listed one by one: about 60 KB."""

LEVEL = 0.95
"""Confidence of the interval of a median."""

Rows = Sequence[dict[str, Any]]


def main_measure(experiment: Experiment) -> str:
    """The measure that is drawn: the wanted one, else the protocol's first."""
    return experiment.wanted.measure if experiment.wanted is not None else experiment.measures[0].name


def results_so_far(experiment: Experiment, rows: Rows) -> dict[str, Any]:
    """The figures of each point that has runs, as JSON; with few runs their rows, too."""
    main = main_measure(experiment)
    wanted = experiment.wanted
    of_point: dict[int, list[dict[str, Any]]] = {point.number: [] for point in experiment.points}
    for row in rows:
        of_point[row["point"]].append(row)
    failed = [row for row in rows if row["status"] == FAILED][:FAILED_SHOWN]
    return {
        "runs": len(rows),
        "seeds": len(experiment.seeds),
        "measure": main,
        "measures": [one.described() for one in experiment.measures],
        "axes": [axis.path for axis in experiment.axes],
        "at_most": None if wanted is None else wanted.at_most,
        "share": None if wanted is None else wanted.share_millionths / 1_000_000,
        "points": [
            {
                "number": point.number,
                "values": list(point.values.values()),
                **_of_point(experiment, of_point[point.number], main),
            }
            for point in experiment.points
        ],
        "failed": [{name: row[name] for name in ("run", "point", "seed", "reason")} for row in failed],
        "rows": [_listed(experiment, row) for row in rows] if experiment.runs <= ROWS_MOST else [],
    }


def _listed(experiment: Experiment, row: dict[str, Any]) -> dict[str, Any]:
    """A run's row as JSON, with its causes as an object."""
    names = ("run", "point", "seed", "phase_us", "status", "reason", "rows", "delivering")
    figures = {one.name: row.get(one.name) for one in experiment.measures}
    return {**{name: row[name] for name in names}, "by_cause": json.loads(row["causes"] or "{}"), **figures}


def _of_point(experiment: Experiment, rows: Rows, main: str) -> dict[str, Any]:
    """The runs of one point: how many, the figures of each measure, and the runs to open."""
    done = sorted((row for row in rows if row["status"] == FINISHED), key=lambda row: row["run"])
    values = [row[main] for row in done]
    known = [value for value in values if value is not None]
    independent = experiment.by_seed or experiment.phases == 1
    figures = {
        one.name: _figures([row[one.name] for row in done], independent) for one in experiment.measures
    }
    median, largest = figures[main]["median"], figures[main]["largest"]
    wanted = experiment.wanted
    return {
        "finished": len(done),
        "failed": len(rows) - len(done),
        "never": len(done) - len(known),
        "delivering": sum(bool(row["delivering"]) for row in done),
        "dots": [[value, count] for value, count in sorted(Counter(known).items())],
        "figures": figures,
        "within": None if wanted is None else sum(value <= wanted.at_most for value in known),
        "median_run": done[values.index(median)]["run"] if done else None,
        "worst_run": done[values.index(largest)]["run"] if done else None,
    }


def _figures(values: list[int | None], independent: bool) -> dict[str, Any]:
    """Median, 95th percentile and largest of a measure; none of them where a run without a value is meant.

    `interval` encloses the median with 95 % confidence, where the runs are `independent`.
    """
    known = sorted(value for value in values if value is not None)
    if not values:
        return {"median": None, "p95": None, "largest": None, "interval": None}
    low, high = quantile_ranks(len(values), 0.5, LEVEL) if independent else (None, None)
    interval = None
    if low is not None and high is not None and high <= len(known):
        interval = [known[low - 1], known[high - 1]]
    return {
        "median": nearest_rank(known, len(values), 0.5),
        "p95": nearest_rank(known, len(values), P95),
        "largest": known[-1] if len(known) == len(values) else None,
        "interval": interval,
    }
