"""Stepping through a run by rows that pass a filter.

Rules: a world is always at the end of an instant, so a step goes to the end of the found row's instant.
Filters: "everything", "control" (the default: markers, snapshots, cursors, faults, failovers), {"message":
[producer, sequence id]}, {"subscription": name}.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from simulator.trace.trace import BLOCK_ROWS, Trace

if TYPE_CHECKING:
    from simulator.world import World

SEARCH_US = 60_000_000
"""How far a step runs beyond the furthest instant before it gives up."""
SLICE_EVENTS = 1


def step(world: World, filter: str | dict | None) -> dict | None:
    """See `World.step`."""
    seen = world.seq
    while True:
        seqs = passing(world, seen, world.trace.length, filter)
        if seqs:
            world.seek(at_us=world.trace.at_us(seqs[0]))
            return world.trace.row(seqs[0])
        seen = world.trace.length
        world.seek(at_us=world.furthest_us)
        if not _run_on(world, seen):
            return None


def _run_on(world: World, rows: int) -> bool:
    """World until a new row is written; False when the search's end or the row limit is reached."""
    end_us = world.furthest_us + SEARCH_US
    while world.trace.length == rows:
        next_us = world.runtime.next_at_us
        if next_us is None or next_us > end_us or world.limit_reached:
            return False
        world.advance(next_us, SLICE_EVENTS)
    return True


def step_back(world: World, filter: str | dict | None) -> dict | None:
    """See `World.step_back`."""
    end = world.seq
    present_us = None
    while end > 0:
        first = max(0, end - BLOCK_ROWS)
        for seq in reversed(passing(world, first, end, filter)):
            at_us = world.trace.at_us(seq)
            if present_us is None and at_us == world.now_us:
                present_us = at_us
            if at_us < world.now_us and at_us != present_us:
                world.seek(at_us=at_us)
                return world.trace.row(seq)
        end = first
    world.seek(at_us=0)
    return None


def passing(world: World, first: int, last: int, filter: str | dict | None) -> list[int]:
    """Seqs in `first` <= seq < `last` of the rows that pass the filter."""
    if filter in (None, "control"):
        return world.trace.seqs(first, last, control_only=True)
    if filter == "everything":
        return list(range(first, last))
    if isinstance(filter, dict) and "message" in filter:
        producer, sequence_id = filter["message"]
        return _equal(world, first, last, producer=producer, sequence_id=sequence_id)
    if isinstance(filter, dict) and "subscription" in filter:
        return _equal(world, first, last, subscription=filter["subscription"])
    raise ValueError(f"{filter!r} is not a filter: use everything, control, a message or a subscription")


def _equal(world: World, first: int, last: int, **wanted: str | int) -> list[int]:
    columns = world.trace.columns(first, last, names=tuple(wanted))
    mask = np.ones(last - first, dtype=bool)
    for name, value in wanted.items():
        number = value if name == "sequence_id" else world.trace.number(str(value))
        mask &= columns[name] == (-1 if number is None else number)
    return (first + np.flatnonzero(mask)).tolist()


def instant_of(trace: Trace, at_us: int | None, seq: int | None) -> int:
    """The instant to seek to: `at_us`, or the instant of row `seq`."""
    if at_us is not None and seq is None:
        return max(0, at_us)
    if seq is not None and at_us is None:
        return trace.at_us(max(0, min(seq, trace.length - 1)))
    raise TypeError("seek takes an instant or a row: at_us=… or seq=…")
