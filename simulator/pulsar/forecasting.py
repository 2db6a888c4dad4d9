"""What a failover at this very instant would bring: gathers the present state for the pure function in `counting.forecast`.

Rules: reads, never writes. A subscription is forecast from the cluster where its consumers are to every other cluster of
its topic; partitions add up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from pyroaring import BitMap

if TYPE_CHECKING:
    from simulator.pulsar.runtime import Runtime
    from simulator.pulsar.topic import Topic

FIGURES = ("duplicates", "redeliveries", "lost", "stranded", "stranded_unprocessed")


def source_of(runtime: Runtime, subscription: str) -> str | None:
    """The cluster where the subscription's consumers are (the first by name of a consumer that lives, else of any)."""
    consumers = [runtime.consumers[name] for name in sorted(runtime.consumers) if runtime.consumers[name].spec.subscription == subscription]
    alive = [consumer for consumer in consumers if consumer.sessions]
    return (alive or consumers)[0].cluster_name if consumers else None


def forecast(runtime: Runtime, subscription: str, source: str | None = None) -> dict[str, dict[str, int]]:
    """Per remote cluster: duplicates, redeliveries, lost, stranded, stranded_unprocessed if `source` failed now."""
    source = source or source_of(runtime, subscription)
    spec = runtime.subscriptions[subscription]
    if source is None:
        return {}
    remotes = [name for name in runtime.scenario.topics[spec.topic].clusters if name != source]
    result = {}
    for remote in sorted(remotes):
        total = dict.fromkeys(FIGURES, 0)
        for topic in runtime.clusters[source].topics.values():
            if topic.base == spec.topic and topic.name in runtime.clusters[remote].topics:
                for name, value in _one(runtime, subscription, topic, runtime.clusters[remote].topics[topic.name]).items():
                    total[name] += value
        result[remote] = total
    return result


def _messages(runtime: Runtime, topic: Topic, first: int) -> BitMap:
    """Message numbers in the log from index `first` on."""
    records = topic.log.records.view(max(first, topic.log.first_kept), topic.log.length)
    records = records[records >= 0]
    found = BitMap(records.astype(np.uint32))
    for record in records[np.frombuffer(runtime.messages.batch, dtype=np.int64)[records] > 1].tolist() if len(records) else ():
        found.add_range(record, record + runtime.messages.batch[record])
    return found


def _one(runtime: Runtime, name: str, here: Topic, there: Topic) -> dict[str, int]:
    acknowledged, delivered, settled = runtime.acknowledged[name], runtime.delivered[name], runtime.settled[name]
    subscription = there.subscriptions.get(name)
    present = _messages(runtime, there, 0)
    if subscription is not None:
        deliverable = _deliverable(runtime, there, subscription.cursor)
    elif runtime.subscriptions[name].initial_position == "Earliest":
        deliverable = present
    else:
        deliverable = BitMap()
    unreachable = present - deliverable - acknowledged - settled
    stranded = _messages(runtime, here, 0) - present
    return {
        "duplicates": len(deliverable & acknowledged),
        "redeliveries": len((deliverable & delivered) - acknowledged),
        "lost": len(unreachable) + len(_given_up(runtime, here, there, stranded - acknowledged - settled)),
        "stranded": len(stranded),
        "stranded_unprocessed": len(stranded - acknowledged),
    }


def _deliverable(runtime: Runtime, topic: Topic, cursor) -> BitMap:
    """Message numbers that the cursor does not cover."""
    found = _messages(runtime, topic, cursor.mark_delete + 1)
    covered = cursor.acknowledged()
    for index in covered:
        record = topic.log.records[index]
        if record >= 0:
            found.remove_range(record, record + runtime.messages.batch[record])
    return found


def _given_up(runtime: Runtime, here: Topic, there: Topic, stranded: BitMap) -> BitMap:
    """Stranded messages that no replication cursor still has to send: it began after them, or passed them over."""
    replicator = here.replicators.get(there.cluster.name)
    if replicator is None or not stranded:
        return stranded
    return stranded - _deliverable(runtime, here, replicator.cursor)
