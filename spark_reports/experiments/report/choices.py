"""The choices of an experiment: settings that differ only in circumstances belong to one choice.

Rules: with `cheaper`, the parameters that it names are chosen, and the others are circumstances, such as a
latency: a choice meets the bound if it does under each of them. Tests that must all succeed need no
correction. Without `cheaper` every parameter is chosen.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from simulator.experiments import Axis, Experiment, Point, Wanted
from spark_reports.experiments.report.binomial import lower_bound, runs_needed, upper_bound
from spark_reports.experiments.report.figures import (
    SAMPLED,
    Design,
    Figures,
    Flags,
    Numbers,
    PointRuns,
    independent_runs,
)

# --- whether the runs of a point show that enough failovers stay within the wanted bound
#
# Rules: a failed run, and a run that never reached what is measured, is outside. Evenly spaced phases leave
# gaps. A run stands for the phases up to the next one, so it counts as *safely within* only if the measure
# stays within the bound there too: at the next phase, and where the trend on either side is continued up to
# it.


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


# --- the order of settings by cost: which one is the cheapest that meets a bound
#
# Rules: axes are compared one after the other, first those of `cheaper` in the order in which the file
# gives them, each from its preferred end, then the others in the order of their values in the file.
# `larger` compares numbers with their units; values that are not all numbers are compared by their order in
# the file.


UNITS = {"": 1, "%": 1}
UNITS |= {"us": 1, "ms": 1_000, "s": 1_000_000, "m": 60_000_000, "h": 3_600_000_000}
UNITS |= {"B": 1, "KB": 10**3, "KiB": 2**10, "MB": 10**6, "MiB": 2**20, "GB": 10**9}
"""The units of scenario files; values of one parameter are of one kind, so the kinds may share numbers."""

_QUANTITY = re.compile(r"\s*(-?\d+(?:\.\d+)?)\s*([A-Za-z%]*)(?:/s)?\s*")


def cheapest_first(experiment: Experiment) -> list[Point]:
    """The points of the grid, from the cheapest on."""
    directions = dict(experiment.cheaper)
    axes = {axis.path: axis for axis in experiment.axes}
    paths = list(dict.fromkeys([*directions, *axes]))
    ranks = {path: _ranks(axes[path], directions.get(path)) for path in paths}

    def cost(point: Point) -> list[Fraction]:
        return [ranks[path][point.values[path]] for path in paths]

    return sorted(experiment.points, key=lambda point: (cost(point), point.number))


def _ranks(axis: Axis, direction: str | None) -> dict[str, Fraction]:
    """The cost of each value: the smaller, the cheaper."""
    places = {value: Fraction(place) for place, value in enumerate(axis.values)}
    if direction is None:
        return places
    sizes = {value: magnitude(value) for value in axis.values}
    numbers = {value: size for value, size in sizes.items() if size is not None}
    ranks = numbers if len(numbers) == len(sizes) else places
    return {value: -rank if direction == "larger" else rank for value, rank in ranks.items()}


def magnitude(text: str) -> Fraction | None:
    """The number that a value such as 500, 1.5s or 10MB stands for; None for another text."""
    match = _QUANTITY.fullmatch(text)
    if match is None or match[2] not in UNITS:
        return None
    return Fraction(match[1]) * UNITS[match[2]]


@dataclass(frozen=True)
class Setting:
    """A point of the grid with what was measured there."""

    point: Point
    runs: PointRuns
    design: Design
    figures: dict[str, Figures]
    judged: Judged | None

    @property
    def share_within(self) -> float:
        """The share of runs within the bound; below 0 without runs."""
        return self.judged.within / self.judged.runs if self.judged and self.judged.runs else -1.0

    @property
    def largest(self) -> int:
        """The largest value of the wanted measure."""
        return self.judged.largest if self.judged else 0


@dataclass(frozen=True)
class Choice:
    """The values that are chosen, and its settings, one for each combination of circumstances."""

    values: dict[str, str]
    settings: tuple[Setting, ...]

    @property
    def verdict(self) -> str:
        """Meets the bound, misses it, or undecided."""
        verdicts = {one.judged.verdict for one in self.settings if one.judged}
        return next((one for one in (MISSES, UNDECIDED, MEETS) if one in verdicts), UNDECIDED)

    @property
    def weakest(self) -> Setting:
        """The setting with the smallest share within the bound, of equal ones the largest value."""
        return min(
            self.settings, key=lambda one: (one.share_within, -one.judged.largest if one.judged else 0)
        )

    @property
    def runs(self) -> int:
        """The runs of all of its settings."""
        return sum(len(one.runs.runs) for one in self.settings)

    @property
    def within(self) -> int:
        """Its runs within the bound."""
        return sum(one.judged.within for one in self.settings if one.judged)

    @property
    def sampled(self) -> bool:
        """Whether a confidence belongs to it."""
        return any(one.design.kind == SAMPLED for one in self.settings)

    @property
    def needed(self) -> int | None:
        """Runs, or phases, for each of its settings that would decide; None if no number would."""
        found = [one.judged.needed for one in self.settings if one.judged and one.judged.verdict == UNDECIDED]
        known = [one for one in found if one is not None]
        return max(known) if known and len(known) == len(found) else None


def chosen_paths(experiment: Experiment) -> list[str]:
    """The parameters that are chosen, in the order of the grid."""
    paths = [axis.path for axis in experiment.axes]
    preferred = dict(experiment.cheaper)
    return [path for path in paths if path in preferred] or paths


def circumstances(experiment: Experiment) -> list[str]:
    """The parameters with several values that are not chosen."""
    chosen = chosen_paths(experiment)
    return [axis.path for axis in experiment.axes if axis.path not in chosen and len(axis.values) > 1]


def choices_of(experiment: Experiment, settings: Sequence[Setting]) -> tuple[Choice, ...]:
    """The choices, in the order of their first settings."""
    paths = chosen_paths(experiment)
    groups: dict[tuple[str, ...], list[Setting]] = {}
    for one in settings:
        groups.setdefault(tuple(one.point.values[path] for path in paths), []).append(one)
    return tuple(
        Choice(dict(zip(paths, values, strict=True)), tuple(members)) for values, members in groups.items()
    )
