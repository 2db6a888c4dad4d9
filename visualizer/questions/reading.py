"""Reads rows of a lab's trace in slices, for every question about rows.

Rules: a row of a sealed block takes about ten microseconds, so at most `READ_ROWS` are read in one slice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from visualizer.labs.work import Work

SEARCHED_ROWS = 65_536
"""Rows searched by their type or a column in one slice, which takes a millisecond or two."""

READ_ROWS = 100
"""Rows read with all columns in one slice, which takes about a millisecond."""


def rows_at(trace: Any, seqs: Sequence[int]) -> Work:
    """The rows with these seqs, in order."""
    found: list[dict[str, Any]] = []
    for first in range(0, len(seqs), READ_ROWS):
        found.extend(trace.row(seq) for seq in seqs[first : first + READ_ROWS])
        yield None
    return found


def causes_of(trace: Any, row: dict[str, Any], most: int) -> Work:
    """The causes of `row`, nearest first, back to the root or at most `most` of them."""
    causes: list[dict[str, Any]] = []
    while "cause_seq" in row and len(causes) < most:
        row = trace.row(row["cause_seq"])
        causes.append(row)
        if len(causes) % READ_ROWS == 0:
            yield None
    return causes
