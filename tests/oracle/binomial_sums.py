"""Statistics of an experiment, a second time: exact sums of fractions by definition, in plain Python.

It shares no code with `spark_reports/experiments/report/` and uses neither floats nor numpy. Runs are plain
dicts with the seed, the phase and the value, None for a run without a value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product
from math import comb
from typing import Any

Run = dict[str, Any]


def at_least(successes: int, runs: int, share: Fraction) -> Fraction:
    """The probability of so many successes or more."""
    return sum(
        (comb(runs, one) * share**one * (1 - share) ** (runs - one) for one in range(successes, runs + 1)),
        Fraction(0),
    )


def encloses_lower_bound(successes: int, runs: int, confidence: Fraction, bound: float, apart: float) -> bool:
    """Whether a bound is Clopper and Pearson's: a share below it is too unlikely, one above it is not."""
    below, above = Fraction(max(0.0, bound - apart)), Fraction(min(1.0, bound + apart))
    unlikely = 1 - confidence
    return at_least(successes, runs, below) <= unlikely <= at_least(successes, runs, above)


def fewest_runs(wanted: Fraction, confidence: Fraction) -> int:
    """The fewest runs, all within, that show a share."""
    runs = 1
    while wanted**runs > 1 - confidence:
        runs += 1
    return runs


def ranks(runs: int, quantile: Fraction, confidence: Fraction) -> tuple[int | None, int | None]:
    """The innermost order statistics, each with at most half of the remaining probability outside."""
    tail = (1 - confidence) / 2
    up_to = [1 - at_least(one + 1, runs, quantile) for one in range(runs + 1)]
    low = [rank for rank in range(1, runs + 1) if up_to[rank - 1] <= tail]
    high = [rank for rank in range(1, runs + 1) if 1 - up_to[rank - 1] <= tail]
    return (max(low) if low else None), (min(high) if high else None)


def mean(values: Sequence[Fraction | int]) -> Fraction:
    return Fraction(sum(values), 1) / len(values)


def variance(values: Sequence[Fraction | int], less: int = 0) -> Fraction:
    middle = mean(values)
    return sum(((one - middle) ** 2 for one in values), Fraction(0)) / (len(values) - less)


def design_effect(by_seed: list[list[int]], drawn: bool) -> Fraction | None:
    """Of complete seeds: the variance of their means, compared with that of independent runs."""
    phases = len(by_seed[0])
    if drawn:
        of_a_run = variance([one for row in by_seed for one in row], 1)
    else:
        of_a_run = mean([variance([row[phase] for row in by_seed], 1) for phase in range(phases)])
    if not of_a_run:
        return None
    return phases * variance([mean(row) for row in by_seed], 1) / of_a_run


def reaches(means: list[Fraction]) -> list[Fraction]:
    """By phase, the largest value up to the next one, if trends, but not jumps, go on to the next one."""
    count = len(means)

    def step(here: int) -> Fraction:
        return means[(here + 1) % count] - means[here % count]

    def trend(here: int) -> Fraction:
        neighbours = abs(step(here - 1)), abs(step(here + 1))
        return Fraction(0) if abs(step(here)) > max(neighbours) else step(here)

    return [
        max(
            means[here],
            means[(here + 1) % count],
            means[here] + trend(here - 1),
            means[(here + 1) % count] - trend(here + 1),
        )
        for here in range(count)
    ]


def variance_shares(
    axes: list[list[str]], values_at: Callable[[tuple[str, ...]], list[int]]
) -> tuple[dict[tuple[int, ...], Fraction], Fraction]:
    """The share of each main effect and of each pair of parameters, and that within the settings."""
    points = list(product(*axes))
    means = {point: mean(values_at(point)) for point in points}
    within = mean([variance(values_at(point)) for point in points])
    total = variance(list(means.values())) + within

    def explained(*kept: int) -> Fraction:
        levels: dict[tuple[str, ...], list[Fraction]] = {}
        for point in points:
            levels.setdefault(tuple(point[one] for one in kept), []).append(means[point])
        return variance([mean(one) for one in levels.values()])

    found = {(one,): explained(one) / total for one in range(len(axes))}
    for first in range(len(axes)):
        for second in range(first + 1, len(axes)):
            both = explained(first, second) - explained(first) - explained(second)
            found[first, second] = both / total
    return found, within / total


def cheapest(
    outside: dict[tuple[str, str], int], runs: int, share: Fraction, confidence: Fraction
) -> tuple[str, str | None]:
    """The verdict over (chosen value, circumstance), the cheapest first, and the chosen value if there is one.

    `outside` counts the runs of each that are outside the bound; all runs are independent.
    """
    verdicts: dict[str, set[str]] = {}
    for (value, _), out in outside.items():
        if at_least(runs - out, runs, share) <= 1 - confidence:
            verdict = "meets"
        elif 1 - at_least(runs - out + 1, runs, share) < 1 - confidence:
            verdict = "misses"
        else:
            verdict = "undecided"
        verdicts.setdefault(value, set()).add(verdict)
    for value, found in verdicts.items():
        if found == {"meets"}:
            return "meets", value
    return ("misses" if all("misses" in found for found in verdicts.values()) else "undecided"), None
