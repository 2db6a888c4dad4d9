"""Exact bounds from the binomial distribution: of a share (Clopper-Pearson) and of quantiles.

Rules: quantiles are bounded by order statistics. The number of runs may be a real number, because runs that
are alike count as fewer independent ones. The tails are incomplete beta functions, which continue the
binomial sums to real numbers. numpy has none, and `docs/dependencies.md` says why scipy is not installed for
them. `tests/oracle/binomial_sums.py` has the sums.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

TINY = 1e-300
"""Keeps the continued fraction from dividing by zero."""

PRECISION = 1e-15

RUNS_MOST = 1e9
"""More runs than any experiment has: where even they do not suffice, no number is given."""


def at_least(successes: float, runs: float, share: float) -> float:
    """The probability of at least so many successes in so many independent runs."""
    if successes <= 0:
        return 1.0
    if successes > runs:
        return 0.0
    return _beta(share, successes, runs - successes + 1)


def lower_bound(successes: float, runs: float, confidence: float) -> float:
    """Clopper and Pearson's one-sided lower bound of the share of successes."""
    if successes <= 0:
        return 0.0
    if successes >= runs:
        return (1 - confidence) ** (1 / runs)
    return _solved(lambda share: at_least(successes, runs, share) > 1 - confidence)


def upper_bound(successes: float, runs: float, confidence: float) -> float:
    """Clopper and Pearson's one-sided upper bound of the share of successes."""
    return 1 - lower_bound(runs - successes, runs, confidence)


def runs_needed(found: float, wanted: float, confidence: float) -> int | None:
    """How many independent runs show the wanted share if the found share stays; None if none would."""
    if found <= wanted:
        return None

    def enough(runs: float) -> bool:
        return at_least(found * runs, runs, wanted) <= 1 - confidence

    few, many = 0, 1
    while not enough(many):
        few, many = many, 2 * many
        if many > RUNS_MOST:
            return None
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (few, middle) if enough(middle) else (middle, many)
    return many


@lru_cache(maxsize=4096)
def quantile_ranks(runs: int, quantile: float, confidence: float) -> tuple[int | None, int | None]:
    """The ranks, from 1, of the two order statistics that enclose a quantile with this confidence.

    Each side errs with at most half of the remaining probability, whatever the distribution is. None where
    so few runs have no such order statistic.
    """
    tail = (1 - confidence) / 2
    low = _last(lambda rank: 1 - at_least(rank, runs, quantile) <= tail, runs)
    high = 1 + _last(lambda rank: at_least(rank, runs, quantile) > tail, runs)
    return low or None, high if high <= runs else None


def nearest_rank(ordered: Sequence[int] | NDArray[np.int64], total: int, quantile: float) -> int | None:
    """The quantile of `total` runs, of which those without a value are the last ones."""
    rank = max(1, math.ceil(round(quantile * total, 9)))
    return int(ordered[rank - 1]) if rank <= len(ordered) else None


def _last(holds: Callable[[int], bool], most: int) -> int:
    """The largest rank, at most `most`, for which a condition holds that holds up to some rank; else 0."""
    few, many = 0, most + 1
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (middle, many) if holds(middle) else (few, middle)
    return few


def _solved(above: Callable[[float], bool]) -> float:
    """The share from which on a growing condition holds, by bisection to the last bit."""
    low, high = 0.0, 1.0
    while low < (middle := (low + high) / 2) < high:
        low, high = (low, middle) if above(middle) else (middle, high)
    return low


def _beta(share: float, a: float, b: float) -> float:
    """The regularised incomplete beta function."""
    if share <= 0 or share >= 1:
        return float(share >= 1)
    scale = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    front = math.exp(scale + a * math.log(share) + b * math.log1p(-share))
    if share < (a + 1) / (a + b + 2):
        return front * _fraction(share, a, b) / a
    return 1 - front * _fraction(1 - share, b, a) / b


def _fraction(x: float, a: float, b: float) -> float:
    """The continued fraction of the incomplete beta function, by Lentz's method."""
    c, d = 1.0, 1 / _apart(1 - (a + b) * x / (a + 1))
    found, step = d, 0
    while True:
        step += 1
        twice = a + 2 * step
        for factor in (
            step * (b - step) * x / ((twice - 1) * twice),
            -(a + step) * (a + b + step) * x / (twice * (twice + 1)),
        ):
            d = 1 / _apart(1 + factor * d)
            c = _apart(1 + factor / c)
            found *= c * d
        if abs(c * d - 1) < PRECISION:
            return found


def _apart(value: float) -> float:
    return value if abs(value) > TINY else TINY
