"""`pulsar-admin topics stats-internal` of one topic or partition in one cluster: ledgers and cursors.

Rules: as in a broker, the open ledger is listed with no entries and no bytes, counters begin with the topic's
load, and messagesConsumedCounter is the entries added less the backlog. Lists are cut at LEDGERS_MAX ledgers
and a cursor's ranges at RANGES_CHARACTERS_MAX. The notes state what was cut.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from simulator.protocols.pulsar.admin.printed import instant
from simulator.protocols.pulsar.admin.stats import (
    TopicStats,
    cursor_name,
    oldest_pending_us,
    ranges_within_ledgers,
)
from simulator.protocols.pulsar.admin.tallies import Backlog, made_of
from simulator.protocols.pulsar.shadow.topic import ShadowTopic
from simulator.protocols.pulsar.storage.retention import RATES_OVER_US

if TYPE_CHECKING:
    from simulator.log.cursors import Cursor
    from simulator.log.ledgers import Ledger
    from simulator.protocols.pulsar.admin.metrics import SnapshotCounts
    from simulator.protocols.pulsar.admin.printed import Path
    from simulator.protocols.pulsar.broker.subscription import Subscription
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.protocols.pulsar.pulsar import Pulsar
    from simulator.protocols.pulsar.replication.replicator import Replicator
    from simulator.protocols.pulsar.shadow.source import ShadowReplicator


# --- notes beside the fields: facts of this instant that the broker's tools do not show
#
# Rules: a note states the simulator's facts of this instant, with figures, at the field that it explains.
# It is short enough to be read beside it. Positions are the cluster's own unless another is named.


Notes = dict["Path", str]


def seconds(us: int) -> str:
    """A span in readable units."""
    return f"{us / 1_000_000:.1f} s" if us >= 100_000 else f"{us / 1_000:.1f} ms"


def some(count: int, one: str, many: str | None = None) -> str:
    """A number with its noun."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def of_stats(stats: TopicStats) -> Generator[None, None, dict[Path, str]]:
    """Notes to `topics stats`; yields between pieces, returns Notes."""
    topic = stats.topic
    written = stats.since("marker.written")
    came = stats.since("marker.stored")
    notes: Notes = {
        ("msgRateIn",): (
            f"Over the last {seconds(stats.counted.window_us)} of simulated time; a broker: over its last "
            f"full minute."
        ),
        ("msgInCounter",): (
            f"{some(came.rows, 'marker')} replicated in counted, {some(written.rows, 'marker')} written "
            f"here not."
        ),
        ("storageSize",): f"Markers took {topic.marker_bytes:,} bytes so far."
        if topic.marker_bytes
        else "No markers in it.",
    }
    for name, one in topic.subscriptions.items():
        found = yield from made_of(topic, one.cursor)
        notes.update(_of_subscription(stats.runtime, ("subscriptions", name), one, found))
    for peer, replicator in topic.replicators.items():
        found = yield from made_of(topic, replicator.cursor_now())
        notes.update(_of_replicator(("replication", peer), replicator, found))
    return notes


def _of_subscription(runtime: Pulsar, path: Path, one: Subscription, found: Backlog) -> Notes:
    kinds = (
        f"{some(found.local + found.remote, 'entry', 'entries')} of messages and "
        f"{some(found.markers, 'marker')}"
    )
    notes: Notes = {
        (*path, "msgBacklog"): f"{kinds}. A marker counts until a dispatcher reads it.",
        (*path, "isReplicated"): sync_words(runtime, one),
    }
    with_consumers = one.dispatcher.unacked
    if with_consumers and one.type not in ("Shared", "Key_Shared"):
        notes[(*path, "unackedMessages")] = (
            f"Always 0 for {one.type}. {some(with_consumers, 'message')} sent and not acknowledged."
        )
    partly = one.cursor.partly_acknowledged()
    if partly:
        notes[(*path, "nonContiguousDeletedMessagesRanges")] = (
            f"{some(len(partly), 'batch is', 'batches are')} acknowledged in part, which no field shows."
        )
    for place, session in enumerate(one.dispatcher.sessions):
        if session.queued:
            in_flight = bool(runtime.consumers[session.consumer.name].in_delivery.pending)
            notes[(*path, "consumers", place, "availablePermits")] = (
                f"{some(session.queued, 'message waits', 'messages wait')} in its receiver queue"
                f"{' or in flight to it' if in_flight else ''}."
            )
    return notes


def sync_words(runtime: Pulsar, one: Subscription) -> str:
    """Facts behind the flag: usable snapshots, the last Update, the subscription's state in the remotes."""
    if not one.replicated:
        return "Not kept in sync: no snapshot is kept for it."
    kept, now_us = one.snapshots.kept, one.runtime.now_us
    words = f"The flag only. {some(len(kept), 'snapshot')} kept"
    if kept:
        words += (
            f"; the oldest becomes usable when the mark-delete reaches {one.topic.log.text(kept[0].index)}"
        )
    words += (
        f". Last Update written {seconds(now_us - one.snapshots.last_update_us)} ago."
        if one.snapshots.last_update_us is not None
        else ". No Update was ever written here."
    )
    return " ".join([words, *remote_words(runtime, one)])


def remote_words(runtime: Pulsar, one: Subscription) -> list[str]:
    """The subscription's position in the other clusters."""
    words = []
    for name in runtime.cluster_names:
        cluster = runtime.clusters[name]
        topic = cluster.topics.get(one.topic.name)
        if topic is None or topic is one.topic:
            continue
        if not cluster.up:
            words.append(f"{name} is {cluster.state}.")
            continue
        twin = topic.subscriptions.get(one.name)
        if twin is None:
            words.append(f"{name} has no such subscription yet.")
        else:
            when = (
                f"moved by an Update {seconds(runtime.now_us - twin.last_applied_us)} ago"
                if twin.last_applied_us is not None
                else "not moved by an Update so far"
            )
            words.append(f"{name} is at {twin.mark_delete_text}, {when}.")
    return words


def _of_replicator(path: Path, replicator: Replicator, found: Backlog) -> Notes:
    kinds = (
        f"{found.local:,} written here, {found.remote:,} replicated in (to be passed over), "
        f"{some(found.markers, 'marker')}"
    )
    notes: Notes = {
        (*path, "replicationBacklog"): f"{kinds}; {replicator.unreceipted:,} sent without receipt."
    }
    pending_us = oldest_pending_us(replicator)
    if not replicator.connected:
        notes[(*path, "replicationDelayInSeconds")] = (
            "0 is no evidence here: without a connection nothing is pending."
        )
    elif pending_us:
        oldest = (
            "The oldest entry on the wire left"
            if replicator.wire
            else "The entry at the head has waited for its schema since it was read,"
        )
        notes[(*path, "replicationDelayInSeconds")] = f"{oldest} {seconds(pending_us)} ago."
    reverse = replicator.runtime.clusters[replicator.peer].topics.get(replicator.topic.name)
    back = reverse.replicators.get(replicator.topic.cluster.name) if reverse is not None else None
    if back is None:
        state = "there is none: snapshots can never complete here"
    elif back.connected:
        state = "connected"
    else:
        state = "not connected: no answers, no Updates from there"
    notes[(*path, "connected")] = f"The outbound side only. The way back, which carries answers: {state}."
    return notes


def of_stats_internal(stats: TopicStats) -> Generator[None, None, dict[Path, str]]:
    """Notes to `topics stats-internal`; yields between pieces, returns Notes."""
    topic = stats.topic
    notes: Notes = {("lastConfirmedEntry",): "What a snapshot answer from here would carry now."}
    if len(topic.log.ledgers) > LEDGERS_MAX:
        notes[("ledgers", 0, "ledgerId")] = (
            f"The newest {LEDGERS_MAX:,} of {len(topic.log.ledgers):,} ledgers; a broker lists all."
        )
    for name, one in topic.subscriptions.items():
        path = ("cursors", name)
        notes[(*path, "markDeletePosition")] = " ".join(
            ["Only this position is replicated.", *remote_words(stats.runtime, one)]
        )
        found = yield from made_of(topic, one.cursor)
        notes[(*path, "individuallyDeletedMessages")] = _holes_words(one, found)
        if one.replicated:
            notes[(*path, "properties")] = (
                sync_words(stats.runtime, one).split(". Last")[0].split(". No Update")[0] + "."
            )
        if one.cursor.dirty:
            notes[(*path, "cursorLedgerLastEntry")] = (
                f"A crash now would fall back to {topic.log.text(one.cursor.persisted_mark_delete)}."
            )
    for peer, replicator in topic.replicators.items():
        notes[("cursors", f"pulsar.repl.{peer}", "markDeletePosition")] = (
            f"{replicator.unreceipted:,} sent without receipt, to be sent again by a new connection."
        )
    return notes


def _holes_words(one: Subscription, found: Backlog) -> str:
    count = one.cursor.deleted_count
    if not count:
        return "No holes: everything acknowledged is at or below the mark-delete."
    words = (
        f"{some(count, 'entry', 'entries')}, {some(found.deleted_markers, 'marker')} of them acknowledged "
        f"by the broker itself. None of it is replicated."
    )
    text = one.cursor.text(one.topic.log, RANGES_CHARACTERS_MAX)
    return f"{words} Cut after {RANGES_CHARACTERS_MAX:,} characters." if text.endswith("…]") else words


def of_metrics(stats: TopicStats, counts: SnapshotCounts) -> Notes:
    """Notes to the metrics; keyed by a metric's name and labels as printed without the cluster."""
    cluster = stats.topic.cluster
    pending = sum(len(one.controller.pending) for one in cluster.topics.values() if one.controller)
    drift = counts.gauge - counts.failed_ticks - pending
    left = (
        (
            f" {drift:,} of these {'was' if drift == 1 else 'were'} given up when a controller closed, and "
            f"stay counted."
        )
        if drift
        else ""
    )
    if counts.failed_ticks:
        left += (
            f" {counts.failed_ticks:,} {'was' if counts.failed_ticks == 1 else 'were'} never requested: the "
            f"first tick of a controller failed after it had increased the gauge."
        )
    last = stats.counted.since.snapshots
    done_us = [
        row.at_us for row in last if row.event == "snapshot.completed" and row.cluster == cluster.number
    ]
    age = (
        f"The last one completed {seconds(stats.runtime.now_us - done_us[-1])} ago, which no metric shows."
        if done_us
        else "None has completed since the topic was loaded."
    )
    notes: Notes = {
        (
            "pulsar_replicated_subscriptions_pending_snapshots",
        ): f"{pending:,} pending in truth, all topics together.{left}",
        (
            "pulsar_replicated_subscriptions_timedout_snapshots_total",
        ): "Noticed at ticks only, so up to a period late.",
        ("pulsar_replicated_subscriptions_snapshot_ms_count",): age,
        (
            "pulsar_broker_replication_subscription_snapshot_operation_count_total",
            "otel_scope_name=org.apache.pulsar.broker",
        ): "Counted at the start, so those that never end are in it.",
    }
    notes.update(_of_subscription_metrics(stats))
    buckets = (
        "pulsar_broker_replication_subscription_snapshot_operation_duration_seconds_bucket",
        "otel_scope_name=org.apache.pulsar.broker",
    )
    if counts.completed_us:
        longest = seconds(max(counts.completed_us))
        notes[(*buckets, "pulsar_replication_subscription_snapshot_operation_result=success", "le=5.0")] = (
            f"The longest took {longest}; the first border is 5 s."
        )
    return notes


def _of_subscription_metrics(stats: TopicStats) -> Notes:
    """A note to each subscription's backlog, and one to the last one's rate."""
    notes: Notes = {}
    topic = stats.topic
    for name, one in topic.subscriptions.items():
        updates, applied = (
            stats.since("update.written", subscription=one.number),
            stats.since("update.applied", subscription=one.number),
        )
        labels = (
            "namespace=public/default",
            f"topic=persistent://public/default/{topic.name}",
            f"subscription={name}",
        )
        notes[("pulsar_subscription_back_log", *labels)] = (
            f"No metric shows: {some(updates.rows, 'Update')} written, {applied.rows:,} applied here. "
            f"{' '.join(remote_words(stats.runtime, one))}"
        ).strip()
    if topic.subscriptions:
        notes[("pulsar_subscription_msg_rate_out", *labels)] = (
            f"Over the last {seconds(min(stats.counted.window_us, RATES_OVER_US))} of simulated time."
        )
    return notes


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
