"""Student's t distribution for whole degrees of freedom: cumulative probability and quantile.

The finite series are exact (Abramowitz and Stegun, 26.7.3 and 26.7.4). numpy has no quantiles of t, and
`docs/dependencies.md` says why scipy is not installed for them.
"""

from __future__ import annotations

import math


def t_probability(t: float, degrees: int) -> float:
    """The probability of a value up to `t`."""
    if degrees < 1:
        raise ValueError(f"{degrees} degrees of freedom; at least 1")
    angle = math.atan2(abs(t), math.sqrt(degrees))
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = degrees % 2
    term, terms = (cosine if odd else 1.0), 0.0
    for step in range(odd, degrees - 1, 2):
        terms += term
        term *= cosine * cosine * (step + 1) / (step + 2)
    inside = 2 / math.pi * (angle + sine * terms) if odd else sine * terms
    return 0.5 + math.copysign(inside / 2, t)


def t_quantile(probability: float, degrees: int) -> float:
    """The value that is not exceeded with this probability, by bisection to the last bit."""
    if not 0 < probability < 1:
        raise ValueError(f"probability {probability}; between 0 and 1")
    if probability < 0.5:
        return -t_quantile(1 - probability, degrees)
    low, high = 0.0, 1.0
    while t_probability(high, degrees) < probability:
        low, high = high, 2 * high
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if t_probability(middle, degrees) < probability else (low, middle)
    return high
