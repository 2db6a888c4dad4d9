"""The rules of a replicator for one entry, in the broker's order, and the effects of its arrival.

1 marker of the peer -> controller. 2 replicated from another cluster -> skip. 3 replicate_to. 4 TTL. 5 send.
The source is `GeoPersistentReplicator.replicateEntries`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from simulator.protocols.pulsar.markers.entries import SNAPSHOT, Marker

if TYPE_CHECKING:
    from simulator.protocols.pulsar.replication.replicator import Replicator

PASSED_AT_ONCE = 1024
"""Most entries of other clusters that one step skips, so its time does not grow with the backlog."""


def marker_entry(replicator: Replicator, index: int, marker: Marker) -> None:
    """Handle, skip or send a marker that was read."""
    topic, runtime = replicator.topic, replicator.runtime
    own = marker.origin == topic.cluster.name
    if not own and marker.origin == replicator.peer and marker.type != SNAPSHOT:
        seq = topic.note_marker("marker.handled", marker, replicator.peer, index, topic.stored_seqs[index])
        _handle(replicator, marker, index, seq)
    if (
        not own
        or (marker.addressee is not None and marker.addressee != replicator.peer)
        or _expired(replicator, marker.published_us)
    ):
        replicator.receipts.acknowledge(index)
        return
    seq = topic.note_marker("marker.sent", marker, replicator.peer, index, topic.stored_seqs[index])
    delay_us = 0
    fault = next((f for f in runtime.marker_faults if _meant(f, replicator, marker)), None)
    if fault is not None:
        runtime.marker_faults.remove(fault)
        if fault["by_us"] is None:
            topic.note_marker("marker.dropped", marker, replicator.peer, index, seq)
            replicator.receipts.acknowledge(index)
            return
        delay_us = fault["by_us"]
        topic.note_marker("marker.delayed", marker, replicator.peer, index, seq, delay_us)
    copied_bytes = replicator.copy_size.of(*topic.log.position(index))
    replicator.send(index, marker.size_bytes, copied_bytes, seq, delay_us)


def _meant(fault: dict, replicator: Replicator, marker: Marker) -> bool:
    return (
        fault["type"] == marker.type
        and fault["cluster"] == replicator.topic.cluster.name
        and fault["peer"] in (None, replicator.peer)
    )


def _handle(replicator: Replicator, marker: Marker, index: int, cause: int) -> None:
    """Pass a remote's marker to the controller, which is created if necessary.

    With the option forcedControllerStart it is also started. Otherwise a new one only responds.
    """
    topic = replicator.topic
    if not topic.replicated_subscriptions_possible():
        return
    controller = topic.controller
    if controller is None:
        controller = topic.create_controller()
        if replicator.runtime.option("forcedControllerStart"):
            topic.start_controller("forced", cause)
    controller.receive(marker, index, cause)


def message_wanted(replicator: Replicator, index: int, record: int) -> bool:
    """Whether a local message is sent to the peer: replicate_to, then TTL."""
    runtime, topic = replicator.runtime, replicator.topic
    reason = None
    replicate_to = runtime.messages.replicate_to[record]
    if replicate_to == -1 and not topic.hot.ttl_us:
        return True
    if replicate_to != -1 and not replicate_to & replicator.peer_bit:
        reason = "replicate_to"
    elif _expired(replicator, runtime.messages.published_us[record]):
        reason = "expired"
    if reason is None:
        return True
    if reason == "expired":
        replicator.expired.dropped(1, runtime.now_us)
    for message in range(record, record + runtime.messages.batch[record]):
        runtime.note(
            "message.not-replicated",
            topic.stored_seqs[index],
            topic.cluster.number,
            replicator.peer_number,
            topic.number,
            runtime.messages.producer[message],
            runtime.messages.sequence_id[message],
            reason,
        )
    return False


def pass_over_others(replicator: Replicator, index: int) -> None:
    """Skip consecutive messages of other clusters after `index` in one step, if none was read before.

    The cursor was written at this instant, if that was due.
    """
    if replicator.read_to > index + 1:
        return
    log = replicator.topic.log
    records = log.records.view(index + 1, min(log.length, index + 1 + PASSED_AT_ONCE))
    ours = (records < 0) | (
        replicator.runtime.messages.values("origin", np.maximum(records, 0)) == replicator.origin_index
    )
    last = index + (int(ours.argmax()) if ours.any() else len(records))
    replicator.cursor.acknowledge_range(index + 1, last)
    replicator.read_index = last + 1


def _expired(replicator: Replicator, published_us: int) -> bool:
    ttl_us = replicator.topic.hot.ttl_us
    return ttl_us > 0 and published_us + ttl_us < replicator.runtime.now_us


def store_at_peer(replicator: Replicator, index: int, cause: int) -> None:
    """Append an arrived entry to the peer's log, unless deduplication drops it."""
    runtime, source = replicator.runtime, replicator.topic
    target = runtime.clusters[replicator.peer].topics[source.name]
    record, position = source.log.records.values[index], source.log.position(index)
    copied_bytes = replicator.copy_size.of(*position)
    if record < 0:
        marker = runtime.markers[-record - 1]
        target.wake(target.append_marker(marker, source.cluster.name, cause, copied_bytes))
        return
    messages, count = runtime.messages, runtime.messages.batch[record]
    if target.hot.deduplicates:
        name = "pulsar.repl." + source.cluster.name
        if position <= target.producers_seen.get(name, (-1, -1)):
            for message in range(record, record + count):
                runtime.note(
                    "message.deduplicated",
                    cause,
                    target.cluster.number,
                    source.cluster.number,
                    target.number,
                    messages.producer[message],
                    messages.sequence_id[message],
                )
            return
        target.producers_seen[name] = position
    size_bytes = messages.size_bytes[record] * count + copied_bytes
    seq = target.append_messages(record, count, source.cluster.number, size_bytes, cause, index)
    if target.appends is not None:
        return  # the readers are notified when the append is complete
    if delay_us := target.hot.new_entries_check_delay_us:
        for one in target.replicators.values():
            one.tail.skip((runtime.now_us,), delay_us)
    target.wake_dispatchers(seq)
