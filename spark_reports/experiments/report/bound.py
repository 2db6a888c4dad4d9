"""Whether the runs of a point show that enough failovers stay within the wanted bound.

Rules: a failed run, and a run that never reached what is measured, is outside. Evenly spaced phases leave
gaps. A run stands for the phases up to the next one, so it counts as *safely within* only if the measure
stays within the bound there too: at the next phase, and where the trend on either side is continued up to it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from simulator.experiments import Wanted
from spark_reports.experiments.report.binomial import lower_bound, runs_needed, upper_bound
from spark_reports.experiments.report.figures import (
    SAMPLED,
    Design,
    Flags,
    Numbers,
    PointRuns,
    independent_runs,
)

MEETS, MISSES, UNDECIDED = "meets", "misses", "undecided"
MILLION = 1_000_000

ROUNDING = 1e-12


@dataclass(frozen=True)
class Judged:
    """A point's runs beside the wanted bound.

    `low` and `high` are one-sided bounds of the share within, each with the wanted confidence; for an
    enumeration they are what the phases between could change. `needed` is the number of runs, or of
    phases, that would decide if shares stay as they are. `largest` is the largest known value.
    """

    verdict: str
    runs: int
    within: int
    safely_within: int
    independent: float
    low: float
    high: float
    needed: int | None
    largest: int


def judged(wanted: Wanted, design: Design, runs: PointRuns) -> Judged:
    """Compare a point's runs with the bound."""
    share, confidence = wanted.share_millionths / MILLION, wanted.confidence_millionths / MILLION
    count = len(runs.runs)
    if not count:
        return Judged(UNDECIDED, 0, 0, 0, 0.0, 0.0, 1.0, runs_needed(1, share, confidence), 0)
    values = runs.measures[wanted.measure]
    within = values.known & (values.numbers <= wanted.at_most)
    rise = _rise(design, runs, wanted.measure)
    safely = values.known & (values.numbers + rise <= wanted.at_most)
    inside, safe = int(within.sum()), int(safely.sum())
    if design.kind == SAMPLED:
        figures = (np.where(values.known, values.numbers, np.nan), within.astype(np.float64))
        independent = independent_runs(design, runs, confidence, *figures)
        low = lower_bound(safe / count * independent, independent, confidence)
        high = upper_bound(inside / count * independent, independent, confidence)
        needed = _more_runs(safe / count, share, confidence, count, independent, design)
    else:
        independent = float(count // design.seeds)
        low, high = safe / count, _possible(runs, within) / count
        needed = _more_phases(inside / count, safe / count, share, design.phases)
        if count < design.seeds * design.phases:  # missing runs are gaps of unknown width
            low, high = 0.0, 1.0
    verdict = MEETS if _reaches(low, share) else UNDECIDED if _reaches(high, share) else MISSES
    largest = int(values.numbers[values.known].max(initial=0))
    return Judged(verdict, count, inside, safe, independent, low, high, needed, largest)


def _reaches(found: float, share: float) -> bool:
    """Whether a share is at least the wanted one: 19 of 20 are 95 %, however floats round."""
    return found >= share - ROUNDING


def _more_runs(
    found: float, share: float, confidence: float, count: int, independent: float, design: Design
) -> int | None:
    """The runs that would show the share: whole seeds, as much alike as these runs."""
    needed = runs_needed(found, share, confidence)
    if needed is None:
        return None
    runs = math.ceil(needed * count / independent)
    return -(-runs // design.phases) * design.phases


def _more_phases(found: float, safe: float, share: float, phases: int) -> int | None:
    """The phases from which on the gaps matter no more, if as many of them stay uncertain."""
    if found <= share:
        return None
    return math.ceil(round((found - safe) * phases / (found - share), 6))


def _possible(runs: PointRuns, within: Flags) -> int:
    """Runs whose stretch up to the next phase may be within: at one of its two ends it is."""
    phases, place = np.unique(runs.phases_us, return_inverse=True)
    inside = np.bincount(place, within, len(phases)) > 0
    return int((within | np.roll(inside, -1)[place]).sum())


def _rise(design: Design, runs: PointRuns, name: str) -> Numbers:
    """By run, how far its measure may rise before the next phase, from the means of the phases.

    Between two phases a measure goes on as before, up to a break, and from there on as after the next phase.
    So the greatest of four numbers bounds it: both ends, and both trends continued to the other end. A step
    that is larger than both of its neighbours is a jump and no trend.
    """
    if design.drawn or design.phases == 1:
        return np.zeros(len(runs.runs))
    values = runs.measures[name]
    phases, place = np.unique(runs.phases_us, return_inverse=True)
    known = np.bincount(place[values.known], minlength=len(phases))
    sums = np.bincount(place[values.known], values.numbers[values.known], len(phases))
    here = np.divide(sums, known, out=np.full(len(phases), np.nan), where=known > 0)
    after = np.roll(here, -1)
    step = after - here
    size = np.abs(step)
    jump = (size > np.roll(size, 1)) & (size > np.roll(size, -1))
    trend = np.where(jump, 0.0, step)
    reached: Numbers = np.fmax.reduce([here, after, here + np.roll(trend, 1), after - np.roll(trend, -1)])
    rise = np.nan_to_num(reached - here, nan=0.0)
    return np.ceil(np.round(rise, 6))[place]
