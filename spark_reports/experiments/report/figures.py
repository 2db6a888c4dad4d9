"""The figures of a point: mean, median, p95 and largest of each measure, with 95 % intervals.

Rules: quantiles are nearest ranks. A run that never reached what is measured is above every number, so a
quantile may have no value, and the mean is that of the others. An enumeration has no intervals.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from spark_reports.experiments.report.binomial import nearest_rank, quantile_ranks, upper_bound
from spark_reports.experiments.report.columns import PointRuns, Whole
from spark_reports.experiments.report.design import (
    SAMPLED,
    Design,
    Numbers,
    independent_runs,
    seed_means,
)
from spark_reports.student import t_quantile

LEVEL = 0.95
"""Confidence of all intervals but the wanted bound's."""

Ends = tuple[float | None, float | None]


@dataclass(frozen=True)
class Figures:
    """A measure over the runs of a point; an interval is None where there is none.

    `never` counts finished runs without a value. `beyond` is the share of failovers that may exceed the
    largest one, with 95 % confidence.
    """

    known: int
    never: int
    independent: float
    mean: float | None
    mean_interval: Ends | None
    median: int | None
    median_interval: Ends | None
    p95: int | None
    p95_interval: Ends | None
    smallest: int | None
    largest: int | None
    beyond: float | None


def figures_of(design: Design, runs: PointRuns, name: str) -> Figures:
    """The figures of one measure."""
    ordered, never = runs.ordered(name)
    known = len(ordered)
    total = known + never
    if not total:
        return Figures(0, 0, 0.0, None, None, None, None, None, None, None, None, None)
    values = runs.measures[name]
    numbers = np.where(values.known, values.numbers.astype(np.float64), np.nan)
    independent = independent_runs(design, runs, LEVEL, numbers)
    sampled = design.kind == SAMPLED
    return Figures(
        known,
        never,
        independent,
        float(ordered.mean()) if known else None,
        _mean_interval(design, runs, numbers) if sampled else None,
        nearest_rank(ordered, total, 0.5),
        _quantile_interval(ordered, total, independent, 0.5) if sampled else None,
        nearest_rank(ordered, total, LEVEL),
        _quantile_interval(ordered, total, independent, LEVEL) if sampled else None,
        int(ordered[0]) if known else None,
        None if never else int(ordered[-1]),
        upper_bound(0, independent, LEVEL) if sampled and not never else None,
    )


def _mean_interval(design: Design, runs: PointRuns, numbers: Numbers) -> Ends | None:
    """Student's t interval over the means of the seeds, over the runs where there is one seed."""
    units = seed_means(runs, numbers) if design.has_seeds else numbers[~np.isnan(numbers)]
    if len(units) < 2:
        return None
    error = float(units.std(ddof=1)) / math.sqrt(len(units))
    half = t_quantile((1 + LEVEL) / 2, min(len(units) - 1, 1_000)) * error
    middle = float(numbers[~np.isnan(numbers)].mean())
    return middle - half, middle + half


def _quantile_interval(ordered: Whole, total: int, independent: float, quantile: float) -> Ends | None:
    """Two order statistics that enclose the quantile whatever the distribution is.

    Of fewer effective runs the ranks are shares of all runs, rounded outwards (Woodruff's interval).
    """
    effective = max(1, math.floor(independent))
    low, high = quantile_ranks(effective, quantile, LEVEL)
    if low is not None:
        low = (low - 1) * total // effective + 1
    if high is not None:
        high = -(-high * total // effective)
    ends = [
        int(ordered[rank - 1]) if rank is not None and rank <= len(ordered) else None for rank in (low, high)
    ]
    return ends[0], ends[1]
