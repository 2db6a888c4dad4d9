"""The live state of a simulated EMQX for the page; read-only.

It has nodes, leaders, sessions, borrowers and streams.

Rules: a borrower is named `session/incarnation`, a leader by its number. A position is the offset of the next
message, and the end of a closed stream its length. Values that change often are in objects by name, not in
lists, so that a frame has only what changed. Nodes are under `clusters` too, without logs, so that the page's
code for sites and links serves both protocols. Shapes: docs/http-api.md, "view() of a group lab".
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from simulator.protocols.emqx.borrower import PING, PING_TIMEOUT
from simulator.protocols.emqx.leader import borrower_name, group_progress, offset_of
from simulator.protocols.emqx.stability import stability, starved, states
from simulator.system.links import shown as shown_link
from simulator.system.live_rows import LiveRows, Messages, StateRow

if TYPE_CHECKING:
    from simulator.protocols.emqx.borrower import Agent
    from simulator.protocols.emqx.leader import Assignment
    from simulator.protocols.emqx.leader_process import LeaderProcess
    from simulator.protocols.emqx.scenario.model import EmqxScenario
    from simulator.protocols.emqx.session import Session
    from simulator.protocols.emqx.system import Emqx


CHANGED = (
    "lease.changed",
    "borrower.changed",
    "borrower.joined",
    "borrower.dropped",
    "leader.elected",
    "leader.ended",
)
PASSED = ("protocol.sent", "protocol.arrived")

_KINDS = {
    "borrower.changed": "borrower",
    "borrower.joined": "known",
    "borrower.dropped": "known",
    "lease.changed": "lease",
    "leader.elected": "leader",
    "leader.ended": "leader",
    "protocol.sent": "pong-sent",
    "protocol.arrived": "pong-arrived",
}
_ENDS = {
    "borrower.changed": "gone",
    "lease.changed": "absent",
    "leader.ended": None,
    "borrower.dropped": None,
}
"""The reason with which a row ends its subject; None: with any reason."""


def fold(latest: dict[tuple, int], row: StateRow) -> None:
    """Keep the newest row of each leader, borrower, lease and pong that still exists.

    A borrower's leases end with it, and a leader's entries about borrowers end with the leader.
    """
    if row.type in PASSED and row.reason != "ping-response":
        return
    key = _key(row)
    if row.type in _ENDS and _ENDS[row.type] in (None, row.reason):
        for other in [other for other in latest if _ends(key, other)]:
            del latest[other]
    # after a borrower has ended its session stops reading: those leases are not listed
    elif key[0] != "lease" or ("borrower", *key[1:3]) in latest:
        latest[key] = row.seq


def _key(row: StateRow) -> tuple:
    kind = _KINDS[row.type]
    if kind == "lease":
        return kind, row.client, row.count, row.topic
    if kind == "leader":
        return kind, row.count
    return (kind, row.client) if row.type in PASSED else (kind, row.client, row.count)


def _ends(key: tuple, other: tuple) -> bool:
    """Whether the end of `key` also ends `other`."""
    return (
        other == key
        or (key[0] == "borrower" and other[0] == "lease" and other[1:3] == key[1:])
        or (key[0] == "leader" and other[0] == "known")
    )


LIVE_ROWS = LiveRows(
    kept={"rounds": (("leader.round",), 60)},
    faults=("node.crashed", "node.stopped", "node.restarted"),
    stops=("leader.elected", "leader.ended"),
    jumps=("leader.committed", "leader.elected", "leader.ended"),
    messages=Messages(
        listed=(
            *PASSED,
            "protocol.lost",
            "protocol.delayed",
            "protocol.duplicated",
            *CHANGED,
            "election.failed",
            "leader.round",
            "leader.committed",
        ),
        sent=("protocol.sent",),
        lost=("protocol.lost",),
        # a ping is never resent: each one is new
        resent=("leader-wanted", "grant", "revoke", "revoked"),
        states=(*CHANGED, *PASSED),
        fold=fold,
        of_client=(
            "session.subscribed",
            "session.unsubscribed",
            "borrower.changed",
            "lease.changed",
            "progress.told",
            "protocol.sent",
            "protocol.lost",
        ),
        of_connection=("session.connected", "session.disconnected"),
        of_stream=("assignment.changed",),
        of_leader=("leader.elected", "leader.ended"),
    ),
)


# --- the forecast of a leader's crash: what would be delivered again after an acknowledgement


LEADER = "leader"
"""What a forecast is for: a group has no target, its leader is replaced."""


def movable(scenario: EmqxScenario) -> list[str]:
    """Groups whose leader can crash: all, sorted."""
    return sorted(scenario.groups)


def to_targets(runtime: Emqx, group: str, source: str | None) -> dict[str, dict[str, int]]:
    """By `leader` what its crash would cost now; nothing while no leader has the claim.

    `duplicates` are acknowledged messages after the committed position, `redeliveries` the delivered ones.
    """
    if group not in runtime.groups:
        return {}
    leader = group_progress(runtime, group, 0)["repeats"]["leader"]
    if leader is None:
        return {}
    duplicates = leader["acknowledged"]
    return {LEADER: {"duplicates": duplicates, "redeliveries": leader["again"] - duplicates}}


STREAMS_MAX = 2_000
"""The most streams of a group that a view lists."""

SPANS = (
    "leader_borrower_timeout",
    "leader_renew_streams_interval",
    "leader_periodical_actions_interval",
    "leader_heartbeat_interval",
    "leader_claim_ttl",
    "session_find_leader_timeout",
    "session_ping_leader_interval",
    "session_ping_leader_timeout",
    "session_unsubscribe_timeout",
)
"""The settings whose durations dials on the page need."""


def view(world: Any) -> dict[str, Any]:
    """This protocol's part of `World.view`."""
    system: Emqx = world.runtime
    kept = [one for one in system.storage.streams.values() if one.kept]
    return {
        "clusters": {
            name: {"state": "up" if system.nodes[name].up else "down", "topics": {}}
            for name in system.node_names
        },
        "brokers": {},
        "producers": {
            name: {
                "cluster": None,
                "topic": one.spec.topic,
                "state": one.state,
                "published": one.published,
                "receipted": one.published,
                "pending": 0,
            }
            for name, one in sorted(system.publishers.items())
        },
        "links": {f"{a} -> {b}": shown_link(link) for (a, b), link in sorted(system.links.items())},
        "sentence": None,
        "forecast": _forecasts(world),
        "why_no_snapshot": {},
        "failovers": [],
        "spans_us": {name: system.setting(name) for name in SPANS},
        "storage": {"shards": system.storage.shards, "generation": system.storage.generation},
        "store": {
            "failing_until_us": system.store.failing_until_us
            if system.store.failing_until_us > system.now_us
            else None,
            "cut_until_us": {
                node: until_us
                for node, until_us in sorted(system.store.cut_until_us.items())
                if until_us > system.now_us
            },
        },
        "groups": {name: _group(system, name) for name in sorted(system.groups)},
        "sessions": {name: _session(one) for name, one in sorted(system.sessions.items())},
        "streams": {one.name: {"length": one.length, "closed": one.closed} for one in kept[:STREAMS_MAX]},
        "streams_total": len(kept),
    }


def _forecasts(world: Any) -> dict[str, Any]:
    """By group what a crash of its leader would cost now; only groups with a leader."""
    system: Emqx = world.runtime
    found = {}
    for name in sorted(system.groups):
        if to := world.forecast(name):
            claim = system.store.claims.get(name)
            found[name] = {"from": claim and claim.node, "to": to}
    return found


def _group(system: Emqx, name: str) -> dict[str, Any]:
    claim = system.store.claims.get(name)
    shown = group_progress(system, name, STREAMS_MAX)
    until_us = None if claim is None else claim.heartbeat_us + system.setting("leader_claim_ttl")
    return {
        "text": system.subscription_of(name).text,
        "filter": system.groups[name].filter,
        "claim": None
        if claim is None
        else {
            "leader": claim.leader,
            "node": claim.node,
            "heartbeat_us": claim.heartbeat_us,
            "until_us": until_us,
        },
        "ended": _ended(system, name),
        "leaders": {
            str(one.number): _leader(system, one, shown["streams"]) for one in system.leaders_of(name)
        },
        **shown,
        "duplicates": {
            stream: found
            for stream in shown["streams"]
            if (found := system.figures.duplicates_of(name, stream))
        },
        "states": states(system, name),
        "stability": stability(system, name),
        "figures": system.figures.read(name, system.trace.at_us(system.seq - 1)),
    }


def _ended(system: Emqx, group: str) -> dict[str, Any] | None:
    """The newest leader of a group among those that have ended."""
    ended = [one for one in system.leaders.values() if one.group == group and not one.alive]
    return {"number": ended[-1].number, "node": ended[-1].node, "state": ended[-1].state} if ended else None


def _leader(system: Emqx, process: LeaderProcess, listed: Iterable[str]) -> dict[str, Any]:
    """A leader with its state of the listed streams, None for a stream that is not in its memory."""
    leader = process.leader
    targets = leader.targets()
    counts = [len(owned) for owned in leader.owned.values()]
    return {
        "node": process.node,
        "committed_us": process.committed_us,
        "heartbeat_us": process.due_us("heartbeat"),
        "blocked_us": process.requested_us,
        "periodical_us": process.due_us("periodical_actions"),
        "rounds": {
            "count": process.rounds,
            "last_us": process.round_us,
            "due_us": sorted(process.due["renew_streams"]),
        },
        "stable": all(leader.stable(who) for who in leader.borrowers),
        "balanced": bool(counts)
        and max(counts) - min(counts) <= 1
        and all(one.owner is not None for one in leader.streams.values()),
        "borrowers": {
            borrower_name(who): {
                "deadline_us": deadline,
                "stable": leader.stable(who),
                "streams": len(leader.owned[who]),
                "target": targets[who],
            }
            for who, deadline in sorted(leader.borrowers.items())
        },
        "streams": {name: _assignment(system, name, leader.streams.get(name)) for name in listed},
    }


def _assignment(system: Emqx, stream: str, one: Assignment | None) -> dict[str, Any] | None:
    if one is None:
        return None
    shown = {
        "state": one.state,
        "position": offset_of(system, stream, one.position),
        "owner": borrower_name(one.owner) if one.owner else None,
    }
    return {**shown, "starved": True} if starved(system, one, stream) else shown


def _session(session: Session) -> dict[str, Any]:
    return {
        "node": session.node,
        "state": session.state,
        "acks_paused": session.acks_paused,
        "in_flight": len(session.in_flight),
        "subscriptions": [one.text for one in session.subscriptions.values()],
        "private_streams": sum(one.group is None for one in session.readings.values()),
        "borrowers": _borrowers(session.agent),
    }


def _borrowers(agent: Agent) -> dict[str, dict[str, Any]]:
    return {
        borrower_name(one.id): {
            "group": one.group,
            "state": one.state,
            "leader": one.leader,
            "streams": len(one.streams),
            "timers": dict(one.timers),
            "until_us": _reads_until_us(one.timers, one.spans),
        }
        for one in agent.borrowers.values()
    }


def _reads_until_us(timers: dict[str, int], spans: Any) -> int | None:
    """The instant at which a borrower resets if its leader stays silent; None while it has no leader."""
    if PING_TIMEOUT in timers:
        return timers[PING_TIMEOUT]
    return timers[PING] + spans.session_ping_leader_timeout if PING in timers else None
