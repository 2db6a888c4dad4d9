"""The stability of a group at an instant, with counts by state machine and state; read-only.

A group is stable when it has one leader, every stream has an owner and none is being granted or revoked, the
shares differ by one at most, each stream is read by the borrower to which its leader assigned it, and no
client holds back acknowledgements of a chunk. A starved stream is one that its owner released after a late
revoke, while its leader still has it as granted.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from simulator.protocols.emqx.protocol import (
    ABSENT,
    CONNECTED,
    FREE,
    GONE,
    GRANTED,
    LEADER_GRANTED,
    MACHINES,
    REVOKING,
    BorrowerId,
)

if TYPE_CHECKING:
    from simulator.protocols.emqx.leader import Assignment
    from simulator.protocols.emqx.leader_process import LeaderProcess
    from simulator.protocols.emqx.session import Session
    from simulator.protocols.emqx.system import Emqx


def tables() -> dict[str, Any]:
    """The state machines as the code runs them, by name.

    Each has its first state, and by state the states that may follow, with what causes each.
    """
    return {
        "machines": {
            name: {"start": start, "moves": {state: dict(after) for state, after in moves.items()}}
            for name, (start, moves) in MACHINES.items()
        }
    }


def states(system: Emqx, group: str) -> dict[str, dict[str, int]]:
    """The counts by state machine and state.

    `gone` and a leader's end states count all that ever were. A stream is `absent` when no borrower has it.
    """
    made = {name: dict.fromkeys(moves, 0) for name, (_start, moves) in MACHINES.items()}
    figures = system.figures.groups.get(group)
    borrowers = [
        one
        for session in system.sessions.values()
        for one in session.agent.borrowers.values()
        if one.group == group
    ]
    held = [(name, lease.state) for borrower in borrowers for name, lease in borrower.streams.items()]
    leaders = [one for one in system.leaders.values() if one.group == group]
    assigned = [one.state for process in leaders if process.alive for one in process.leader.streams.values()]
    known = {name for process in leaders if process.alive for name in process.leader.streams}
    found = {
        "borrower": Counter(one.state for one in borrowers) | Counter({GONE: figures.gone if figures else 0}),
        "lease": Counter(state for _name, state in held)
        | Counter({ABSENT: len(known - {name for name, _state in held})}),
        "assignment": Counter(assigned),
        "leader": Counter(one.state for one in leaders),
    }
    return {name: {state: found[name][state] for state in counts} for name, counts in made.items()}


def stability(system: Emqx, group: str) -> dict[str, Any]:
    """Whether a group is stable, and what is not.

    The figures are the numbers of streams that are unowned, being granted or revoked, starved, not read by
    their owner or held, and the difference between the largest and the smallest share.
    """
    leaders = system.leaders_of(group)
    if len(leaders) != 1:
        return {
            "stable": False,
            "leaders": len(leaders),
            "unowned": None,
            "on_their_way": None,
            "starved": None,
            "unread": None,
            "held": None,
            "spread": None,
        }
    leader = leaders[0].leader
    shares = [len(owned) for owned in leader.owned.values()]
    found = Counter(_trouble(system, leaders[0], name) for name in leader.streams)
    figures = {
        "leaders": 1,
        "unowned": found["unowned"],
        "on_their_way": found["on_their_way"],
        "starved": found["starved"],
        "unread": found["unread"],
        "held": found["held"],
        "spread": max(shares, default=0) - min(shares, default=0),
    }
    return {
        "stable": not any(figures[name] for name in ("unowned", "on_their_way", "starved", "unread", "held"))
        and figures["spread"] <= 1,
        **figures,
    }


def _trouble(system: Emqx, process: LeaderProcess, name: str) -> str | None:
    """Why one stream is not stable, None when it is."""
    assignment = process.leader.streams[name]
    if assignment.state == FREE:
        return "unowned"
    if assignment.state != LEADER_GRANTED:
        return "on_their_way"
    owner = assignment.owned_by
    session = system.sessions[owner[0]]
    if starved(system, assignment, name):
        return "starved"
    if not _reads(session, owner, name):
        return "unread"
    return (
        "held"
        if session.acks_paused
        and any(
            one.blocked and one.stream == name and one.borrower == assignment.owner
            for one in session.readings.values()
        )
        else None
    )


def starved(system: Emqx, assignment: Assignment, stream: str) -> bool:
    """Whether the owner obeyed a late revoke.

    It releases the stream, while the leader has it as granted and waits for no message.
    """
    if assignment.owner is None or assignment.state != LEADER_GRANTED:
        return False
    borrower = system.sessions[assignment.owner[0]].agent.borrowers.get(assignment.owner)
    return (
        borrower is not None
        and borrower.state == CONNECTED
        and stream in borrower.streams
        and borrower.streams[stream].state == REVOKING
    )


def _reads(session: Session, owner: BorrowerId, stream: str) -> bool:
    borrower = session.agent.borrowers.get(owner)
    return (
        session.online
        and borrower is not None
        and borrower.state == CONNECTED
        and stream in borrower.streams
        and borrower.streams[stream].state == GRANTED
    )
