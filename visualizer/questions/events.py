"""The rows around the instant shown, for the page's event list.

They are the newest control rows before it, and the first after it that the branch has run. Rules: the answer
depends on branch, instant and how far the branch has been run, never on what a page has watched. It is
computed once for all pages while the lab is paused.
"""

from __future__ import annotations

from typing import Any

from visualizer.labs.session import Session
from visualizer.labs.work import Work
from visualizer.questions.reading import SEARCHED_ROWS, rows_at

EVENTS_BEFORE, EVENTS_AFTER = 600, 150
"""Most control rows before and after the instant: more than the list shows after folding repetitions."""

LOOKED_AT_ROWS = 1_000_000
"""Rows searched on each side. Rarely is one row in a thousand a control row."""


def events(session: Session) -> Work:
    """The control rows around the instant shown.

    Returns `{branch, seq, rows_from, rows, ahead}`: `rows` are all control rows with rows_from <= row < seq,
    `ahead` those from seq on.
    """
    world = session.world
    here = (world.branch, world.seq, len(world.trace))
    if session.events_kept[0] != here:
        answer = yield from _around(world)
        session.events_kept = (here, answer)
    return session.events_kept[1]


def _around(world: Any) -> Work:
    trace, seq = world.trace, world.seq
    before: list[int] = []
    first, oldest = seq, max(0, seq - LOOKED_AT_ROWS)
    while first > oldest and len(before) < EVENTS_BEFORE:
        first, last = max(oldest, first - SEARCHED_ROWS), first
        before = trace.seqs(first, last, control_only=True) + before
        yield None
    rows_from = before[-EVENTS_BEFORE] if len(before) > EVENTS_BEFORE else first
    after: list[int] = []
    last = seq
    while last < min(len(trace), seq + LOOKED_AT_ROWS) and len(after) < EVENTS_AFTER:
        first, last = last, min(len(trace), last + SEARCHED_ROWS)
        after += trace.seqs(first, last, control_only=True, limit=EVENTS_AFTER - len(after))
        yield None
    rows = yield from rows_at(trace, before[-EVENTS_BEFORE:])
    ahead = yield from rows_at(trace, after)
    return {"branch": world.branch, "seq": seq, "rows_from": rows_from, "rows": rows, "ahead": ahead}
