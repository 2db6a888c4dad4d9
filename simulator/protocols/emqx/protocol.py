"""The messages between borrowers and leaders, the states of both, and the legal transitions.

Code, docs and page share these tables.

Rules: EMQX's messages have no number, epoch or echo, so a late or duplicate one looks like a new one
(`emqx_ds_shared_sub_proto`). Here a grant and a revoke have an epoch, which is used only with the option
`revokeCarriesEpoch`. Positions are offsets in a stream, the next one to read. `END` is the end of a closed
stream.
"""

from __future__ import annotations

from typing import NamedTuple

END = 1 << 40
"""The position after the last message of a closed stream."""

BorrowerId = tuple[str, int, int]
"""(session, number of the subscription, number of the incarnation).

A new borrower of the same subscription has another incarnation.
"""

# --- the messages, under the proposal's names

LEADER_WANTED, PING, UPDATE_PROGRESS, REVOKE_FINISHED, DISCONNECT = (
    "leader-wanted",
    "ping",
    "update-progress",
    "revoke-finished",
    "disconnect",
)
CONNECT_RESPONSE, PING_RESPONSE, GRANT, REVOKE, REVOKED, INVALIDATE = (
    "leader-connect-response",
    "ping-response",
    "grant",
    "revoke",
    "revoked",
    "invalidate",
)

TO_LEADER = (LEADER_WANTED, PING, UPDATE_PROGRESS, REVOKE_FINISHED, DISCONNECT)
TO_BORROWER = (CONNECT_RESPONSE, PING_RESPONSE, GRANT, REVOKE, REVOKED, INVALIDATE)
MESSAGES = (*TO_LEADER, *TO_BORROWER)


class Progress(NamedTuple):
    """The progress in one stream: the next position, and whether it is final under this grant."""

    stream: str
    position: int
    finished: bool


class Message(NamedTuple):
    """One message.

    `leader` is the leader's number in a leader's message and 0 in a borrower's. `epoch` is the number of the
    grant that a grant or revoke is about.
    """

    kind: str
    group: str
    borrower: BorrowerId
    leader: int = 0
    stream: str | None = None
    progress: tuple[Progress, ...] = ()
    epoch: int = 0

    @property
    def about(self) -> str:
        """The stream of a message about one stream."""
        assert self.stream is not None, f"{self.kind} names no stream"
        return self.stream


class Address(NamedTuple):
    """The target of a message: `leader` by number, `registry`, or `borrower`, each at a node."""

    node: str
    process: str
    leader: int = 0


class Flight(NamedTuple):
    """A message between nodes."""

    number: int
    message: Message
    source: str
    target: Address
    sent_us: int
    due_us: int
    seq: int


# --- states

Moves = dict[str, dict[str, str]]
"""A state machine: by state the states that may follow, each with its cause.

The causes are in the words of the messages.
"""

CONNECTING, CONNECTED, UNSUBSCRIBING, GONE = "connecting", "connected", "unsubscribing", "gone"
BORROWER_MOVES: Moves = {
    CONNECTING: {
        CONNECTED: "leader-connect-response, or a grant",
        GONE: "unsubscribed or disconnected; begins again after revoke, revoked, invalidate",
    },
    CONNECTED: {
        UNSUBSCRIBING: "unsubscribed, not all acknowledged",
        GONE: (
            "disconnected, or unsubscribed with nothing open; begins again after an unanswered ping, "
            "invalidate, a revoke of what it does not hold"
        ),
    },
    UNSUBSCRIBING: {GONE: "all acknowledged, or its time is over, or disconnected"},
    GONE: {},
}
"""The states of a borrower.

It never returns to an earlier one: a restart makes a new borrower.
"""

GRANTED, REVOKING, ABSENT = "granted", "revoking", "absent"
LEASE_MOVES: Moves = {
    ABSENT: {GRANTED: "grant"},
    GRANTED: {REVOKING: "revoke", ABSENT: "revoked, without revoke: read to its end"},
    REVOKING: {ABSENT: "revoked"},
}
"""The states of one stream at a borrower.

`granted -> absent`: `revoked` may come without `revoke` when the stream is read to its end.
"""

GRANTING, LEADER_GRANTED, LEADER_REVOKING, REVOKED_STATE, FREE = (
    "granting",
    "granted",
    "revoking",
    "revoked",
    "free",
)
_OWNER_GONE = "its owner left or was dropped"
_AT_END = "read to its end, or no longer in storage"
ASSIGNMENT_MOVES: Moves = {
    FREE: {GRANTING: "a round, or a borrower connects: grant is sent"},
    GRANTING: {LEADER_GRANTED: "update-progress", REVOKED_STATE: _AT_END, FREE: _OWNER_GONE},
    LEADER_GRANTED: {
        LEADER_REVOKING: "a round: its owner has too many; revoke is sent",
        REVOKED_STATE: _AT_END,
        FREE: _OWNER_GONE,
    },
    LEADER_REVOKING: {REVOKED_STATE: "update-progress, finished: revoked is sent", FREE: _OWNER_GONE},
    REVOKED_STATE: {FREE: "revoke-finished, or " + _OWNER_GONE},
}
"""The states of one stream at its leader.

Every state may change to free when the owner left or was dropped.
"""

LEADING, STOPPED, FENCED, CRASHED = "leading", "stopped", "fenced", "crashed"
LEADER_MOVES: Moves = {
    LEADING: {
        STOPPED: (
            "stopped in order, by an error, or its claim is too old: commits once more, releases its claim"
        ),
        FENCED: "a heartbeat finds another's claim or commit, or the group gone: commits nothing",
        CRASHED: "its process dies: commits nothing, its claim stays until it is too old",
    },
    STOPPED: {},
    FENCED: {},
    CRASHED: {},
}
"""The states of a leader.

It begins with a claim that the store accepted. The next leader is a new one.
"""

MACHINES: dict[str, tuple[str, Moves]] = {
    "borrower": (CONNECTING, BORROWER_MOVES),
    "lease": (ABSENT, LEASE_MOVES),
    "assignment": (FREE, ASSIGNMENT_MOVES),
    "leader": (LEADING, LEADER_MOVES),
}
"""Every state machine of the protocol: its first state, and its moves."""
TRANSIENT = (GRANTING, LEADER_REVOKING, REVOKED_STATE)
"""States resent each `leader_periodical_actions_interval`; a borrower with such a stream is not stable."""
