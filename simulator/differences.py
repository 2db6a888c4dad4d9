"""The differences between two runs, of one scenario or of two, from the first differing row.

Rules: before its first differing row two traces are equal byte for byte, names included, so columns are
compared as numbers, and a number is different where it stands for another name. After it, events of the
control plane are matched by instant and content; what only one run has is listed, in order of time. In the
logs, the entries of markers are marked that have such an event, and those with a message that the other run
does not store in that log.
"""

from __future__ import annotations

from collections import Counter
from itertools import zip_longest
from typing import Any

import numpy as np

from simulator.trace.registry import NAME_COLUMNS
from simulator.trace.trace import BLOCK_ROWS, Trace

LISTED_MAX = 400
"""Most differing events listed: about 100 KB."""

SEARCHED_MAX = 50_000
"""Most events of each run that are matched after the first difference."""

RANGES_MAX = 2_000
"""Most ranges of marked entries of each run: about 50 KB."""

PLACED = ("marker", "cluster", "topic", "ledger", "entry")
"""Fields of an event of a marker's entry; those of a cursor name positions of other entries."""

STORED = "message.stored"
_STORED_COLUMNS = ("cluster", "topic", "ledger", "entry", "producer", "sequence_id", "batch_index")

_NOT_COMPARED = ("seq", "cause_seq", "evidence_seq")
"""Fields that number rows, which one additional row shifts."""


def first_difference(left: Trace, right: Trace) -> int | None:
    """The seq of the first row in which two traces differ; None when they are equal."""
    shorter, renamed = min(len(left), len(right)), _renamed(left, right)
    for first in range(0, shorter, BLOCK_ROWS):
        last = min(first + BLOCK_ROWS, shorter)
        ours, theirs = left.columns(first, last), right.columns(first, last)
        differing = np.zeros(last - first, dtype=bool)
        for name, values in ours.items():
            differing |= values != theirs[name]
            if name in NAME_COLUMNS:
                differing |= (values >= 0) & renamed[np.maximum(values, 0)]
        if differing.any():
            return first + int(differing.argmax())
    return None if len(left) == len(right) else shorter


def _renamed(left: Trace, right: Trace) -> np.ndarray:
    """Which numbers stand for different names in the two traces."""
    pairs = zip_longest(left.names, right.names)
    return np.array([one != other for one, other in pairs], dtype=bool)


def differences(left: Trace, right: Trace) -> dict[str, Any]:
    """The first differing row, the differing events after it, and the entries that they mark.

    Returns {"first": {"seq", "at_us", "left", "right"} or None for equal runs, "events": [{"at_us", "side",
    "row"}], "more": whether there are more, "entries": {side: {"cluster/topic": [[ledger, first, last]]}}}. A
    side has no row where its run has ended.
    """
    seq = first_difference(left, right)
    if seq is None:
        return {"first": None, "events": [], "more": False, "entries": {"left": {}, "right": {}}}
    rows = {"left": _row(left, seq), "right": _row(right, seq)}
    at_us = min(row["at_us"] for row in rows.values() if row is not None)
    found, more = _events_of_one_side(left, right, seq)
    entries = _entries(left, right, seq, found)
    return {"first": {"seq": seq, "at_us": at_us, **rows}, "events": found, "more": more, "entries": entries}


def _row(trace: Trace, seq: int) -> dict[str, Any] | None:
    return trace.row(seq) if seq < len(trace) else None


def _events_of_one_side(left: Trace, right: Trace, seq: int) -> tuple[list[dict[str, Any]], bool]:
    events, whole = {}, True
    for side, trace in (("left", left), ("right", right)):
        seqs = trace.seqs(seq, control_only=True, limit=SEARCHED_MAX)
        whole = whole and len(seqs) < SEARCHED_MAX
        events[side] = [trace.row(one) for one in seqs]
    found: list[dict[str, Any]] = []
    for side, other in (("left", "right"), ("right", "left")):
        unmatched = Counter(map(_content, events[other]))
        for row in events[side]:
            content = _content(row)
            if unmatched[content]:
                unmatched[content] -= 1
            else:
                found.append({"at_us": row["at_us"], "side": side, "row": row})
    found.sort(key=lambda one: (one["at_us"], one["side"], one["row"]["seq"]))
    return found[:LISTED_MAX], len(found) > LISTED_MAX or not whole


def _content(row: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple((name, value) for name, value in row.items() if name not in _NOT_COMPARED)


Entry = tuple[str, int, int]
"""("cluster/topic", ledger, entry)."""

Message = tuple[str, str, int, int]
"""("cluster/topic", producer, sequence id, place in the batch)."""


def _entries(
    left: Trace, right: Trace, seq: int, events: list[dict[str, Any]]
) -> dict[str, dict[str, list[list[int]]]]:
    """By side and log, the ranges of entries with a differing event, or with a message of this run only."""
    stored = {"left": _stored(left, seq), "right": _stored(right, seq)}
    marked = {}
    for side, other in (("left", "right"), ("right", "left")):
        entries = {entry: None for message, entry in stored[side].items() if message not in stored[other]}
        for event in events:
            row = event["row"]
            if event["side"] == side and all(name in row for name in PLACED):
                entries[f"{row['cluster']}/{row['topic']}", row["ledger"], row["entry"]] = None
        marked[side] = _ranges(sorted(entries))
    return marked


def _stored(trace: Trace, seq: int) -> dict[Message, Entry]:
    """The messages that are stored from a row on, with the entry of each."""
    seqs = trace.seqs(seq, types=(STORED,), limit=SEARCHED_MAX)
    if not seqs:
        return {}
    columns = trace.columns(seqs[0], seqs[-1] + 1, names=_STORED_COLUMNS)
    places = np.array(seqs) - seqs[0]
    names, held = trace.names, {}
    for cluster, topic, ledger, entry, producer, number, batch_index in zip(
        *(columns[name][places].tolist() for name in _STORED_COLUMNS), strict=True
    ):
        if cluster < 0:  # not in the log of a cluster
            continue
        log = f"{names[cluster]}/{names[topic]}"
        held[log, names[producer], number, batch_index] = (log, ledger, entry)
    return held


def _ranges(entries: list[Entry]) -> dict[str, list[list[int]]]:
    """Sorted entries as ranges, by log, the first `RANGES_MAX` of them."""
    ranges: dict[str, list[list[int]]] = {}
    count = 0
    for log, ledger, entry in entries:
        last = ranges.get(log, [[-1, -1, -2]])[-1]
        if last[0] == ledger and last[2] == entry - 1:
            last[2] = entry
        elif count < RANGES_MAX:
            count += 1
            ranges.setdefault(log, []).append([ledger, entry, entry])
    return ranges
