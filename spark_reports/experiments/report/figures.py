"""The figures of a point: mean, median, p95 and largest of each measure, with 95 % intervals.

Rules: quantiles are nearest ranks. A run that never reached what is measured is above every number, so a
quantile may have no value, and the mean is that of the others. An enumeration has no intervals.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from simulator.experiments import Experiment
from spark_reports.experiments.report.binomial import nearest_rank, quantile_ranks, upper_bound
from spark_reports.student import t_quantile

# --- the runs of each point as columns, from the table with one row per run
#
# Rules: runs are in the order of their numbers. A measure is known only in a finished run that has a value
# of it: a finished run without one never reached what is measured, and counts as above every number.


FINISHED = "finished"
NEEDED = ("run", "point", "seed", "phase_us", "status", "reason", "rows")

Whole = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Values:
    """A measure of several runs: its numbers, and which are known."""

    numbers: Whole
    known: Flags


@dataclass(frozen=True)
class PointRuns:
    """The runs of a point that are in the table."""

    number: int
    runs: Whole
    seeds: Whole
    phases_us: Whole
    finished: Flags
    trace_rows: Whole
    measures: dict[str, Values]

    def ordered(self, name: str) -> tuple[Whole, int]:
        """The known numbers of a measure in ascending order, and how many finished runs have none."""
        values = self.measures[name]
        return np.sort(values.numbers[values.known]), int((self.finished & ~values.known).sum())


def runs_by_point(experiment: Experiment, table: pa.Table, names: Sequence[str]) -> list[PointRuns]:
    """The runs of every point, also of points without any. Raises ValueError for another table."""
    missing = [name for name in (*NEEDED, *names) if name not in table.column_names]
    if missing:
        raise ValueError(f"the table of runs has no column {', '.join(missing)}; write one row per run")
    table = table.select([*NEEDED, *names]).sort_by("run")
    runs = _whole(table["run"]).numbers
    if len(runs) and ((runs[1:] == runs[:-1]).any() or runs[0] < 0 or runs[-1] >= experiment.runs):
        raise ValueError(f"the table of runs has a run twice, or one outside 0 to {experiment.runs - 1}")
    points = _whole(table["point"]).numbers
    columns = {name: _whole(table[name]) for name in ("seed", "phase_us", "rows", *names)}
    finished = np.asarray(pc.equal(table["status"], FINISHED).to_numpy(), dtype=np.bool_)
    order = np.argsort(points, kind="stable")
    ends = np.searchsorted(points[order], np.arange(len(experiment.points) + 1))
    found = []
    for point in experiment.points:
        own = order[ends[point.number] : ends[point.number + 1]]
        measures = {
            name: Values(columns[name].numbers[own], columns[name].known[own] & finished[own])
            for name in names
        }
        found.append(
            PointRuns(
                point.number,
                runs[own],
                columns["seed"].numbers[own],
                columns["phase_us"].numbers[own],
                finished[own],
                columns["rows"].numbers[own],
                measures,
            )
        )
    return found


def _whole(column: pa.ChunkedArray) -> Values:
    """A column of whole numbers; 0 stands for those that are null."""
    known = np.asarray(pc.is_valid(column).to_numpy(), dtype=np.bool_)
    whole = pc.fill_null(column.cast(pa.int64()), 0)
    return Values(np.asarray(whole.to_numpy(), dtype=np.int64), known)


# --- how many independent runs the runs of a point are worth, and what intervals over them cover
#
# Runs of one seed share everything up to the first fault, so they are alike. Two designs:
#
# - *sampled*: seeds differ, or the phases are drawn. The effective number of runs is Korn and Graubard's: the
#   number divided by the design effect, which compares how much the means of seeds vary with how much they
#   would if runs of one seed were independent, and a factor for few seeds, (t of the runs / t of the seeds)².
#   Evenly spaced phases are strata: their differences are no reason for an interval, so they are taken out.
# - *enumerated*: evenly spaced phases, and every seed gives the same runs, or there is one seed. Nothing is
#   random, so there is no interval, only phases that were not run.


DEGREES_MOST = 1_000
"""From here on Student's t is so close to its limit that more degrees of freedom change nothing shown."""

SAMPLED, ENUMERATED = "sampled", "enumerated"

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Design:
    """The runs of one point: `seeds` with runs, `phases` of each, how they were chosen."""

    kind: str
    drawn: bool
    seeds: int
    phases: int
    same_in_every_seed: bool
    by_seed: bool = False

    @property
    def has_seeds(self) -> bool:
        """Whether seeds are a sample of traffic: there are several, and they make a difference."""
        return self.seeds > 1 and not self.same_in_every_seed


def design_of(experiment: Experiment, runs: PointRuns) -> Design:
    """The design of a point's runs that are in the table."""
    seeds = len(np.unique(runs.seeds))
    apart = experiment.drawn or experiment.by_seed
    same = not apart and seeds > 1 and _same_in_every_seed(runs)
    sampled = experiment.drawn or (seeds > 1 and not same)
    kind = SAMPLED if sampled else ENUMERATED
    return Design(kind, experiment.drawn, seeds, experiment.phases, same, experiment.by_seed)


def _same_in_every_seed(runs: PointRuns) -> bool:
    """Whether runs at the same phase are equal in every figure, whatever their seed."""
    columns = [runs.finished, runs.trace_rows]
    for values in runs.measures.values():
        columns += [values.known, values.numbers]
    stacked = np.stack([np.asarray(column, dtype=np.int64) for column in columns], axis=1)
    first = np.unique(runs.phases_us, return_index=True)[1]
    place = np.searchsorted(runs.phases_us[first], runs.phases_us)
    return bool((stacked == stacked[first[place]]).all())


def independent_runs(design: Design, runs: PointRuns, confidence: float, *figures: Numbers) -> float:
    """The effective number of independent runs.

    `figures` has a number for every run, NaN where it is unknown. The figure by which runs of one seed are
    most alike decides. Without any variation each seed counts as one run.
    """
    count = len(runs.runs)
    if not design.has_seeds or design.phases == 1:
        return float(count)
    effects = [effect for one in figures if (effect := design_effect(design, runs, one)) is not None]
    effect = min(max(1.0, *effects), design.phases) if effects else design.phases
    few_seeds = (_t(confidence, count - 1) / _t(confidence, design.seeds - 1)) ** 2
    return max(1.0, min(count, count / effect * few_seeds))


def design_effect(design: Design, runs: PointRuns, figure: Numbers) -> float | None:
    """The variance of the seeds' means times the phases, divided by the variance of a run.

    1 if runs of one seed are independent, the number of phases if they are equal. Only seeds with all of
    their runs are used. None with fewer than two of them, or where nothing varies.
    """
    matrix = _by_seed(design, runs, figure)
    if len(matrix) < 2:
        return None
    if design.drawn:
        of_a_run = float(matrix.var(ddof=1))
    else:
        of_a_run = float(matrix.var(axis=0, ddof=1).mean())
    if of_a_run == 0:
        return None
    return design.phases * float(matrix.mean(axis=1).var(ddof=1)) / of_a_run


def seed_means(runs: PointRuns, figure: Numbers) -> Numbers:
    """The mean of each seed's known figures, for seeds that have one."""
    known = ~np.isnan(figure)
    seeds, place = np.unique(runs.seeds[known], return_inverse=True)
    return np.bincount(place, figure[known], len(seeds)) / np.bincount(place, minlength=len(seeds))


def _by_seed(design: Design, runs: PointRuns, figure: Numbers) -> Numbers:
    """A row for each complete seed, a column for each phase."""
    order = np.lexsort((runs.runs, runs.seeds))
    seeds, counts = np.unique(runs.seeds[order], return_counts=True)
    complete = np.repeat(counts == design.phases, counts)
    matrix = figure[order][complete].reshape(-1, design.phases)
    return matrix[~np.isnan(matrix).any(axis=1)]


@lru_cache(maxsize=64)
def _t(confidence: float, degrees: int) -> float:
    return t_quantile(confidence, min(degrees, DEGREES_MOST))


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


# --- which parameter matters most: the share of a measure's variance that each one explains
#
# The analysis of variance of a complete grid whose points have equal weights; on the grid the shares of the
# main effects are Sobol's first-order indices. Rules: runs without a value are left out; where a point has
# no value at all there is no analysis, because effects and interactions could not be separated.


PAIRS_MOST = 15
"""The most pairs of parameters whose interactions are listed one by one: those of six parameters."""


@dataclass(frozen=True)
class Share:
    """A source of variance: parameters by path (one, or two for an interaction), else a name."""

    paths: tuple[str, ...]
    name: str
    share: float


MORE, PHASE, SEED, WITHIN = "more", "phase", "seed", "within"


def variance_shares(experiment: Experiment, runs: list[PointRuns], name: str) -> list[Share] | None:
    """The sources, main effects first. None where there is nothing to explain, or a point has no value."""
    if any(not one.measures[name].known.any() for one in runs):
        return None
    means = np.array([_known(one, name).mean() for one in runs])
    within = float(np.mean([_known(one, name).var() for one in runs]))
    total = float(means.var()) + within
    if total <= 0:
        return None
    grid = means.reshape([len(axis.values) for axis in experiment.axes])
    sources = [
        Share((axis.path,), "", _main(grid, place) / total) for place, axis in enumerate(experiment.axes)
    ]
    explained = sum(one.share for one in sources)
    pairs = list(combinations(range(grid.ndim), 2))
    if len(pairs) <= PAIRS_MOST:
        for first, second in pairs:
            paths = (experiment.axes[first].path, experiment.axes[second].path)
            both = float(grid.mean(axis=_others(grid, first, second)).var())
            share = both - _main(grid, first) - _main(grid, second)
            sources.append(Share(paths, "", max(0.0, share) / total))
        explained = sum(one.share for one in sources)
    if grid.ndim > (2 if len(pairs) <= PAIRS_MOST else 1):
        sources.append(Share((), MORE, max(0.0, float(means.var()) / total - explained)))
    phases = _between_phases(experiment, runs, name)
    if phases is None:
        return [*sources, Share((), WITHIN, within / total)]
    return [
        *sources,
        Share((), PHASE, phases / total),
        Share((), SEED, max(0.0, within - phases) / total),
    ]


def _known(runs: PointRuns, name: str) -> Numbers:
    values = runs.measures[name]
    return values.numbers[values.known].astype(np.float64)


def _main(grid: Numbers, place: int) -> float:
    return float(grid.mean(axis=_others(grid, place)).var())


def _others(grid: Numbers, *kept: int) -> tuple[int, ...]:
    return tuple(place for place in range(grid.ndim) if place not in kept)


def _between_phases(experiment: Experiment, runs: list[PointRuns], name: str) -> float | None:
    """The mean variance between the phases of a point; None where phases are drawn, or there is one."""
    if experiment.drawn or experiment.phases == 1:
        return None
    found = []
    for one in runs:
        numbers = _known(one, name)
        place = np.unique(one.phases_us[one.measures[name].known], return_inverse=True)[1]
        counts = np.bincount(place)
        means = np.bincount(place, numbers) / counts
        found.append(float((counts * (means - numbers.mean()) ** 2).sum() / len(numbers)))
    return float(np.mean(found))
