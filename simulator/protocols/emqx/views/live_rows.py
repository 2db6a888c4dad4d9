"""The rows of EMQX that a live page holds, marks and shows in its panels of a group."""

from __future__ import annotations

from simulator.system.live_rows import LiveRows, Messages, StateRow

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
