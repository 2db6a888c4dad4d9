"""Runs of indices in a bitmap, and how Pulsar prints them, `[(1:5..1:6],(1:8..1:9]]`.

Rules: a run is (first, last), both in it. Nothing here walks entries one by one: runs are found by searching
the bitmap or by whole-array operations, so with a million holes only the requested part costs. Printed ranges
are open-closed and never cross a ledger (`ManagedCursorImpl.getIndividuallyDeletedMessages`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

import numpy as np
from pyroaring import BitMap

from simulator.log.ledgers import TopicLog

CUT = ",…]"
"""How a text ends that was cut at a number of characters."""


def run_end(entries: BitMap, first: int) -> int:
    """The last index of the run that contains `first`, in logarithmic time."""
    contains_range = entries.contains_range
    end, stride = first, 1
    while contains_range(end, end + 1 + stride):
        end += stride
        stride *= 2
    while stride > 1:
        stride //= 2
        if contains_range(end, end + 1 + stride):
            end += stride
    return end


def run_starts(entries: BitMap) -> BitMap:
    """The first index of every run."""
    return entries - entries.shift(1)


def count_runs(entries: BitMap) -> int:
    """How many runs there are."""
    return entries.difference_cardinality(entries.shift(1))


def next_in(entries: BitMap, index: int) -> int | None:
    """The first index in the bitmap from `index` on."""
    return entries.next_set_bit(index) if entries and index <= entries.max() else None


def runs(entries: BitMap, limit: int | None = None) -> list[tuple[int, int]]:
    """The runs in order, or the first `limit` of them."""
    return _all_runs(entries) if limit is None else list(islice(_each_run(entries), limit))


def _each_run(entries: BitMap) -> Iterator[tuple[int, int]]:
    """The runs in order, each found on demand."""
    first = next_in(entries, 0)
    while first is not None:
        last = run_end(entries, first)
        yield first, last
        first = next_in(entries, last + 1)


def _all_runs(entries: BitMap) -> list[tuple[int, int]]:
    if not entries:
        return []
    return runs_in(np.frombuffer(entries.to_array(), dtype=np.uint32).astype(np.int64))


def runs_in(indices: np.ndarray) -> list[tuple[int, int]]:
    """The runs of successive indices in an array that increases and is not empty."""
    breaks = (indices[1:] - indices[:-1] != 1).nonzero()[0]
    if not len(breaks):  # by far the most frequent among acks
        return [(int(indices[0]), int(indices[-1]))]
    firsts = indices[np.concatenate(([0], breaks + 1))]
    lasts = indices[np.concatenate((breaks, [len(indices) - 1]))]
    return list(zip(firsts.tolist(), lasts.tolist()))


def split_at_ledgers(found: Iterable[tuple[int, int]], log: TopicLog) -> Iterator[tuple[int, int, int]]:
    """Splits runs, which are in order, at ledger borders.

    Yields (ledger, first entry, last entry).
    """
    start = end = ledger_id = 0  # no ledger yet: every index is past its end
    for first, last in found:
        while first <= last:
            if first >= end:
                ledger_id, start, end = log.span(first)
            piece_end = min(last, end - 1)
            yield ledger_id, first - start, piece_end - start
            first = piece_end + 1


def ranges_text(entries: BitMap, log: TopicLog, limit_chars: int | None = None) -> str:
    """The runs as `stats-internal` prints individually deleted messages.

    With a limit the text is cut after a whole range, ends in `,…]`, and costs no more than what is shown.
    """
    found = _all_runs(entries) if limit_chars is None else _each_run(entries)
    parts: list[str] = []
    used = len("[")
    for ledger_id, first_entry, last_entry in split_at_ledgers(found, log):
        part = f"({ledger_id}:{first_entry - 1}..{ledger_id}:{last_entry}]"
        used += len(part) + len(",")  # the last part has the closing bracket in place of the comma
        if limit_chars is not None and used > limit_chars:
            return _cut(parts, limit_chars)
        parts.append(part)
    return f"[{','.join(parts)}]"


def _cut(parts: list[str], limit_chars: int) -> str:
    """As many of the first parts as fit, with the mark of the cut."""
    while parts:
        text = f"[{','.join(parts)}{CUT}"
        if len(text) <= limit_chars:
            return text
        parts.pop()
    return "[…]"


def drop_runs_after(entries: BitMap, count: int) -> None:
    """Keeps the first `count` runs."""
    starts = run_starts(entries)
    if len(starts) > count:
        entries.remove_range(starts[count], entries.max() + 1)


def drop_ledgers_over(entries: BitMap, log: TopicLog, max_entries: int) -> None:
    """Drops all indices of a ledger when those kept before it hold more than `max_entries`."""
    kept = 0
    first = next_in(entries, 0)
    while first is not None:
        _, start, end = log.span(first)
        if kept > max_entries:
            entries.remove_range(start, end)
        else:
            kept += entries.range_cardinality(start, end)
        first = next_in(entries, end)
