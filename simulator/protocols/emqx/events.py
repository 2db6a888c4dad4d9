"""The events of EMQX's durable shared subscriptions.

`cluster` is a node, `topic` a stream (shard/generation/topic), `subscription` a group, `client` a session.
"""

# mypy: disable-error-code="empty-body"

from __future__ import annotations

from typing import Annotated, TypedDict

from simulator.trace.registry import Name, NameNumber, Vocabulary, control, data
from simulator.trace.shared_events import SHARED_EVENTS, SharedRows

AboutSent = Annotated[
    tuple[NameNumber, NameNumber, NameNumber, NameNumber, NameNumber, int, NameNumber, int],
    "cluster peer subscription client topic count reason entry",
]
"""The columns of a row about a message between nodes."""


class GroupNames(TypedDict):
    """The columns that name a process of a group: `**leader.names` in a call."""

    cluster: Name
    subscription: Name


class EmqxRows(SharedRows):
    """Writers of the rows of EMQX."""

    __slots__ = ()

    @control(133, "every process of the node died")
    def node_crashed(self, cause: int, *, cluster: Name) -> int: ...

    @control(134, "the node is up again, empty")
    def node_restarted(self, cause: int, *, cluster: Name) -> int: ...

    @control(135, "a client connected; reason: new, resumed")
    def session_connected(self, cause: int, *, cluster: Name, client: Name, reason: Name) -> int: ...

    @control(
        136,
        "its connection ended; reason: closed (in order), killed, crash, node-crash, node-stop, evacuated "
        "(in order), taken-over (by the same client elsewhere)",
    )
    def session_disconnected(self, cause: int, *, cluster: Name, client: Name, reason: Name) -> int: ...

    @control(
        137,
        "a client subscribed; count numbers its subscriptions, detail is what it asked for; subscription "
        "null: a filter of its own",
    )
    def session_subscribed(
        self, cause: int, *, cluster: Name, subscription: Name, client: Name, count: int, detail: Name
    ) -> int: ...

    @control(138, "a client gave subscription count up")
    def session_unsubscribed(
        self, cause: int, *, cluster: Name, subscription: Name, client: Name, count: int, detail: Name
    ) -> int: ...

    @control(
        139,
        "the group is there: it reads what was stored from instant duration_us on; detail is how a client "
        "asks for it",
    )
    def group_declared(self, cause: int, *, subscription: Name, duration_us: int, detail: Name) -> int: ...

    @control(140, "the group is gone with its progress")
    def group_destroyed(self, cause: int, *, subscription: Name) -> int: ...

    @control(141, "storage opened a stream in shard count, generation ledger")
    def stream_opened(self, cause: int, *, topic: Name, count: int, ledger: int) -> int: ...

    @control(142, "the stream ends after entry messages")
    def stream_closed(self, cause: int, *, topic: Name, count: int, ledger: int, entry: int) -> int: ...

    @control(143, "a new generation began; count streams of the one before are closed")
    def generation_opened(self, cause: int, *, ledger: int, count: int) -> int: ...

    @control(144, "count shards were added; there are entry now")
    def shards_added(self, cause: int, *, count: int, entry: int) -> int: ...

    @control(145, "the leaders' store answers no request for duration_us")
    def store_failed(self, cause: int, *, duration_us: int) -> int: ...

    @data(
        146,
        "a borrower or leader at cluster sent a message (reason) to the other at peer; count numbers it, "
        "entry is the position in it",
    )
    def protocol_sent(self, cause: int, *, about: AboutSent, size_bytes: int) -> int: ...

    @data(147, "it is at cluster, from another node, peer; what stays at one node needs no such row")
    def protocol_arrived(self, cause: int, *, about: AboutSent, size_bytes: int) -> int: ...

    @control(
        148, "it was not received; detail: loss, link-cut, node-down, no-such-process, own-node, command"
    )
    def protocol_lost(self, cause: int, *, about: AboutSent, detail: Name) -> int: ...

    @control(149, "a command delayed it")
    def protocol_delayed(self, cause: int, *, about: AboutSent, duration_us: int) -> int: ...

    @control(150, "it will arrive twice")
    def protocol_duplicated(self, cause: int, *, about: AboutSent, size_bytes: int) -> int: ...

    @control(
        151,
        "the session's borrower, incarnation count, is in a new state (reason: connecting, connected, "
        "unsubscribing, gone); detail why; ledger is the leader that it listens to",
    )
    def borrower_changed(
        self,
        cause: int,
        *,
        cluster: Name,
        subscription: Name,
        client: Name,
        count: int,
        reason: Name,
        detail: Name,
        ledger: int,
    ) -> int: ...

    @control(152, "at borrower count the stream is granted, revoking or absent; entry is where it reads from")
    def lease_changed(
        self,
        cause: int,
        *,
        cluster: Name,
        subscription: Name,
        client: Name,
        topic: Name,
        count: int,
        entry: int,
        reason: Name,
        ledger: int,
    ) -> int: ...

    @data(
        153,
        "the session took messages entry to to_entry (excluded) of the stream to deliver them to its "
        "client; count is the borrower; reason: fetched, or again: what was in flight when a session "
        "reconnects",
    )
    def chunk_fetched(
        self,
        cause: int,
        *,
        cluster: Name,
        subscription: Name,
        client: Name,
        topic: Name,
        count: int,
        entry: int,
        to_entry: int,
        reason: Name,
    ) -> int: ...

    @data(
        154,
        "all that the session had of the stream is acknowledged up to entry (null: to its end); its "
        "borrower count receives it, if it still lives",
    )
    def progress_told(
        self,
        cause: int,
        *,
        cluster: Name,
        subscription: Name,
        client: Name,
        topic: Name,
        count: int,
        entry: int,
    ) -> int: ...

    @control(
        155,
        "leader count of the group runs at the node; reason: first (no claim was there), taken-over (the "
        "claim was too old)",
    )
    def leader_elected(
        self, cause: int, *, cluster: Name, subscription: Name, count: int, reason: Name
    ) -> int: ...

    @control(156, "the node believes the claim of leader count at peer for duration_us more")
    def leader_followed(
        self, cause: int, *, cluster: Name, peer: Name, subscription: Name, count: int, duration_us: int
    ) -> int: ...

    @control(157, "no leader could be made; detail why")
    def election_failed(self, cause: int, *, cluster: Name, subscription: Name, detail: Name) -> int: ...

    @control(158, "leader count is no more; reason why")
    def leader_ended(
        self, cause: int, *, cluster: Name, subscription: Name, count: int, reason: Name
    ) -> int: ...

    @control(
        159, "a reassignment round of leader count changed something: entry streams, sequence_id borrowers"
    )
    def leader_round(
        self, cause: int, *, cluster: Name, subscription: Name, count: int, entry: int, sequence_id: int
    ) -> int: ...

    @control(160, "leader count renewed its claim and wrote entry changed positions, in one step")
    def leader_committed(
        self, cause: int, *, cluster: Name, subscription: Name, count: int, entry: int
    ) -> int: ...

    @control(161, "leader count shares the stream from now on, beginning at entry")
    def stream_found(
        self, cause: int, *, cluster: Name, subscription: Name, topic: Name, entry: int, count: int
    ) -> int: ...

    @control(162, "leader count begins with what the store had")
    def progress_loaded(
        self, cause: int, *, cluster: Name, subscription: Name, topic: Name, entry: int, count: int
    ) -> int: ...

    @data(163, "leader count took a progress into memory: from entry to to_entry (null: the end)")
    def progress_saved(
        self,
        cause: int,
        *,
        cluster: Name,
        subscription: Name,
        client: Name,
        topic: Name,
        entry: int,
        to_entry: int,
        count: int,
    ) -> int: ...

    @data(164, "the store has the position now")
    def progress_persisted(
        self, cause: int, *, cluster: Name, subscription: Name, topic: Name, entry: int, count: int
    ) -> int: ...

    @control(
        165,
        "at leader ledger the stream is granting to, granted to, revoking or revoked from borrower count "
        "of the client, or free; entry is its saved position",
    )
    def assignment_changed(
        self,
        cause: int,
        *,
        cluster: Name,
        subscription: Name,
        client: Name,
        topic: Name,
        count: int,
        entry: int,
        reason: Name,
        ledger: int,
    ) -> int: ...

    @control(166, "the leader has registered borrower count")
    def borrower_joined(
        self, cause: int, *, cluster: Name, subscription: Name, client: Name, count: int
    ) -> int: ...

    @control(167, "the leader has dropped it; its streams are free")
    def borrower_dropped(
        self, cause: int, *, cluster: Name, subscription: Name, client: Name, count: int, reason: Name
    ) -> int: ...

    @control(
        168,
        "the node was stopped: its leaders commit and release their claims, its connections close without "
        "a message to other leaders",
    )
    def node_stopped(self, cause: int, *, cluster: Name) -> int: ...

    @control(169, "the node cannot reach the leaders' store for duration_us")
    def store_unreachable(self, cause: int, *, cluster: Name, duration_us: int) -> int: ...

    @control(170, "leader count waits for the store to answer its commit, and handles no message until then")
    def leader_blocked(self, cause: int, *, cluster: Name, subscription: Name, count: int) -> int: ...

    @control(171, "its request was answered, or given up after 60 s (reason: answered, timeout)")
    def leader_unblocked(
        self, cause: int, *, cluster: Name, subscription: Name, count: int, reason: Name
    ) -> int: ...

    @control(172, "setting reason is duration_us now, written detail, on all nodes")
    def config_updated(self, cause: int, *, reason: Name, detail: Name, duration_us: int) -> int: ...


EVENTS = EmqxRows.events
VOCABULARY = Vocabulary((*SHARED_EVENTS, *EVENTS))
CODE, BY_NAME = VOCABULARY.code, VOCABULARY.by_name
"""The event types that a run of this protocol can write, by name and code."""
