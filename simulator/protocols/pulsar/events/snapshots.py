"""Events of markers, snapshot controllers, snapshots and updates (PIP-33)."""

from __future__ import annotations

from simulator.trace.registry import EventType

_MARKER = ("cluster", "peer", "topic", "marker", "reason", "snapshot", "subscription", "ledger", "entry")

SNAPSHOTS: tuple[EventType, ...] = (
    EventType(
        31,
        "marker.written",
        (*_MARKER, "size_bytes"),
        "control",
        (
            "a marker was appended where it was made; reason is its type; peer is the only addressee, null "
            "for everyone"
        ),
    ),
    EventType(
        32,
        "marker.sent",
        _MARKER,
        "control",
        "left cluster for peer",
    ),
    EventType(
        33,
        "marker.stored",
        (*_MARKER, "size_bytes"),
        "control",
        "appended in cluster, replicated from peer",
    ),
    EventType(
        34,
        "marker.handled",
        _MARKER,
        "control",
        "read by the replicator cluster -> peer and given to the controller",
    ),
    EventType(
        35,
        "marker.filtered",
        _MARKER,
        "data",
        "read by the dispatcher of subscription, acknowledged by the broker, never delivered",
    ),
    EventType(
        36,
        "marker.lost",
        _MARKER,
        "control",
        "was on the wire from cluster to peer when the connection broke",
    ),
    EventType(
        37,
        "marker.delayed",
        (*_MARKER, "duration_us"),
        "control",
        "a command delayed it on the wire",
    ),
    EventType(
        38,
        "marker.dropped",
        _MARKER,
        "control",
        "a command removed it on the wire",
    ),
    EventType(
        39,
        "controller.started",
        ("cluster", "topic", "reason"),
        "control",
        "the snapshot controller runs (reason: subscription, forced)",
    ),
    EventType(
        40,
        "controller.stopped",
        ("cluster", "topic", "reason"),
        "control",
        "the snapshot controller was closed",
    ),
    EventType(
        173,
        "controller.tick-failed",
        ("cluster", "topic"),
        "control",
        "its first tick ended with an exception instead of a request (option firstSnapshotTickFails)",
    ),
    EventType(
        41,
        "snapshot.requested",
        ("cluster", "topic", "snapshot", "count"),
        "control",
        "a snapshot round was asked for; count is the round, 1 or 2",
    ),
    EventType(
        42,
        "snapshot.refused",
        ("cluster", "topic", "reason"),
        "control",
        "a tick asked for nothing (reason: pending, no-new-data, replicator-disconnected)",
    ),
    EventType(
        43,
        "snapshot.answered",
        ("cluster", "peer", "topic", "snapshot", "count", "ledger", "entry", "to_ledger", "to_entry"),
        "control",
        (
            "peer's answer of round count counted at cluster: position of the response here, position "
            "reported there"
        ),
    ),
    EventType(
        44,
        "snapshot.answer-ignored",
        ("cluster", "peer", "topic", "reason"),
        "control",
        "an answer to a snapshot that is not pending",
    ),
    EventType(
        45,
        "snapshot.completed",
        ("cluster", "topic", "snapshot", "ledger", "entry", "duration_us", "reason"),
        "control",
        (
            "the snapshot is usable: local_message_id; reason is full or partial; its snapshot.position rows "
            "follow"
        ),
    ),
    EventType(
        46,
        "snapshot.position",
        ("cluster", "peer", "topic", "snapshot", "to_ledger", "to_entry"),
        "control",
        "peer's position in the snapshot just completed",
    ),
    EventType(
        47,
        "snapshot.timed-out",
        ("cluster", "topic", "snapshot"),
        "control",
        "swept after replicatedSubscriptionsSnapshotTimeoutSeconds",
    ),
    EventType(
        48,
        "snapshot.abandoned",
        ("cluster", "topic", "snapshot", "reason"),
        "control",
        "pending when its controller closed (unload, crash)",
    ),
    EventType(
        49,
        "snapshot.cached",
        ("cluster", "topic", "subscription", "snapshot", "ledger", "entry"),
        "control",
        "the dispatcher read its marker; the subscription's cache holds it",
    ),
    EventType(
        50,
        "snapshot.evicted",
        ("cluster", "topic", "subscription", "snapshot", "reason"),
        "control",
        "left the cache unused (reason: cache-rule, cursor-reset, unloaded, passed, switched-off)",
    ),
    EventType(
        51,
        "snapshot.used",
        ("cluster", "topic", "subscription", "snapshot", "ledger", "entry"),
        "control",
        "taken from the cache as newest at or below the mark-delete; an Update is written",
    ),
    EventType(
        52,
        "update.written",
        ("cluster", "topic", "subscription", "snapshot", "marker", "ledger", "entry"),
        "control",
        "an Update marker was appended; its update.position rows follow",
    ),
    EventType(
        53,
        "update.position",
        ("cluster", "peer", "topic", "subscription", "snapshot", "marker", "to_ledger", "to_entry"),
        "control",
        "the position that the Update names for peer",
    ),
    EventType(
        54,
        "update.applied",
        ("cluster", "peer", "topic", "subscription", "marker", "to_ledger", "to_entry", "evidence_seq"),
        "control",
        "cluster acked cumulatively up to the position in peer's Update; evidence_seq is update.written",
    ),
    EventType(
        55,
        "update.refused",
        ("cluster", "peer", "topic", "subscription", "marker", "to_ledger", "to_entry", "reason"),
        "control",
        "cluster did not move (reason: behind-mark-delete, equal, beyond-last-entry, not-addressed)",
    ),
)
