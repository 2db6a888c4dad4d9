"""The forecast of a failover at this instant: collects the state for `counting.forecast`.

Rules: reads, never writes. A subscription is forecast from the cluster where its consumers are to every other
cluster of its topic. Partitions add up. Cost: the entries above the remote's mark-delete, and set operations
on bitmaps.
"""

from __future__ import annotations

from array import array
from dataclasses import asdict
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from pyroaring import BitMap

from simulator.log.cursors import runs
from simulator.protocols.pulsar.ack_sync import origin_of
from simulator.protocols.pulsar.verdicts.forecast import Flags, Places, RemoteCursor
from simulator.protocols.pulsar.verdicts.forecast import duplicate_entries as count_duplicate_entries
from simulator.protocols.pulsar.verdicts.forecast import forecast as count_forecast

if TYPE_CHECKING:
    from simulator.log.cursors import Cursor
    from simulator.log.ledgers import TopicLog
    from simulator.protocols.pulsar.broker.subscription import Subscription
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.protocols.pulsar.pulsar import Pulsar

MARKED_RANGES_MAX = 200
"""Ranges of entries that one frame may carry of a forecast or failover.

They are the first ranges of a cursor and the newest of the duplicates.
"""

FIGURES = ("duplicates", "redeliveries", "lost", "stranded", "stranded_unprocessed")


def source_of(runtime: Pulsar, subscription: str) -> str | None:
    """The cluster of the subscription's consumers, None without any.

    It is that of the first connected consumer by name, else of the first one.
    """
    consumers = [
        runtime.consumers[name]
        for name in sorted(runtime.consumers)
        if runtime.consumers[name].spec.subscription == subscription
    ]
    alive = [consumer for consumer in consumers if consumer.sessions]
    return (alive or consumers)[0].cluster_name if consumers else None


def is_target(runtime: Pulsar, subscription: str, cluster: str) -> bool:
    """Whether consumers could be moved to the cluster.

    It must be up, and the topic must not have been migrated away from it (PIP-188), else it redirects
    clients.
    """
    if not runtime.clusters[cluster].up:
        return False
    base = runtime.subscriptions[subscription].topic
    return any(
        topic.base == base and topic.migrated_to is None
        for topic in runtime.clusters[cluster].topics.values()
    )


def forecast(runtime: Pulsar, subscription: str, source: str | None = None) -> dict[str, dict[str, int]]:
    """The figures of a failover to each remote cluster if `source` failed now.

    The figures are duplicates, redeliveries, lost, stranded (not replicated) and stranded_unprocessed.
    """
    source = source or source_of(runtime, subscription)
    base = runtime.subscriptions[subscription].topic
    if source is None:
        return {}
    result = {}
    for remote in (name for name in runtime.clusters_of(base) if name != source):
        total = dict.fromkeys(FIGURES, 0)
        for topic in runtime.clusters[source].topics.values():
            there = runtime.clusters[remote].topics.get(topic.name)
            if topic.base == base and there is not None:
                for name, value in _one(runtime, subscription, topic, there).items():
                    total[name] += value
        result[remote] = total
    return result


def marked_entries(
    runtime: Pulsar, subscription: str, source: str, to: dict[str, dict[str, int]]
) -> dict[str, dict[str, Any]]:
    """By cluster and log, the entries with a state that the cluster's own cursor does not show.

    See `marks`. `to` is the forecast. Where the consumers are, only what is left of the latest failover can
    be a duplicate.
    """
    base = runtime.subscriptions[subscription].topic
    result: dict[str, dict[str, Any]] = {name: {} for name in runtime.clusters_of(base)}
    for topic in runtime.clusters[source].topics.values():
        if topic.base != base:
            continue
        for name, logs in result.items():
            there = runtime.clusters[name].topics.get(topic.name)
            if there is not None:
                logs[there.name] = _marked(runtime, subscription, topic, there, to.get(name))
    return result


def _marked(
    runtime: Pulsar, subscription: str, here: Topic, there: Topic, figures: dict[str, int] | None
) -> dict[str, Any]:
    window, own = runtime.windows.get(subscription), there.subscriptions.get(subscription)
    moved_here = window is not None and window.target == there.cluster.name
    duplicates, others, messages = _repeats(runtime, subscription, there)
    if here is there and duplicates:
        # an ack on its way to this cluster's broker is none of another cluster
        elsewhere = duplicates & _entries_with(
            runtime, there, _covered_elsewhere(runtime, subscription, there)
        )
        duplicates = elsewhere - _held(runtime, own) if moved_here else BitMap()
        others |= elsewhere - duplicates
    elif own is None and figures is None:  # nobody opens the subscription where no failover leads
        duplicates, others, messages = BitMap(), others | duplicates, 0
    lost = missing = BitMap()
    if own is not None and (moved_here if here is there else figures and figures["lost"]):
        lost = _lost_in(runtime, subscription, there) - _uncovered_in(runtime, there, own)
        if here is not there:
            lost = lost.difference(*(resent(one, there) for one in _copies(there) if one is not here))
    if window is not None and window.source == there.cluster.name and not there.cluster.up:
        missing = window.stranded - _present(runtime, here.base, window.target)
    return marks(
        duplicates,
        messages,
        [] if here is there else _causes(runtime, subscription, here, there, duplicates),
        acked=others,
        lost=_entries_with(runtime, there, lost),
        missing=_entries_with(runtime, there, missing),
    )


def _repeats(runtime: Pulsar, subscription: str, there: Topic) -> tuple[BitMap, BitMap, int]:
    """Entries to be delivered again, others acked in another cluster, and the number of duplicates.

    Others are messages of partly acknowledged batches that the cursor holds.
    """
    log, acked = _target_log(runtime, subscription, there), runtime.acknowledged[subscription]
    duplicates, messages = count_duplicate_entries(**log, acknowledged=acked)
    cursor = log["cursor"]
    if cursor is None or not cursor.deleted_messages:
        return duplicates, BitMap(), messages
    unfiltered = {**log, "cursor": RemoteCursor(cursor.mark_delete, cursor.deleted)}
    return duplicates, count_duplicate_entries(**unfiltered, acknowledged=acked)[0] - duplicates, messages


def _held(runtime: Pulsar, own: Subscription | None) -> BitMap:
    """The entries that consumers of the subscription hold unacknowledged."""
    if own is None:
        return BitMap()
    return BitMap(
        key.index
        for session in own.dispatcher.sessions
        for key in runtime.consumers[session.consumer.name].unacked
        if key.place == own.topic.place
    )


def marks(duplicates: BitMap, messages: int, causes: list[list[Any]], **others: BitMap) -> dict[str, Any]:
    """The marked entries of one log, as frames have them.

    `ranges` are entries whose messages would be duplicates, `messages` how many duplicates are in the log,
    `causes` `[first, last, cause]`. Only where there are any: `acked` in another cluster, without being
    duplicates, `lost`, and `missing` in the target. Of each the newest `MARKED_RANGES_MAX` ranges; `from`
    is the first entry of which all states are known, when ranges were left out.
    """
    listed = {"ranges": runs(duplicates), **{name: runs(found) for name, found in others.items()}}
    cut = [ranges[-MARKED_RANGES_MAX][0] for ranges in listed.values() if len(ranges) > MARKED_RANGES_MAX]
    if len(causes) > MARKED_RANGES_MAX:
        cut.append(causes[-MARKED_RANGES_MAX][0])
    found: dict[str, Any] = {
        name: [list(pair) for pair in ranges[-MARKED_RANGES_MAX:]]
        for name, ranges in listed.items()
        if ranges or name == "ranges"
    }
    found |= {"messages": messages, "causes": causes[-MARKED_RANGES_MAX:]}
    return {**found, "from": max(cut)} if cut else found


def _causes(runtime: Pulsar, name: str, here: Topic, there: Topic, found: BitMap) -> list[list[Any]]:
    """Why the entries of the target would be duplicates."""
    own = here.subscriptions.get(name)
    indices = np.array(found.to_array(), dtype=np.int64)
    beyond = BitMap() if own is None else _messages_from(runtime, here, own.cursor.mark_delete + 1)
    first = int(indices[0]) if len(indices) else 0
    records = there.log.records.view(first, there.log.length)[indices - first]
    return causes_of(
        own,
        there.subscriptions.get(name),
        there.cluster.name,
        indices,
        np.isin(records, np.array(beyond.to_array(), dtype=np.int64)),
        "unsynced" if own is not None and own.sender is not None else None,
    )


def causes_of(
    own: Any, target: Any, cluster: str, indices: np.ndarray, beyond: np.ndarray, synced: str | None
) -> list[list[Any]]:
    """Stretches `[first, last, cause]` of entries that would be duplicates in the target, in order.

    `own` and `target` are the subscription where the consumers are and in the target `cluster`, of a
    simulated or recorded run. `beyond`: which of the messages are after the own mark-delete. `synced` is the
    cause where individual acks are synced.
    """
    if not len(indices):
        return []
    whole = None
    if target is None:
        whole = "missing"
    elif own is not None and not own.replicated:
        whole = synced or "local"
    if whole is not None:
        return [[int(indices[0]), int(indices[-1]), whole]]
    up_to = -1
    for name, ledger, entry in own.snapshots.used if own is not None else ():
        if name == cluster:
            up_to = target.topic.log.index_of(ledger, entry)
    later = np.where(beyond, "hole", "snapshot") if synced is None else np.full(len(indices), synced)
    causes = np.where(indices <= up_to, "update", later)
    starts = [0, *(np.flatnonzero(causes[1:] != causes[:-1]) + 1).tolist()]
    ends = [*(start - 1 for start in starts[1:]), len(indices) - 1]
    return [
        [int(indices[start]), int(indices[end]), str(causes[start])]
        for start, end in zip(starts, ends, strict=True)
    ]


def _covered_elsewhere(runtime: Pulsar, subscription: str, there: Topic) -> BitMap:
    """Messages that the subscription's cursor in another cluster covers."""
    found = BitMap()
    for topic in _copies(there):
        own = topic.subscriptions.get(subscription)
        if topic is not there and own is not None:
            found |= _had(runtime, topic) - _uncovered_in(runtime, topic, own)
    return found


ENTRIES_SEARCHED = 12_000
"""Newest entries of a log that are searched for lost messages and for those that were not replicated.

The page draws no more of them one by one.
"""


def _entries_with(runtime: Pulsar, topic: Topic, messages: BitMap) -> BitMap:
    """The newest entries of a log that hold one of the messages."""
    if not messages:
        return BitMap()
    first = max(topic.log.first_kept, topic.log.length - ENTRIES_SEARCHED)
    log, entry = _window(runtime, topic, first)
    index = np.arange(first, first + len(log)) if entry is None else entry
    return _bitmap(np.unique(index[np.isin(log, np.array(messages.to_array(), dtype=np.int64))]))


def sync_lag(runtime: Pulsar, subscription: str) -> dict[str, int]:
    """By remote cluster, the age in us of the oldest message that its cursor does not cover.

    The cursor is the subscription's in the remote. The age is 0 when it covers the remote's whole log. Where
    the subscription does not exist, the whole log counts. Partitions give the oldest.
    """
    source, base = source_of(runtime, subscription), runtime.subscriptions[subscription].topic
    lags = {}
    for remote in (name for name in runtime.clusters_of(base) if name != source):
        oldest = [
            _oldest_uncovered_us(topic, topic.subscriptions.get(subscription))
            for topic in runtime.clusters[remote].topics.values()
            if topic.base == base
        ]
        known = [at_us for at_us in oldest if at_us is not None]
        lags[remote] = runtime.now_us - min(known) if known else 0
    return lags


def _oldest_uncovered_us(topic: Topic, subscription: Subscription | None) -> int | None:
    """When the first message above the cursor was stored in its log; None when it covers all."""
    log, cursor = topic.log, None if subscription is None else subscription.cursor
    first = log.first_kept if cursor is None else max(log.first_kept, cursor.mark_delete + 1)
    while first < log.length:
        records = log.records.view(first, min(log.length, first + _LOOKED_AT))
        for index in (first + np.flatnonzero(records >= 0)).tolist():
            if cursor is None or not cursor.is_acknowledged(index):
                return topic.runtime.trace.at_us(topic.stored_seqs[index])
        first += _LOOKED_AT
    return None


_LOOKED_AT = 256
"""Entries checked in one step: the first uncovered one is nearly always among the first few."""


def stranded_now(runtime: Pulsar, subscription: str, source: str, target: str) -> BitMap:
    """Messages in the source's log that the target has never had.

    For a permanently lost source its log counts as it was then.
    """
    base = runtime.subscriptions[subscription].topic
    found = BitMap()
    for topic in runtime.clusters[source].topics.values():
        if topic.base == base:
            found |= _had(runtime, topic)
    return found - _present(runtime, base, target)


def returned(runtime: Pulsar, subscription: str, target: str, stranded: BitMap) -> BitMap:
    """The messages, once not replicated, that have reached the target."""
    return stranded & _present(runtime, runtime.subscriptions[subscription].topic, target)


def held(runtime: Pulsar, subscription: str, cluster: str) -> BitMap:
    """Messages of the subscription's topic that are in the cluster's log now."""
    base = runtime.subscriptions[subscription].topic
    return BitMap.union(
        BitMap(),
        *(
            in_log(runtime, topic)
            for topic in runtime.clusters[cluster].topics.values()
            if topic.base == base
        ),
    )


def undelivered(runtime: Pulsar, subscription: str, cluster: str, messages: BitMap) -> BitMap:
    """The given messages that the subscription in the cluster may still deliver.

    None of them was acknowledged, expired or skipped in any cluster.
    """
    base = runtime.subscriptions[subscription].topic
    waiting = BitMap()
    for topic in (
        runtime.clusters[cluster].topics.values() if runtime.clusters[cluster].state != "lost" else ()
    ):
        if topic.base == base:
            found = topic.subscriptions.get(subscription)
            waiting |= (
                in_log(runtime, topic)
                if found is None
                else _without(
                    topic, found.cursor, _messages_from(runtime, topic, found.cursor.mark_delete + 1)
                )
            )
    return (waiting & messages) - runtime.acknowledged[subscription] - runtime.settled[subscription]


def uncovered(runtime: Pulsar, subscription: str, cluster: str) -> BitMap:
    """The messages of the cluster's log that the subscription's cursor there does not cover."""
    base, found = runtime.subscriptions[subscription].topic, BitMap()
    if runtime.clusters[cluster].state == "lost":
        return found
    for topic in runtime.clusters[cluster].topics.values():
        if topic.base == base:
            found |= _uncovered_in(runtime, topic, topic.subscriptions.get(subscription))
    return found


def _uncovered_in(runtime: Pulsar, topic: Topic, subscription: Subscription | None) -> BitMap:
    if subscription is None:
        return in_log(runtime, topic)
    cursor = subscription.cursor
    messages = _messages_from(runtime, topic, cursor.mark_delete + 1)
    return _without(topic, cursor, messages) - _acked_parts(runtime, topic.log, cursor)


def deliverable(runtime: Pulsar, subscription: str, cluster: str, messages: BitMap) -> BitMap:
    """The undelivered ones that the application will get: its client has not dropped them there."""
    waiting = undelivered(runtime, subscription, cluster, messages)
    dropped = runtime.dropped.get((subscription, cluster))
    return waiting - dropped if dropped else waiting


def lost_now(runtime: Pulsar, subscription: str, target: str) -> int:
    """Number of messages that the subscription in the target can no longer deliver, or its client drops.

    None of them was acknowledged, expired or skipped in any cluster.
    """
    base = runtime.subscriptions[subscription].topic
    return sum(
        len(_lost_in(runtime, subscription, there))
        for there in runtime.clusters[target].topics.values()
        if there.base == base
    )


def _lost_in(runtime: Pulsar, subscription: str, there: Topic) -> BitMap:
    """The lost messages of one topic partition of the target."""
    target, copies = there.cluster.name, _copies(there)
    receipted = BitMap.union(*(topic.present for topic in copies))
    open_ = (
        receipted
        - runtime.acknowledged[subscription]
        - runtime.settled[subscription]
        - _not_owed(subscription, copies, receipted)
    )
    coming = BitMap.union(
        BitMap(),
        *(
            unsent(origin, target)
            for origin in copies
            if origin is not there and there.cluster.state != "lost"
        ),
    )
    return open_ - deliverable(runtime, subscription, target, open_) - (coming - there.present)


def _copies(topic: Topic) -> list[Topic]:
    """The topic partition in every cluster that has it."""
    clusters = topic.runtime.clusters.values()
    return [cluster.topics[topic.name] for cluster in clusters if topic.name in cluster.topics]


def _without(topic: Topic, cursor: Cursor, messages: BitMap) -> BitMap:
    """Messages without those of individually deleted entries."""
    deleted = cursor.acknowledged()
    if not deleted:
        return messages
    indices = np.array(deleted.to_array(), dtype=np.int64)
    first = int(indices[0])
    records = topic.log.records.view(first, int(indices[-1]) + 1)[indices - first]
    records = records[records >= 0]
    if not topic.batched:
        return messages - _bitmap(records)
    for record in records.tolist():
        messages.remove_range(record, record + topic.runtime.messages.batch[record])
    return messages


def _bitmap(messages: np.ndarray) -> BitMap:
    """Message numbers as a bitmap, through array.array: numpy's own would be added one by one."""
    return BitMap(array("I", messages.astype(np.uint32).tobytes()))


def _present(runtime: Pulsar, base: str, cluster: str) -> BitMap:
    return BitMap.union(
        BitMap(),
        *(topic.present for topic in runtime.clusters[cluster].topics.values() if topic.base == base),
    )


def _one(runtime: Pulsar, name: str, here: Topic, there: Topic) -> dict[str, int]:
    """The figures of one topic partition."""
    copies = _copies(here)
    receipted = BitMap.union(*(topic.present for topic in copies))
    flags = Flags(
        receipted,
        runtime.acknowledged[name],
        runtime.delivered[name],
        runtime.settled[name] | _not_owed(name, copies, receipted),
    )
    found = count_forecast(
        **_target_log(runtime, name, there),
        flags=flags,
        places=_places(name, here, there, copies, receipted),
    )
    return asdict(found)


def _target_log(runtime: Pulsar, name: str, there: Topic) -> dict[str, Any]:
    """The target's log and cursor, as arguments of the count."""
    subscription = there.subscriptions.get(name)
    first = there.log.first_kept
    if subscription is not None:
        first = max(first, min(subscription.cursor.mark_delete + 1, there.log.length))
    log, entry = _window(runtime, there, first)
    return {
        "log": log,
        "cursor": _cursor(runtime, subscription, first),
        "log_from": first,
        "first_kept": there.log.first_kept,
        "entry": entry,
        "earliest": runtime.subscriptions[name].initial_position == "Earliest",
    }


def _window(runtime: Pulsar, topic: Topic, first: int) -> tuple[np.ndarray, np.ndarray | None]:
    """First messages of the entries from index `first` on.

    With batches it has one element per message, and the second result is each one's entry index.
    """
    log = topic.log.records.view(first, topic.log.length)
    batch = (
        np.array([1 if record < 0 else runtime.messages.batch[record] for record in log.tolist()])
        if topic.batched
        else None
    )
    if batch is None or (batch <= 1).all():
        return log, None
    offsets = np.concatenate([np.arange(count) for count in batch])
    return np.repeat(log, batch) + offsets * (np.repeat(log, batch) >= 0), np.repeat(
        np.arange(first, first + len(log)), batch
    )


def _cursor(runtime: Pulsar, subscription: Subscription | None, first: int) -> RemoteCursor | None:
    if subscription is None:
        return None
    cursor = subscription.cursor
    parts = _acked_parts(runtime, subscription.topic.log, cursor)
    if subscription.filter.reported:
        parts |= _filtered(runtime, subscription, first)
    return RemoteCursor(cursor.mark_delete, cursor.acknowledged(), parts)


def _acked_parts(runtime: Pulsar, log: TopicLog, cursor: Cursor) -> BitMap:
    """The acked messages of batches of which others are not acked."""
    parts = BitMap()
    for index, remaining in cursor.partly_acknowledged().items():
        first = log.records[index]
        parts.update(
            first + offset for offset in range(runtime.messages.batch[first]) if not remaining >> offset & 1
        )
    return parts


def _filtered(runtime: Pulsar, subscription: Subscription, first: int) -> BitMap:
    """Messages from index `first` on that the acknowledgement filter will not dispatch."""
    topic, found = subscription.topic, BitMap()
    for index in range(first, topic.log.length):
        record = topic.log.records[index]
        if record < 0:
            continue
        remaining = subscription.filter.remaining(index, record)
        count = runtime.messages.batch[record]
        if remaining != (1 << count) - 1:
            found.update(record + offset for offset in range(count) if not remaining >> offset & 1)
    return found


def _not_owed(name: str, copies: list[Topic], receipted: BitMap) -> BitMap:
    """Messages stored before a consumer or an operator opened the subscription.

    This must hold in every cluster where one did.
    """
    owed = BitMap()
    for topic in copies:
        if name in topic.owed_from:
            owed |= receipted - topic.owed_from[name]
    return receipted - owed


def _places(name: str, here: Topic, there: Topic, copies: list[Topic], receipted: BitMap) -> Places:
    """Where messages missing in the target are.

    They are in flight from other clusters, or skipped by every replication cursor.
    """
    runtime, subscription = here.runtime, there.subscriptions.get(name)
    missing = np.array((receipted - there.present).to_array(), dtype=np.int64)
    origins = np.frombuffer(runtime.messages.origin, dtype=np.int64)[missing] if len(missing) else missing
    passed_over, coming = BitMap(), BitMap()
    for origin in copies if len(missing) else ():
        native = _bitmap(missing[origins == origin.cluster.index])
        to_send = _to_send(origin, there.cluster.name) & native
        passed_over |= native - to_send
        if origin is not here and origin.cluster.up:
            coming |= _not_synced(origin, subscription, to_send)
        elif not origin.cluster.up:
            coming |= _not_synced(origin, subscription, _still_arriving(origin, there) & native)
    again = BitMap.union(
        BitMap(),
        *(
            _not_synced(origin, subscription, resent(origin, there))
            for origin in copies
            if origin is not here
        ),
    )
    return Places(_had(runtime, here), there.present, passed_over, coming, again)


def _still_arriving(origin: Topic, there: Topic) -> BitMap:
    """Messages on the wire from a cluster whose broker processes died: the network delivers them."""
    replicator, found = origin.replicators.get(there.cluster.name), BitMap()
    for index, _sent_us, _due_us in replicator.broken.entries if replicator is not None else ():
        record = origin.log.records[index]
        if record >= 0:
            found.add_range(record, record + origin.runtime.messages.batch[record])
    return found


def _not_synced(origin: Topic, subscription: Subscription | None, messages: BitMap) -> BitMap:
    """The given messages of the origin that no peer reported as acknowledged.

    The target's filter skips the others.
    """
    if subscription is None or not subscription.filter.reported:
        return messages
    batch, reported = origin.runtime.messages.batch, BitMap()
    for index in range(origin.log.first_kept, origin.log.length):
        record = origin.log.records[index]
        if record >= 0 and record in messages:
            remaining = subscription.filter.not_reported(origin_of(origin, index), batch[record])
            reported.update(record + offset for offset in range(batch[record]) if not remaining >> offset & 1)
    return messages - reported


def resent(origin: Topic, there: Topic) -> BitMap:
    """Messages in the target that will be sent again: the connection broke before their ack arrived.

    The source is AbstractReplicator.
    """
    replicator, found = origin.replicators.get(there.cluster.name), BitMap()
    if (
        replicator is None
        or not origin.cluster.up
        or there.cluster.setting("brokerDeduplicationEnabled", there)
    ):
        return found
    unread = range(
        replicator.read_index if replicator.connected else replicator.cursor.mark_delete + 1,
        origin.log.length,
    )
    messages = origin.runtime.messages
    for index in chain((sent[0] for sent in replicator.wire), unread):
        record = origin.log.records[index]
        if (
            record < 0
            or messages.origin[record] != origin.cluster.index
            or replicator.cursor.is_acknowledged(index)
        ):
            continue
        if record not in there.present:
            break  # sent in order: none after it was sent before
        found.add_range(record, record + messages.batch[record])
    return found


def unsent(topic: Topic, peer: str) -> BitMap:
    """Messages of the topic's own cluster that its replication cursor towards `peer` has not passed."""
    waiting = np.array(_to_send(topic, peer).to_array(), dtype=np.int64)
    origins = (
        np.frombuffer(topic.runtime.messages.origin, dtype=np.int64)[waiting] if len(waiting) else waiting
    )
    return _bitmap(waiting[origins == topic.cluster.index])


def _to_send(origin: Topic, peer: str) -> BitMap:
    """Messages that the replication cursor towards `peer` has not passed; none without such a cursor."""
    replicator = origin.replicators.get(peer)
    if replicator is None or origin.cluster.state == "lost":
        return BitMap()
    # Individually deleted there: skipped, or acknowledged out of order.
    return _without(
        origin,
        replicator.cursor,
        _messages_from(origin.runtime, origin, replicator.settled_mark_delete() + 1),
    )


def in_log(runtime: Pulsar, topic: Topic) -> BitMap:
    """Messages that the topic's log holds now."""
    return BitMap() if topic.cluster.state == "lost" else _had(runtime, topic)


def _had(runtime: Pulsar, topic: Topic) -> BitMap:
    """Messages that the topic's log holds now, or held when its cluster was lost for good."""
    return (
        topic.present if topic.log.first_kept == 0 else _messages_from(runtime, topic, topic.log.first_kept)
    )


def _messages_from(runtime: Pulsar, topic: Topic, first: int) -> BitMap:
    window, _entry = _window(runtime, topic, max(first, topic.log.first_kept))
    return _bitmap(window[window >= 0])
