"""Whether real and simulated runs are equal in a measure, as an equivalence test.

Rules: a difference of half a message or 3 % of the real mean, whichever is larger, is negligible. A measure
is *equal* if its whole 95 % interval is within that limit, *different* if the whole interval is beyond it,
and otherwise not decided: then more runs are needed. So a wide interval never makes a measure equal. The
two-sample test decides nothing, because a large p is no evidence that two distributions are equal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

from spark_reports.html.numbers import number, plural
from spark_reports.protocols.pulsar.fidelity.statistics import LEVEL, Interval
from spark_reports.student import t_quantile

NEGLIGIBLE_MESSAGES = 0.5
NEGLIGIBLE_SHARE = 0.03
P_LEAST = 0.05

EQUAL, DIFFERENT, NOT_DECIDED = "equal", "different", "not decided"

RUNS_WANTED = 60
"""Fewer runs are marked: a kind of difference that occurs in one of twenty runs may be in none of them."""

RUNS_MOST = 1_000_000
"""Runs beyond which no number is named."""


MANY = 1_000
"""Runs beyond which Student's t is close to the normal distribution."""


@dataclass(frozen=True)
class Verdict:
    """One of the three words, the reason as a sentence, and how many more runs would decide."""

    word: str
    because: str
    further_runs: int | None = None
    """About so many, if mean and spread stay as they are; None where decided, or above `RUNS_MOST`."""


def limit_of(real_mean: float) -> float:
    """The largest negligible difference, in messages."""
    return max(NEGLIGIBLE_MESSAGES, NEGLIGIBLE_SHARE * abs(real_mean))


def judge(interval: Interval, pairs: int, real_mean: float, p: float) -> Verdict:
    """The verdict about the mean difference of so many pairs."""
    limit = limit_of(real_mean)
    word, further = NOT_DECIDED, None
    if interval.furthest <= limit:
        word = EQUAL
        because = f"The whole interval is within {limit:.2f} messages of zero."
    elif interval.nearest > limit:
        word = DIFFERENT
        because = f"The whole interval is more than {limit:.2f} messages away from zero."
    else:
        wanted = runs_needed(interval, pairs, limit)
        further = None if wanted is None else max(1, wanted - pairs)
        becomes = EQUAL if abs(interval.mean) < limit else DIFFERENT
        because = (
            f"The interval reaches {interval.furthest:.2f} messages, beyond the limit of {limit:.2f}, and is "
            f"not wholly beyond it. {_further_words(further, becomes)}"
        )
    if p <= P_LEAST:
        because += f" The two-sample test finds different distributions: p = {p:.3f}."
    return Verdict(word, because, further)


def runs_needed(interval: Interval, pairs: int, limit: float) -> int | None:
    """The fewest runs whose interval would decide, with this mean and spread; None above `RUNS_MOST`."""
    distance = abs(limit - abs(interval.mean))
    deviation = interval.half / _t(pairs) * math.sqrt(pairs)
    low, high = 2, RUNS_MOST
    if _t(high) * deviation / math.sqrt(high) > distance:
        return None
    while low < high:
        middle = (low + high) // 2
        if _t(middle) * deviation / math.sqrt(middle) <= distance:
            high = middle
        else:
            low = middle + 1
    return low


def _t(runs: int) -> float:
    """The quantile of Student's t; of many runs that of the normal distribution, 0.2 % less."""
    share = (1 + LEVEL) / 2
    return NormalDist().inv_cdf(share) if runs > MANY else t_quantile(share, runs - 1)


def _further_words(further: int | None, becomes: str) -> str:
    if further is None:
        return f"Not even {number(RUNS_MOST)} runs would decide: the mean difference is at the limit."
    runs = plural(further, "further run", "further runs")
    return f"About {runs} would make it {becomes}, if mean and spread stay as they are."
