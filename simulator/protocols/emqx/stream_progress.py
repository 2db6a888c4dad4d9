"""Progress of each stream of a group, and what each kind of crash would redeliver; read-only.

Progress is what clients received and acknowledged, what was reported to the leader, and what it committed.
Rules: figures are of messages delivered up to now, without those between the crash and its detection.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simulator.protocols.emqx.leader_store import Committed
from simulator.protocols.emqx.protocol import ABSENT, DISCONNECT, END, UPDATE_PROGRESS, BorrowerId

if TYPE_CHECKING:
    from simulator.protocols.emqx.leader_process import LeaderProcess
    from simulator.protocols.emqx.reading import Reading
    from simulator.protocols.emqx.runtime import Emqx

Readers = dict[str, dict[BorrowerId, dict[str, Any]]]
"""The readers by stream and borrower."""


def borrower_name(who: BorrowerId) -> str:
    """A borrower's name, `session/incarnation`."""
    return f"{who[0]}/{who[2]}"


def place(system: Emqx, stream: str, position: int) -> int:
    """A position as an offset: the end of a closed stream is its length."""
    return system.storage.streams[stream].length if position == END else position


def group_progress(system: Emqx, name: str, most: int) -> dict[str, Any]:
    """`streams`, `streams_total` and `repeats` of a group."""
    kept = system.store.groups.get(name)
    listed = system.streams_of(name, kept.start_us) if kept is not None else []
    committed = {stream: _committed(system, kept, stream) for stream, _rank in listed if kept is not None}
    readers = _readers(system, name)
    return {
        "streams": {
            stream: {
                "committed": at,
                "readers": {borrower_name(who): one for who, one in readers.get(stream, {}).items()},
            }
            for stream, at in list(committed.items())[:most]
        },
        "streams_total": len(committed),
        "repeats": _repeats(system, name, committed, readers),
    }


def _committed(system: Emqx, kept: Committed, stream: str) -> int:
    """The position at which a leader that has only the store would begin."""
    one = system.storage.streams[stream]
    if stream in kept.positions:
        return place(system, stream, kept.positions[stream][1])
    return one.length if kept.ranks.replayed(stream, one.rank) else one.first_at(kept.start_us)


def _readers(system: Emqx, group: str) -> Readers:
    """The readers of each stream, from the sessions.

    `lease` is absent where a chunk of a stream that is no longer leased is still in flight.
    """
    found: Readers = {}
    for session in system.sessions.values():
        for borrower in session.agent.borrowers.values():
            if borrower.group == group:
                for stream, held in borrower.streams.items():
                    at = place(system, stream, held.position)
                    found.setdefault(stream, {})[borrower.id] = {
                        "lease": held.state,
                        "acknowledged": at,
                        "delivered": at,
                        "chunk": None,
                    }
        if session.online:
            for reading in session.readings.values():
                borrower_id = reading.borrower
                if borrower_id is None or reading.group != group:
                    continue
                if not reading.forgotten or reading.busy:
                    of_stream = found.setdefault(reading.stream, {})
                    of_stream.setdefault(borrower_id, {"lease": ABSENT}).update(_cursors(system, reading))
    return found


def _cursors(system: Emqx, reading: Reading) -> dict[str, Any]:
    """The acknowledged and delivered offsets, and the chunk in flight.

    Messages are sent and acknowledged in order, so each is one offset.
    """
    if not reading.blocked:
        at = place(system, reading.stream, reading.end)
        return {"acknowledged": at, "delivered": at - reading.unsent, "chunk": None}
    sent = reading.end - reading.unsent
    return {
        "acknowledged": next(iter(reading.unacked), sent),
        "delivered": max(sent, reading.sent),
        "chunk": [reading.begin, reading.end],
    }


def _repeats(system: Emqx, group: str, committed: dict[str, int], readers: Readers) -> dict[str, Any]:
    """The messages that would be redelivered if the leader or one session crashed now.

    Also how many of them are acknowledged already.
    """
    leader = _leading(system, group)
    sessions: dict[str, dict[str, int]] = {}
    if leader is None:
        return {"leader": None, "sessions": sessions}
    again = acknowledged = 0
    under_way = _under_way(system, leader)
    for stream, kept_at in committed.items():
        by_borrower = readers.get(stream, {})
        assignment = leader.leader.streams.get(stream)
        known = kept_at if assignment is None else place(system, stream, assignment.position)
        furthest = done = max(kept_at, known)
        for one in by_borrower.values():
            furthest, done = max(furthest, one["delivered"]), max(done, one["acknowledged"])
        again += furthest - kept_at
        acknowledged += done - kept_at
        if assignment is None or assignment.owner not in by_borrower:
            continue
        one = by_borrower[assignment.owner]
        reported = max(known, under_way.get((stream, assignment.owner), 0))
        figures = sessions.setdefault(assignment.owner[0], {"again": 0, "acknowledged": 0})
        figures["again"] += max(0, one["delivered"] - reported)
        figures["acknowledged"] += max(0, one["acknowledged"] - reported)
    return {
        "leader": {"again": again, "acknowledged": acknowledged},
        "sessions": {name: sessions[name] for name in sorted(sessions)},
    }


def _leading(system: Emqx, group: str) -> LeaderProcess | None:
    """The leader that has the claim; None while the claim is a dead leader's."""
    claim = system.store.claims.get(group)
    return next(
        (one for one in system.leaders_of(group) if claim is not None and one.number == claim.leader), None
    )


def _under_way(system: Emqx, leader: LeaderProcess) -> dict[tuple[str, BorrowerId], int]:
    """The furthest position that is on its way to the leader, by stream and borrower."""
    found: dict[tuple[str, BorrowerId], int] = {}
    for flight in system.network.flights.values():
        message = flight.message
        if (
            flight.target.process == "leader"
            and flight.target.leader == leader.number
            and message.kind in (UPDATE_PROGRESS, DISCONNECT)
        ):
            for report in message.progress:
                key = report.stream, message.borrower
                found[key] = max(found.get(key, 0), place(system, report.stream, report.position))
    return found
