"""Makes curves from the few rows of Spark's series, in the driver.

Rules: plain values in and out. A curve is a list of [instant in seconds, value], with `None` where there is
no value.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from spark_reports.protocols.pulsar.transforms.protocol import ABSENT
from spark_reports.protocols.pulsar.transforms.series import SAMPLES
from spark_reports.transforms import LEDGER_STEP, NEVER

SECOND_US = 1_000_000


def bin_width_us(until_us: int) -> int:
    """The width of a bin for a run's length, µs."""
    return max(1, -(-until_us // SAMPLES))


def ledger_starts(log_rows: list[Any]) -> dict[tuple[str, str], dict[int, int]]:
    """The ordinal of each ledger's first entry, by cluster and topic."""
    lengths: dict[tuple[str, str], dict[int, int]] = defaultdict(dict)
    for row in log_rows:
        ledgers = lengths[(row.cluster, row.topic)]
        ledgers[row.ledger] = max(ledgers.get(row.ledger, 0), row.last_entry + 1)
    starts: dict[tuple[str, str], dict[int, int]] = {}
    for where, ledgers in lengths.items():
        total = 0
        starts[where] = {}
        for ledger in sorted(ledgers):
            starts[where][ledger] = total
            total += ledgers[ledger]
    return starts


def ordinal(place: int, starts: dict[int, int]) -> int:
    """How many entries are at or below a position. Past the last ledger it is a number past the log's end."""
    ledger, entries = divmod(place + 1, LEDGER_STEP)  # entry -1 is before the first of its ledger
    if ledger in starts:
        return starts[ledger] + entries
    later = [start for number, start in starts.items() if number > ledger]
    return min(later) if later else LEDGER_STEP


def positions(
    log_rows: list[Any], mark_rows: list[Any], bin_us: int, bins: int, topics: set[str], subscription: str
) -> dict[str, dict[str, list]]:
    """The end of the log and the mark-delete as entries over time, by cluster.

    They are summed over the subscription's topics.
    """
    starts = ledger_starts(log_rows)
    found: dict[str, dict[str, list]] = {}
    for cluster in sorted({row.cluster for row in log_rows if row.topic in topics}):
        ends = [0] * bins
        marks: list[int | None] = [None] * bins
        for topic in sorted(topics):
            where = (cluster, topic)
            if where not in starts:
                continue
            figures = [
                (row.bin, starts[where][row.ledger] + row.last_entry + 1)
                for row in log_rows
                if (row.cluster, row.topic) == where
            ]
            end = _filled(figures, bins, 0)
            placed = [
                (row.bin, _placed(row.mark, starts[where]))
                for row in mark_rows
                if (row.cluster, row.topic, row.subscription) == (*where, subscription)
            ]
            mark = _filled(placed, bins, None)
            ends = [one + other for one, other in zip(ends, end, strict=True)]
            marks = [
                _sum(one, None if other is None else min(other, limit))
                for one, other, limit in zip(marks, mark, end, strict=True)
            ]
        found[cluster] = {"end": _timed(ends, bin_us), "mark": _timed(marks, bin_us)}
    return found


def _placed(mark: int, starts: dict[int, int]) -> int | None:
    return None if mark == ABSENT else ordinal(mark, starts)


def _sum(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else one + other


def _filled(found: list[tuple[int, int | None]], bins: int, empty: int | None) -> list:
    """The last value recorded up to each bin."""
    values = dict(sorted(found, key=lambda pair: (pair[0], -1 if pair[1] is None else pair[1])))
    filled, last = [], empty
    for number in range(bins):
        last = values.get(number, last)
        filled.append(last)
    return filled


def _timed(values: list, bin_us: int) -> list[list]:
    return [[(number + 1) * bin_us / SECOND_US, value] for number, value in enumerate(values)]


def covering_steps(
    mark_rows: list[Any], cluster: str, topic: str, subscription: str, bins: int
) -> list[tuple[int, int, int]]:
    """The steps of a mark-delete over time, as (low, high, bin).

    The positions above `low` up to `high` are first covered by the mark-delete at the end of that bin. In bin
    `bins` they are never covered.
    """
    found = [
        (row.bin, row.mark)
        for row in mark_rows
        if (row.cluster, row.topic, row.subscription) == (cluster, topic, subscription)
    ]
    steps, highest = [], ABSENT
    for number, mark in enumerate(_filled(found, bins, ABSENT)):
        if mark > highest:
            steps.append((highest, mark, number))
            highest = mark
    return [*steps, (highest, NEVER, bins)]


def risk_and_lag(coverage: list[Any], bin_us: int, bins: int) -> dict[str, list]:
    """Curves of a failover's risk and lag.

    `risk` is the duplicates if the consumers moved at each instant, `lag` the age of the oldest message that
    the target's cursor does not cover.
    """
    change = [0] * (bins + 1)
    oldest: list[int | None] = [None] * bins
    for row in coverage:
        begin = row.risky_bin
        if begin is not None and begin < row.covered_bin:
            change[min(begin, bins)] += row.messages
            change[min(row.covered_bin, bins)] -= row.messages
        for number in range(row.stored_bin, min(row.covered_bin, bins)):
            oldest[number] = row.oldest_us if oldest[number] is None else min(oldest[number], row.oldest_us)
    risk, total = [], 0
    for number in range(bins):
        total += change[number]
        risk.append(total)
    lag = [
        0.0 if first is None else ((number + 1) * bin_us - first) / SECOND_US
        for number, first in enumerate(oldest)
    ]
    return {"risk": _timed(risk, bin_us), "lag": _timed(lag, bin_us)}
