"""The differences between two runs of one scenario, from the first row in which they differ.

Rules: before its first differing row two traces are equal byte for byte, names included, so columns are
compared as numbers. After it, events of the control plane are matched by instant and content; what only one
run has is listed, in order of time.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from simulator.trace.trace import BLOCK_ROWS, Trace

LISTED_MAX = 400
"""Most differing events listed: about 100 KB."""

SEARCHED_MAX = 50_000
"""Most events of each run that are matched after the first difference."""

_NOT_COMPARED = ("seq", "cause_seq", "evidence_seq")
"""Fields that number rows, which one additional row shifts."""


def first_difference(left: Trace, right: Trace) -> int | None:
    """The seq of the first row in which two traces differ; None when they are equal."""
    shorter = min(len(left), len(right))
    for first in range(0, shorter, BLOCK_ROWS):
        last = min(first + BLOCK_ROWS, shorter)
        ours, theirs = left.columns(first, last), right.columns(first, last)
        differing = np.zeros(last - first, dtype=bool)
        for name, values in ours.items():
            differing |= values != theirs[name]
        if differing.any():
            return first + int(differing.argmax())
    return None if len(left) == len(right) else shorter


def differences(left: Trace, right: Trace) -> dict[str, Any]:
    """The first differing row and the differing events after it.

    Returns {"first": {"seq", "at_us", "left", "right"} or None for equal runs, "events": [{"at_us", "side",
    "row"}], "more": whether there are more}. A side has no row where its run has ended.
    """
    seq = first_difference(left, right)
    if seq is None:
        return {"first": None, "events": [], "more": False}
    rows = {"left": _row(left, seq), "right": _row(right, seq)}
    at_us = min(row["at_us"] for row in rows.values() if row is not None)
    found, more = _events_of_one_side(left, right, seq)
    return {"first": {"seq": seq, "at_us": at_us, **rows}, "events": found, "more": more}


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
