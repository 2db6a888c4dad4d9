"""A distribution for the twin's option, fitted to what many events of a run on real brokers took.

Rules: a lognormal with the median and the upper quartile, so that the few events that waited for something
else, such as the load of a topic, do not decide.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import log
from statistics import NormalDist

from simulator.scenarios.model import Distribution

SAMPLES_LEAST = 30
"""The fewest events that a distribution is fitted to."""

HIGH = 0.75
"""The quantile that gives the shape: a stall of the machine that delays fewer events does not change it."""


LONGEST_US = 10_000_000
"""No draw is longer: after a stall of the machine a wide spread would otherwise give draws of hours."""

_OUTERMOST = NormalDist().inv_cdf(1 - 1 / 8_192)
"""The standard deviations of the longest draw (`simulator.kernel.distributions`)."""


def fitted(took_ns: Iterable[int]) -> Distribution | None:
    """The lognormal of these durations in microseconds, or None with too few of them."""
    ordered = sorted(took_ns)
    if len(ordered) < SAMPLES_LEAST:
        return None
    median_us = max(1, ordered[len(ordered) // 2] // 1000)
    high_us = max(median_us, ordered[int(len(ordered) * HIGH)] // 1000)
    widest = max(0.0, log(LONGEST_US / median_us) / _OUTERMOST)
    sigma = min(widest, log(high_us / median_us) / NormalDist().inv_cdf(HIGH))
    return Distribution("lognormal", value_us=median_us, sigma_millionths=round(sigma * 1000) * 1000)
