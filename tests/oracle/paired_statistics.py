"""Statistics of paired figures, a second time: plain Python by definition, without numpy.

It shares no code with `spark_reports/protocols/pulsar/fidelity/statistics.py` and no random numbers: the exact two-sample test
enumerates every labelling, and the bootstrap draws its own resamples.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from itertools import combinations
from statistics import NormalDist


def t_density(t: float, degrees: int) -> float:
    scale = math.exp(math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2)) / math.sqrt(degrees * math.pi)
    return scale * (1 + t * t / degrees) ** (-(degrees + 1) / 2)


def t_probability(t: float, degrees: int, steps: int = 4000) -> float:
    """The integral of the density by Simpson's rule, from 0."""
    width = t / steps
    inner = sum((4 if at % 2 else 2) * t_density(at * width, degrees) for at in range(1, steps))
    return 0.5 + width / 3 * (t_density(0, degrees) + inner + t_density(t, degrees))


def mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def standard_error(values: Sequence[float]) -> float:
    middle = mean(values)
    return math.sqrt(math.fsum((one - middle) ** 2 for one in values) / (len(values) - 1) / len(values))


def skewness(values: Sequence[float]) -> float:
    middle = mean(values)
    second = math.fsum((one - middle) ** 2 for one in values) / len(values)
    third = math.fsum((one - middle) ** 3 for one in values) / len(values)
    return third / second**1.5 if len(set(values)) > 1 else 0.0


def bootstrap_bounds(
    values: Sequence[float], draws: random.Random, resamples: int = 4000
) -> tuple[float, float]:
    """Bounds of the BCa interval at 95 %, step by step as Efron defines them."""
    middle = mean(values)
    means = sorted(mean(draws.choices(values, k=len(values))) for _ in range(resamples))
    share = (sum(one < middle for one in means) + sum(one == middle for one in means) / 2) / resamples
    normal = NormalDist()
    bias = normal.inv_cdf(share)
    without = [mean([*values[:at], *values[at + 1 :]]) for at in range(len(values))]
    centre = mean(without)
    cubes = math.fsum((centre - one) ** 3 for one in without)
    squares = math.fsum((centre - one) ** 2 for one in without)
    acceleration = cubes / (6 * squares**1.5)
    found = []
    for level in (0.025, 0.975):
        shifted = bias + normal.inv_cdf(level)
        place = normal.cdf(bias + shifted / (1 - acceleration * shifted))
        found.append(means[min(resamples - 1, int(place * resamples))])
    return found[0], found[1]


def ks_distance(real: Sequence[float], simulated: Sequence[float]) -> float:
    """The largest difference of the two shares up to any value."""
    return max(
        abs(
            sum(one <= value for one in real) / len(real)
            - sum(one <= value for one in simulated) / len(simulated)
        )
        for value in {*real, *simulated}
    )


def exact_ks_p(real: Sequence[float], simulated: Sequence[float]) -> float:
    """The share of all labellings whose distance is at least the observed one."""
    pooled = [*real, *simulated]
    observed = ks_distance(real, simulated)
    distances = []
    for chosen in combinations(range(len(pooled)), len(real)):
        kept = set(chosen)
        distances.append(
            ks_distance(
                [pooled[at] for at in chosen],
                [value for at, value in enumerate(pooled) if at not in kept],
            )
        )
    return sum(one >= observed - 1e-12 for one in distances) / len(distances)
