"""Finds rows of a trace by the values of their columns."""

from __future__ import annotations

import numpy as np

from simulator.trace.registry import NULL
from simulator.trace.trace import Trace

_CHUNK_ROWS = 4 * 65_536


def rows_where(trace: Trace, end_seq: int, first_seq: int = 0, **equal: int | None) -> list[int]:
    """Seqs of the rows whose columns have these values."""
    found: list[int] = []
    for first in range(first_seq, end_seq, _CHUNK_ROWS):
        columns = trace.columns(first, min(first + _CHUNK_ROWS, end_seq), names=tuple(equal))
        chosen = np.ones(len(next(iter(columns.values()))), dtype=bool)
        for name, value in equal.items():
            chosen &= columns[name] == (NULL if value is None else value)
        found += (first + np.flatnonzero(chosen)).tolist()
    return found
