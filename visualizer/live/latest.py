"""The latest rows about one client of a group and one of its streams (docs/websocket.md).

They are the moves of each state machine, and the messages between the layers.

Rules: a page that asks again sends the rows it has, so that a long run is searched once.
"""

from __future__ import annotations

import numpy as np

from simulator.protocols.registry import CODE
from simulator.trace.registry import NULL
from visualizer.labs.session import Session
from visualizer.labs.work import Work
from visualizer.questions.passages import PIECE_ROWS
from visualizer.questions.reading import rows_at

KEPT = 4
"""Of each type and reason, so the last four moves of a machine are among them."""

OF_CLIENT = (
    "session.subscribed",
    "session.unsubscribed",
    "borrower.changed",
    "lease.changed",
    "progress.told",
    "protocol.sent",
    "protocol.lost",
)
OF_CONNECTION = ("session.connected", "session.disconnected")
OF_STREAM = ("assignment.changed",)
OF_LEADER = ("leader.elected", "leader.ended")
UNSAID = NULL - 1
"""A number that no row has, for a name that is not in the trace."""

_COLUMNS = ("type", "subscription", "client", "topic", "reason")


def latest(session: Session, group: str, client: str, stream: str, after: int) -> Work:
    """`{group, client, stream, branch, seq, rows}`: rows from `after` on, ascending.

    `seq` is where to continue. A client's leases and reports about streams are separated into this stream's
    and any other's.
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
        places = np.flatnonzero(_wanted(columns, numbers[0], numbers[1], here))
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


def _wanted(columns: dict[str, np.ndarray], group: int, client: int, here: np.ndarray) -> np.ndarray:
    def of(types: tuple[str, ...]) -> np.ndarray:
        return np.isin(columns["type"], [CODE[name] for name in types])

    shared = columns["subscription"] == group
    its = columns["client"] == client
    return (
        (shared & its & of(OF_CLIENT))
        | (its & of(OF_CONNECTION))
        | (shared & here & of(OF_STREAM))
        | (shared & of(OF_LEADER))
    )
