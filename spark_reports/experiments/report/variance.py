"""Which parameter matters most: the share of a measure's variance that each one explains.

The analysis of variance of a complete grid whose points have equal weights; on the grid the shares of the
main effects are Sobol's first-order indices. Rules: runs without a value are left out; where a point has
no value at all there is no analysis, because effects and interactions could not be separated.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from simulator.experiments import Experiment
from spark_reports.experiments.report.columns import PointRuns
from spark_reports.experiments.report.design import Numbers

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
