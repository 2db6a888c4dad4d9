"""Statistics of paired figures, a second time: plain Python by definition, without numpy.

It shares no code with `spark_reports/protocols/pulsar/fidelity/summary.py` and no random numbers: the exact two-sample test
enumerates every labelling.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations


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
