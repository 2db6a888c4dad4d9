"""The choices of an experiment: settings that differ only in circumstances belong to one choice.

Rules: with `cheaper`, the parameters that it names are chosen, and the others are circumstances, such as a
latency: a choice meets the bound if it does under each of them. Tests that must all succeed need no
correction. Without `cheaper` every parameter is chosen.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from simulator.experiments import Axis, Experiment, Point
from spark_reports.experiments.report.bound import MEETS, MISSES, UNDECIDED, Judged
from spark_reports.experiments.report.figures import SAMPLED, Design, Figures, PointRuns

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
