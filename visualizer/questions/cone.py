"""The causes and the effects of a row: the causal cone that a click highlights on the page.

Rules: it goes backwards along `cause_seq` to the root, and forwards over the rows whose chain of causes
contains the row. Both are limited, and the answer shows when they were cut. A message or a marker is
represented by its rows: its cone begins at the first of them.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np

from visualizer.labs.session import Session
from visualizer.labs.work import Work
from visualizer.live.wire import Refused
from visualizer.questions.reading import causes_of, rows_at

BACK_ROWS = 200
"""Most links of the chain of causes."""
FORWARD_ROWS = 400
"""Most rows that the row caused: the nearest in the run's order."""
SEARCHED_ROWS = 400_000
"""Rows searched after the row, about 2 ms per 65,536. A cause is rarely older."""
PIECE_ROWS = 16_384
"""Rows read in one slice of a job."""


def cone(
    session: Session,
    seq: int | None = None,
    producer: str | None = None,
    number: int | None = None,
    marker: int | None = None,
) -> Work:
    """Find the causes and effects of a row, a message or a marker.

    Returns `{row, back, forward, more}`: the row itself, `back` with the nearest cause first, `forward`
    ascending, and `more` when either was cut.
    """
    trace = session.world.trace
    if marker is not None:
        seq = yield from _first(session, {"marker": marker}, f"No marker {marker} has been written so far.")
    elif producer is not None:
        wanted = {"producer": trace.number(producer), "sequence_id": number}
        seq = yield from _first(session, wanted, f"No message {producer}/{number} has been published so far.")
    if seq is None or seq >= session.world.seq:
        raise Refused(
            "not-found", f"Row {seq} has not happened.", f"Rows so far are 0 to {session.world.seq - 1}."
        )
    asked = trace.row(seq)
    back = yield from causes_of(trace, asked, BACK_ROWS)
    seqs, cut = yield from _forward(session, seq)
    forward = yield from rows_at(trace, seqs)
    return {
        "row": asked,
        "back": back,
        "forward": forward,
        "more": cut or "cause_seq" in (back[-1] if back else asked),
    }


def _first(session: Session, wanted: dict[str, int | None], error: str) -> Generator[None, Any, int]:
    """The seq of the first row with these values. Raises Refused when there is none."""
    world = session.world
    for first in range(0, world.seq, PIECE_ROWS) if None not in wanted.values() else ():
        columns = world.trace.columns(first, min(world.seq, first + PIECE_ROWS), names=tuple(wanted))
        found = np.flatnonzero(
            np.logical_and.reduce([columns[name] == value for name, value in wanted.items()])
        )
        if found.size:
            return first + int(found[0])
        yield None
    raise Refused("not-found", error, "Go on in the run until it is there.")


def _forward(session: Session, seq: int) -> Generator[None, Any, tuple[list[int], bool]]:
    """The seqs of rows caused by `seq`, directly or through others, and whether they were cut.

    A cause always precedes its effects, so one pass finds them.
    """
    world = session.world
    end = min(world.seq, seq + 1 + SEARCHED_ROWS)
    known = {seq}
    found: list[int] = []
    for first in range(seq + 1, end, PIECE_ROWS):
        causes = world.trace.columns(first, min(end, first + PIECE_ROWS), names=("cause_seq",))["cause_seq"]
        # most rows are caused by something older than `seq`: numpy filters them out before the loop
        for place in np.flatnonzero(causes >= seq).tolist():
            if int(causes[place]) in known:
                known.add(first + place)
                found.append(first + place)
                if len(found) == FORWARD_ROWS:
                    return found, True
        yield None
    return found, end < world.seq
