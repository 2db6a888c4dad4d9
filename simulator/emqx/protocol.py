"""The messages between borrowers and leaders, the states of both, and the legal moves: the tables that code, docs and page share.

Rules: no message has a number, epoch or echo; what is late or doubled cannot be told from what is new (fact sheet, section 2).
Positions are offsets in a stream, the next to read; `END` is the end of a stream that is closed.
"""

from __future__ import annotations

from typing import NamedTuple

END = 1 << 40
"""The position after the last message of a closed stream."""

BorrowerId = tuple[str, int, int]
"""(session, number of the subscription, number of the incarnation): a borrower made anew has another last part."""

# --- what is said, under the proposal's names

LEADER_WANTED, PING, UPDATE_PROGRESS, REVOKE_FINISHED, DISCONNECT = "leader-wanted", "ping", "update-progress", "revoke-finished", "disconnect"
CONNECT_RESPONSE, PING_RESPONSE, GRANT, REVOKE, REVOKED, INVALIDATE = "leader-connect-response", "ping-response", "grant", "revoke", "revoked", "invalidate"

TO_LEADER = (LEADER_WANTED, PING, UPDATE_PROGRESS, REVOKE_FINISHED, DISCONNECT)
TO_BORROWER = (CONNECT_RESPONSE, PING_RESPONSE, GRANT, REVOKE, REVOKED, INVALIDATE)
MESSAGES = (*TO_LEADER, *TO_BORROWER)


class Progress(NamedTuple):
    """How far a stream was read: the next position, and whether it will be read no further under this grant."""

    stream: str
    position: int
    finished: bool


class Message(NamedTuple):
    """One message. `leader` is the leader's number in what a leader says, 0 in what a borrower says."""

    kind: str
    group: str
    borrower: BorrowerId
    leader: int = 0
    stream: str | None = None
    progress: tuple[Progress, ...] = ()


# --- states

CONNECTING, CONNECTED, UNSUBSCRIBING, GONE = "connecting", "connected", "unsubscribing", "gone"
BORROWER_MOVES: dict[str, tuple[str, ...]] = {
    CONNECTING: (CONNECTED, GONE),
    CONNECTED: (UNSUBSCRIBING, GONE),
    UNSUBSCRIBING: (GONE,),
    GONE: (),
}
"""A borrower as a whole: no way back; one that must begin again is another borrower."""

GRANTED, REVOKING, ABSENT = "granted", "revoking", "absent"
LEASE_MOVES: dict[str, tuple[str, ...]] = {ABSENT: (GRANTED,), GRANTED: (REVOKING, ABSENT), REVOKING: (ABSENT,)}
"""One stream at a borrower. `granted -> absent`: `revoked` may come without `revoke` when the stream is read to its end."""

GRANTING, LEADER_GRANTED, LEADER_REVOKING, REVOKED_STATE, FREE = "granting", "granted", "revoking", "revoked", "free"
ASSIGNMENT_MOVES: dict[str, tuple[str, ...]] = {
    FREE: (GRANTING,),
    GRANTING: (LEADER_GRANTED, REVOKED_STATE, FREE),
    LEADER_GRANTED: (LEADER_REVOKING, REVOKED_STATE, FREE),
    LEADER_REVOKING: (REVOKED_STATE, FREE),
    REVOKED_STATE: (FREE,),
}
"""One stream at its leader. Every state may fall back to free: its owner left or was dropped."""
TRANSIENT = (GRANTING, LEADER_REVOKING, REVOKED_STATE)
"""What is said again each `leader_periodical_actions_interval`; a borrower with such a stream is not stable."""
