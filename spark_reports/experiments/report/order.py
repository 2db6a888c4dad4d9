"""The order of settings by cost: which one is the cheapest that meets a bound.

Rules: axes are compared one after the other, first those of `cheaper` in the order in which the file gives
them, each from its preferred end, then the others in the order of their values in the file. `larger` compares
numbers with their units; values that are not all numbers are compared by their order in the file.
"""

from __future__ import annotations

import re
from fractions import Fraction

from simulator.experiments import Axis, Experiment, Point

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
