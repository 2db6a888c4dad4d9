"""When a failover's backlog is drained: the target's cursor covers its log as of the failover.

That is every message entry that the target's log held at the failover.

Rules: covered means at or below the mark-delete, or individually deleted. Markers do not count: the broker
acknowledges them itself. An entry that is deleted while it is not covered never will be. `counting.draining`
derives the same instant from the rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.protocols.pulsar.pulsar import Pulsar


class Draining:
    """Follows the cursor of one subscription in the target.

    `drained_us` is the first instant at which all was covered, None before.

    Of each topic partition only the first entry not covered yet is kept, so an acknowledgement elsewhere
    costs one look-up.
    """

    def __init__(self, runtime: Pulsar, subscription: str, target: str) -> None:
        self.runtime, self.subscription = runtime, subscription
        base, cluster = runtime.subscriptions[subscription].topic, runtime.clusters[target]
        held = [topic for topic in cluster.topics.values() if topic.base == base and cluster.state != "lost"]
        self.first = {topic.name: topic.log.first_kept for topic in held}
        self.end = {topic.name: topic.log.length for topic in held}
        self.next = dict(self.first)
        self.drained_us: int | None = None
        self.over = False
        for topic in held:
            self._advance(topic)
        self._end_if_drained()

    def look(self, topic: Topic) -> None:
        """Check again: the cursor covers more, was opened, or the log lost ledgers."""
        if not self.over and self.next.get(topic.name, 0) < self.end.get(topic.name, 0):
            self._advance(topic)
            self._end_if_drained()

    def look_back(self, topic: Topic) -> None:
        """Start again: the cursor was reset, recovered or deleted, and may cover less."""
        if not self.over and topic.name in self.end:
            self.next[topic.name] = max(self.first[topic.name], topic.log.first_kept)
            self._advance(topic)
            self._end_if_drained()

    def close(self) -> None:
        """The window is over: a backlog that is not drained now remains so."""
        self.over = True

    def _advance(self, topic: Topic) -> None:
        """Move to the first message entry that the cursor does not cover."""
        log, end, place = topic.log, self.end[topic.name], self.next[topic.name]
        found = topic.subscriptions.get(self.subscription)
        place = place if found is None else found.cursor.next_unacknowledged(place)
        while place < end and log.records[place] < 0:
            place = place + 1 if found is None else found.cursor.next_unacknowledged(place + 1)
        self.next[topic.name] = place
        self.over = self.over or place < min(log.first_kept, end)  # deleted before it was covered

    def _end_if_drained(self) -> None:
        if not self.over and all(self.next[name] >= end for name, end in self.end.items()):
            self.drained_us, self.over = self.runtime.now_us, True
