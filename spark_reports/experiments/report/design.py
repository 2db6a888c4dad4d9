"""How many independent runs the runs of a point are worth, and what intervals over them cover.

Runs of one seed share everything up to the first fault, so they are alike. Two designs:

- *sampled*: seeds differ, or the phases are drawn. The effective number of runs is Korn and Graubard's: the
  number divided by the design effect, which compares how much the means of seeds vary with how much they
  would if runs of one seed were independent, and a factor for few seeds, (t of the runs / t of the seeds)².
  Evenly spaced phases are strata: their differences are no reason for an interval, so they are taken out.
- *enumerated*: evenly spaced phases, and every seed gives the same runs, or there is one seed. Nothing is
  random, so there is no interval, only phases that were not run.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from simulator.experiments import Experiment
from spark_reports.experiments.report.columns import PointRuns
from spark_reports.student import t_quantile

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
