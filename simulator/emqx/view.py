"""The live state of a simulated EMQX for the page: nodes, leaders with their assignments, sessions with their borrowers, streams. Reads, never writes.

Nodes stand under `clusters` too, without logs: what the page knows of sites and links serves both protocols.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simulator.emqx.protocol import END
from simulator.system.links import shown

if TYPE_CHECKING:
    from simulator.emqx.agent import Agent
    from simulator.emqx.leader_process import LeaderProcess
    from simulator.emqx.runtime import Emqx
    from simulator.emqx.session import Session

STREAMS_MAX = 2_000
"""Streams that one frame may carry."""


def view(world: Any) -> dict[str, Any]:
    """This protocol's part of `World.view`."""
    system: Emqx = world.runtime
    return {
        "clusters": {name: {"state": "up" if system.nodes[name].up else "down", "topics": {}} for name in system.node_names},
        "brokers": {},
        "producers": {name: {"cluster": None, "topic": one.spec.topic, "state": one.state, "published": one.published, "receipted": one.published, "pending": 0}
                      for name, one in sorted(system.publishers.items())},
        "links": {f"{a} -> {b}": shown(link) for (a, b), link in sorted(system.links.items())},
        "sentence": None,
        "forecast": {},
        "why_no_snapshot": {},
        "failovers": [],
        "groups": {name: _group(system, name) for name in sorted(system.groups)},
        "sessions": {name: _session(one) for name, one in sorted(system.sessions.items())},
        "streams": {
            one.name: {"shard": one.rank.shard, "generation": one.rank.generation, "topic": one.topic, "length": one.length, "closed": one.closed}
            for one in list(system.storage.streams.values())[:STREAMS_MAX]
        },
        "streams_total": len(system.storage.streams),
    }  # fmt: skip


def _group(system: Emqx, name: str) -> dict[str, Any]:
    claim = system.store.claims.get(name)
    kept = system.store.groups.get(name)
    return {
        "filter": system.groups[name].filter,
        "leaders": [_leader(one) for one in system.leaders_of(name)],
        "claim": None if claim is None else {"leader": claim.leader, "node": claim.node, "heartbeat_us": claim.heartbeat_us},
        "committed": {stream: _at(position) for stream, (_rank, position) in list(kept.positions.items())[:STREAMS_MAX]} if kept is not None else {},
    }


def _leader(process: LeaderProcess) -> dict[str, Any]:
    leader = process.leader
    return {
        "number": process.number,
        "node": process.node,
        "assignments": {
            name: {"state": one.state, "position": _at(one.position), "session": one.owner[0] if one.owner else None, "borrower": one.owner[2] if one.owner else None}
            for name, one in list(leader.streams.items())[:STREAMS_MAX]
        },
        "borrowers": [
            {"session": who[0], "borrower": who[2], "deadline_us": deadline, "stable": leader.stable(who), "streams": len(leader.owned[who])}
            for who, deadline in sorted(leader.borrowers.items())
        ],
    }  # fmt: skip


def _session(session: Session) -> dict[str, Any]:
    return {
        "node": session.node,
        "state": session.state,
        "acks_paused": session.acks_paused,
        "in_flight": len(session.in_flight),
        "subscriptions": [one.text for one in session.subscriptions.values()],
        "borrowers": _borrowers(session.agent),
        "readings": [
            {"stream": one.stream, "group": one.group, "begin": _at(one.begin), "end": _at(one.end), "unacknowledged": len(one.unacked) + one.unsent, "released": one.released}
            for one in list(session.readings.values())[:STREAMS_MAX]
        ],
    }  # fmt: skip


def _borrowers(agent: Agent) -> list[dict[str, Any]]:
    return [
        {"group": one.group, "borrower": one.id[2], "state": one.state, "leader": one.leader, "timers": dict(one.timers),
         "streams": {name: {"state": held.state, "position": _at(held.position)} for name, held in list(one.streams.items())[:STREAMS_MAX]}}
        for one in agent.borrowers.values()
    ]  # fmt: skip


def _at(position: int) -> int | None:
    """None is the end of a closed stream."""
    return None if position == END else position
