"""The latest rows about one client of a group and one of its streams (docs/websocket.md).

They are the transitions of each state machine, and the messages between the layers. Rules: a page that asks
again sends the first row to search from, so that a long run is searched once.
"""

from __future__ import annotations

import numpy as np

from simulator.protocols.registry import CODE
from simulator.system.live_rows import Messages
from simulator.trace.registry import NULL
from visualizer.labs.session import Session
from visualizer.labs.work import Work
from visualizer.questions.passages import PIECE_ROWS
from visualizer.questions.reading import rows_at

KEPT = 4
"""Rows kept of each type and reason, so the last four transitions of a machine are among them."""

UNSAID = NULL - 1
"""A number that no row has, for a name that is not in the trace."""

_COLUMNS = ("type", "subscription", "client", "topic", "reason")


def latest(session: Session, group: str, client: str, stream: str, after: int) -> Work:
    """Find the latest rows from `after` on.

    Returns `{group, client, stream, branch, seq, rows}`, with `rows` ascending. `seq` is where to continue. A
    client's leases and reports about streams are separated into this stream's and any other's.
    """
    world = session.world
    numbers = [
        UNSAID if number is None else number
        for number in (world.trace.number(name) for name in (group, client, stream))
    ]
    found: dict[tuple[int, int, bool], list[int]] = {}
    for begin in range(max(0, after), world.seq, PIECE_ROWS):
        columns = world.trace.columns(begin, min(world.seq, begin + PIECE_ROWS), names=_COLUMNS)
        here = columns["topic"] == numbers[2]
        places = np.flatnonzero(_wanted(world.protocol.live.messages, columns, numbers, here))
        for place, code, reason, of_it in zip(
            places.tolist(),
            columns["type"][places].tolist(),
            columns["reason"][places].tolist(),
            here[places].tolist(),
            strict=True,
        ):
            kept = found.setdefault((code, reason, of_it), [])
            kept.append(begin + place)
            del kept[:-KEPT]
        yield None
    rows = yield from rows_at(world.trace, sorted(seq for kept in found.values() for seq in kept))
    return {
        "group": group,
        "client": client,
        "stream": stream,
        "branch": world.branch,
        "seq": world.seq,
        "rows": rows,
    }


def _wanted(
    messages: Messages, columns: dict[str, np.ndarray], numbers: list[int], here: np.ndarray
) -> np.ndarray:
    """Which rows are about the group and client with these numbers, the stream `here`, or the leader."""

    def of(types: tuple[str, ...]) -> np.ndarray:
        return np.isin(columns["type"], [CODE[name] for name in types])

    shared = columns["subscription"] == numbers[0]
    of_client = columns["client"] == numbers[1]
    return (
        (shared & of_client & of(messages.of_client))
        | (of_client & of(messages.of_connection))
        | (shared & here & of(messages.of_stream))
        | (shared & of(messages.of_leader))
    )
