"""By how much the brokers looked for new entries too late: the engine's run has the same lateness.

Rules: a dispatcher that reads to the end of its log at each look sends messages once per delay
(`managedLedgerNewEntriesCheckDelayInMillis`) and lateness, so the mean distance of its reads shows the mean
lateness; the engine draws from a uniform distribution with that mean. Only reads about one delay after the
one before count; with fewer messages it is notified instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from script.real_brokers.process import Event
from simulator.scenarios.model import Distribution

CHECK_DELAY_US = 10_000
"""The brokers' default, which the rig does not change."""

READS_LEAST = 100
"""The fewest reads whose mean shows a lateness: a second of one dispatcher."""

_SAME_READ_US = 1_000
_LONGEST_US = 15_000


def read_distances_us(events: Iterable[Event]) -> Iterator[int]:
    """The distances of reads that are about one delay apart; `events` are in the order of their instants."""
    latest_us: dict[tuple[str, str], int] = {}
    for event in events:
        if event["e"] != "dispatched":
            continue
        reader, at_us = (event["cluster"], event["topic"]), event["t"] // 1000
        distance_us = at_us - latest_us.get(reader, at_us - _LONGEST_US - 1)
        if distance_us < _SAME_READ_US:
            continue
        latest_us[reader] = at_us
        if CHECK_DELAY_US / 2 < distance_us <= _LONGEST_US:
            yield distance_us


def lateness(distances: Sequence[int]) -> Distribution | None:
    """The lateness that these distances show, or None with too few of them."""
    if len(distances) < READS_LEAST:
        return None
    mean_us = max(0, round(sum(distances) / len(distances)) - CHECK_DELAY_US)
    return Distribution("uniform", low_us=0, high_us=2 * mean_us)
