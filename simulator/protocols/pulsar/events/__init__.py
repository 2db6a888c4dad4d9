"""The events of Pulsar, by subject, and the words and numbers of its markers."""

from __future__ import annotations

from simulator.protocols.pulsar.events.creation import CREATION
from simulator.protocols.pulsar.events.messages import MESSAGES
from simulator.protocols.pulsar.events.migration import MIGRATION
from simulator.protocols.pulsar.events.replication import REPLICATION
from simulator.protocols.pulsar.events.shadows import SHADOWS
from simulator.protocols.pulsar.events.snapshots import SNAPSHOTS
from simulator.protocols.pulsar.events.subscriptions import SUBSCRIPTIONS
from simulator.protocols.pulsar.events.topics import TOPICS
from simulator.trace.registry import EventType, Vocabulary, WordTable
from simulator.trace.shared_events import SHARED_EVENTS

EVENTS: tuple[EventType, ...] = (
    *TOPICS,
    *MESSAGES,
    *SNAPSHOTS,
    *SUBSCRIPTIONS,
    *REPLICATION,
    *CREATION,
    *SHADOWS,
    *MIGRATION,
)

VOCABULARY = Vocabulary((*SHARED_EVENTS, *EVENTS))
CODE, BY_NAME = VOCABULARY.code, VOCABULARY.by_name
"""The events that a run of this protocol can write."""

MARKER_TYPES: dict[str, int] = {
    # word in traces: Pulsar's MarkerType number
    "snapshot_request": 10,
    "snapshot_response": 11,
    "snapshot": 12,
    "subscription_update": 13,
}

WORD_TABLES = (
    WordTable(
        "Marker types",
        "The words in `reason` of marker rows, and Pulsar's numbers for them.",
        ("word", "MarkerType"),
        tuple(MARKER_TYPES.items()),
    ),
)
