"""Whether a measure meets the target of the comparison, and why.

The target: the 95 % interval of the paired difference contains zero, or the difference is negligible; and
the two-sample test gives p > 0.05. Negligible means that the whole interval is within half a message or 3 %
of the real mean of zero. That is stricter than a narrow interval, which could be far from zero.
"""

from __future__ import annotations

from dataclasses import dataclass

from spark_reports.protocols.pulsar.fidelity.statistics import Interval

NEGLIGIBLE_MESSAGES = 0.5
NEGLIGIBLE_SHARE = 0.03
P_LEAST = 0.05

RUNS_WANTED = 60
"""Runs from which on an interval that contains zero says something: with few runs it is wide."""


@dataclass(frozen=True)
class Verdict:
    """Met or missed, with the reason as a sentence."""

    met: bool
    because: str


def limit_of(real_mean: float) -> float:
    """The largest negligible difference, in messages."""
    return max(NEGLIGIBLE_MESSAGES, NEGLIGIBLE_SHARE * abs(real_mean))


def judge(interval: Interval, real_mean: float, p: float) -> Verdict:
    """Compare an interval and a p with the target."""
    limit = limit_of(real_mean)
    parts = []
    if interval.furthest <= limit:
        parts.append(f"The whole interval is within {limit:.2f} messages of zero.")
    elif interval.contains_zero:
        parts.append("The interval contains zero.")
    else:
        parts.append(f"The interval excludes zero and reaches {interval.furthest:.2f} messages.")
    small = interval.furthest <= limit or interval.contains_zero
    parts.append(f"p = {p:.3f} is {'above' if p > P_LEAST else 'not above'} {P_LEAST}.")
    return Verdict(small and p > P_LEAST, " ".join(parts))
