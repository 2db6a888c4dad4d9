"""`pulsar-admin topics stats-internal` of one topic or partition in one cluster: ledgers and cursors.

Rules: as in a broker, the open ledger is listed with no entries and no bytes, counters begin with the topic's
load, and messagesConsumedCounter is the entries added less the backlog. Lists are cut at LEDGERS_MAX ledgers
and a cursor's ranges at RANGES_CHARACTERS_MAX. The notes state what was cut.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simulator.protocols.pulsar.admin.printed import instant
from simulator.protocols.pulsar.admin.shadow_stats import cursor_name
from simulator.protocols.pulsar.admin.stats import TopicStats, ranges_within_ledgers
from simulator.protocols.pulsar.shadow.topic import ShadowTopic

if TYPE_CHECKING:
    from simulator.log.cursors import Cursor
    from simulator.log.ledgers import Ledger
    from simulator.protocols.pulsar.broker.subscription import Subscription
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.protocols.pulsar.replication.replicator import Replicator
    from simulator.protocols.pulsar.shadow.replicator import ShadowReplicator

LEDGERS_MAX = 1_000
"""Ledgers listed, the newest; a run with tiny ledgers may have a million."""
RANGES_CHARACTERS_MAX = 20_000
"""Characters of a cursor's ranges; a million ranges would print 25 MB."""

_NO_LEDGER = {"ledgerId": -1, "entries": -1, "size": -1, "offloaded": False, "underReplicated": False}


def tree(stats: TopicStats) -> dict[str, Any]:
    """The whole object, fields in the order in which a broker prints them."""
    topic, log = stats.topic, stats.topic.log
    open_ledger = log.current
    cursors = {name: _subscription_cursor(stats, one) for name, one in topic.subscriptions.items()}
    cursors.update(
        {f"pulsar.repl.{peer}": _replication_cursor(stats, one) for peer, one in topic.replicators.items()}
    )
    cursors.update(
        {cursor_name(one): _shadow_cursor(topic, one) for one in topic.shadows.replicators.values()}
    )
    ledger, entry = log.last_confirmed
    shadow = topic if isinstance(topic, ShadowTopic) else None
    current_entries = open_ledger.entries if open_ledger else 0
    return {
        "entriesAddedCounter": log.length - topic.loaded_length,
        "numberOfEntries": log.length - log.first_kept,
        "totalSize": sum(ledger.size_bytes for ledger in log.ledgers),
        "currentLedgerEntries": current_entries if shadow is None else shadow.current_entries,
        "currentLedgerSize": open_ledger.size_bytes if open_ledger else 0,
        "lastLedgerCreatedTimestamp": instant(log.ledgers[-1].opened_us if log.ledgers else 0),
        "waitingCursorsCount": sum(one["waitingReadOp"] for one in cursors.values()),
        "pendingAddEntriesCount": 0 if shadow is None else len(shadow.queued),
        "lastConfirmedEntry": f"{ledger}:{entry}",
        "state": "LedgerOpened",
        "ledgers": [_ledger(ledger) for ledger in log.ledgers[-LEDGERS_MAX:]],
        "cursors": dict(sorted(cursors.items())),
        "schemaLedgers": [],
        "compactedLedger": dict(_NO_LEDGER),
    }


def _ledger(ledger: Ledger) -> dict[str, Any]:
    closed = ledger.closed_us is not None
    return {
        "ledgerId": ledger.id,
        "entries": ledger.entries if closed else 0,
        "size": ledger.size_bytes if closed else 0,
        "offloaded": False,
        "underReplicated": False,
    }


def _subscription_cursor(stats: TopicStats, one: Subscription) -> dict[str, Any]:
    dispatcher, topic = one.dispatcher, stats.topic
    reads = any(session.ready for session in dispatcher.sessions)
    caught_up = dispatcher.read_index >= topic.readable_length
    persisted = stats.since("cursor.persisted", subscription=one.number)
    created = stats.since("subscription.created", subscription=one.number)
    return _cursor(
        topic,
        one.cursor,
        one.border.position(one.cursor.mark_delete),
        dispatcher.read_index,
        waits=reads and (caught_up or dispatcher.tail.check_due),
        active=bool(dispatcher.sessions),
        ledger=one.writer.ledger,
        writes=persisted.rows,
        switched_us=max(topic.loaded_us, created.last_us),
        replays=bool(getattr(dispatcher, "replay", ())) and not reads,
        properties={"pulsar.replicated.subscription": 1} if one.replicated else {},
    )


def _replication_cursor(stats: TopicStats, one: Replicator) -> dict[str, Any]:
    topic, cursor = stats.topic, one.cursor_now()
    reads_all = one.connected and not one.stalled and not one.tail.check_due
    read_index = topic.readable_length if reads_all else max(one.read_index, cursor.mark_delete + 1)
    waits = one.connected and (read_index >= topic.readable_length or one.tail.check_due)
    return _cursor(
        topic,
        cursor,
        one.border.position(cursor.mark_delete),
        read_index,
        waits=waits,
        active=one.connected,
        ledger=-1,
        writes=0,
        switched_us=topic.loaded_us,
        replays=False,
        properties={},
    )


def _shadow_cursor(topic: Topic, one: ShadowReplicator) -> dict[str, Any]:
    """A cursor that is not durable: it has no ledger and is created with each load."""
    waits = one.state == "started" and (one.read_index >= topic.readable_length or one.tail.check_due)
    return _cursor(
        topic,
        one.cursor,
        topic.log.position(one.cursor.mark_delete),
        one.read_index,
        waits=waits,
        active=one.state == "started",
        ledger=-1,
        writes=0,
        switched_us=topic.loaded_us,
        replays=False,
        properties={},
    )


def _cursor(
    topic: Topic,
    cursor: Cursor,
    mark_delete: tuple[int, int],
    read_index: int,
    *,
    waits: bool,
    active: bool,
    ledger: int,
    writes: int,
    switched_us: int,
    replays: bool,
    properties: dict[str, int],
) -> dict[str, Any]:
    added = topic.log.length - topic.loaded_length
    return {
        "markDeletePosition": f"{mark_delete[0]}:{mark_delete[1]}",
        "readPosition": _read_position(topic, cursor, mark_delete, read_index),
        "waitingReadOp": waits,
        "pendingReadOps": 0,
        "messagesConsumedCounter": added - cursor.backlog(topic.log.length),
        "cursorLedger": ledger,
        "cursorLedgerLastEntry": writes - 1 if ledger >= 0 else -1,
        "individuallyDeletedMessages": cursor.text(topic.log, RANGES_CHARACTERS_MAX),
        "lastLedgerSwitchTimestamp": instant(switched_us),
        "state": "Open" if ledger >= 0 else "NoLedger",
        "active": active,
        "numberOfEntriesSinceFirstNotAckedMessage": read_index - cursor.mark_delete,
        "totalNonContiguousDeletedMessagesRange": ranges_within_ledgers(topic, cursor),
        "subscriptionHavePendingRead": waits,
        "subscriptionHavePendingReplayRead": replays,
        "properties": properties,
    }


def _read_position(topic: Topic, cursor: Cursor, mark_delete: tuple[int, int], read_index: int) -> str:
    """Position of the next entry to read.

    A cursor that was moved to the beginning of a new ledger reads that ledger's first entry next.
    """
    if read_index < topic.log.length:
        return topic.log.text(read_index)
    ledger, entry = mark_delete if read_index == cursor.mark_delete + 1 else topic.log.last_confirmed
    return f"{ledger}:{entry + 1}"
