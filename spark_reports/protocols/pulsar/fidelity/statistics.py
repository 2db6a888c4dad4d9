"""Statistics of paired figures: intervals, shares and a two-sample test, as pure functions.

Rules: a difference is real minus simulated. Random draws come from a generator that the caller's key seeds,
so equal input and key give equal results in any order of calls. Every function has a second implementation
in plain Python in `tests/oracle/paired_statistics.py`.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spark_reports.student import t_quantile

LEVEL = 0.95
"""Confidence level of all intervals."""

SHUFFLES = 10_000
"""Shuffles of the permutation test: p is known to 0.01 or better."""

AT_ONCE = 1_000
"""Shuffles computed at once, which bounds memory: 10,000 runs take 80 MB."""

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Interval:
    """The mean of differences with the bounds of its 95 % interval."""

    mean: float
    low: float
    high: float

    @property
    def contains_zero(self) -> bool:
        """Whether no difference at all is compatible with the runs."""
        return self.low <= 0 <= self.high

    @property
    def half(self) -> float:
        """Half of the interval's length."""
        return (self.high - self.low) / 2

    @property
    def nearest(self) -> float:
        """The smallest absolute difference inside the interval."""
        return 0.0 if self.contains_zero else min(abs(self.low), abs(self.high))

    @property
    def furthest(self) -> float:
        """The largest absolute difference inside the interval."""
        return max(abs(self.low), abs(self.high))


def generator(*key: str) -> np.random.Generator:
    """A random generator that the key alone decides."""
    digest = hashlib.sha256("\n".join(key).encode()).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest[:16], "big")))


def t_interval(differences: Sequence[float]) -> Interval:
    """Student's t interval of the mean.

    Most pairs are equal, and a few differ by a whole snapshot period in either direction. For such
    differences it contains the true mean about as often as it says, and a bootstrap interval does not.
    """
    values = _several(differences)
    mean = float(values.mean())
    error = float(values.std(ddof=1)) / math.sqrt(len(values))
    half = t_quantile((1 + LEVEL) / 2, len(values) - 1) * error
    return Interval(mean, mean - half, mean + half)


def equal_share(differences: Sequence[float]) -> float:
    """The share of pairs without a difference."""
    return sum(one == 0 for one in differences) / len(differences)


def within_one_share(differences: Sequence[float]) -> float:
    """The share of pairs that differ by one at most."""
    return sum(abs(one) <= 1 for one in differences) / len(differences)


def ks_distance(real: Sequence[float], simulated: Sequence[float]) -> float:
    """Kolmogorov-Smirnov's distance: the largest gap between the two cumulative distributions."""
    weights, ends = _pooled(real, simulated)
    return int(np.abs(np.cumsum(weights)[ends]).max()) / (len(real) * len(simulated))


def ks_permutation_p(real: Sequence[float], simulated: Sequence[float], *key: str) -> float:
    """p of the two-sample permutation test with Kolmogorov-Smirnov's distance.

    The labels of the pooled values are shuffled, so that ties are treated exactly, unlike in the test's usual
    formula for continuous values. p counts the observed labels as one of the shuffles and is never 0.
    """
    weights, ends = _pooled(real, simulated)
    observed = int(np.abs(np.cumsum(weights)[ends]).max())
    random = generator("permutation", *key)
    as_far = 0
    for size in _batches():
        shuffled = random.permuted(np.broadcast_to(weights, (size, len(weights))), axis=1)
        distances = np.abs(np.cumsum(shuffled, axis=1)[:, ends]).max(axis=1)
        as_far += int((distances >= observed).sum())
    return (1 + as_far) / (1 + SHUFFLES)


def _several(differences: Sequence[float]) -> Values:
    if len(differences) < 2:
        raise ValueError(f"{len(differences)} differences; an interval needs at least 2")
    return np.asarray(differences, dtype=np.float64)


def _batches() -> list[int]:
    return [AT_ONCE] * (SHUFFLES // AT_ONCE) + [SHUFFLES % AT_ONCE] * (SHUFFLES % AT_ONCE > 0)


def _pooled(real: Sequence[float], simulated: Sequence[float]) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
    """Steps of the scaled difference of both distributions by value, and the last one of each value."""
    if not len(real) or not len(simulated):
        raise ValueError("a two-sample test needs values on both sides")
    values = np.concatenate([np.asarray(real, dtype=np.float64), np.asarray(simulated, dtype=np.float64)])
    steps = np.concatenate(
        [np.full(len(real), len(simulated), np.int64), np.full(len(simulated), -len(real), np.int64)]
    )
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    ends = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True))
    return steps[order], ends
