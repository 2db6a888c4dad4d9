"""A failover's result so far, counted while messages are delivered, so that no rows are read.

Rules: the definitions are those of docs/counting.md. `counting` derives the same figures from the rows (a
test compares them). The window of a failover ends at the next failover of its subscription. Only the latest
window is notified of events.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyroaring import BitMap

from simulator.log.cursors import runs
from simulator.protocols.pulsar.failover import forecasting
from simulator.protocols.pulsar.failover.forecasting import MARKED_RANGES_MAX

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.protocols.pulsar.pulsar import Pulsar


class Draining:
    """Follows the cursor of one subscription in the target.

    `drained_us` is the first instant at which all was covered, None before.

    Of each topic partition only the first entry not covered yet is kept, so an acknowledgement elsewhere
    costs one look-up.

    When a failover's backlog is drained: the target's cursor covers its log as of the failover.

    That is every message entry that the target's log held at the failover.

    Rules: covered means at or below the mark-delete, or individually deleted. Markers do not count: the
    broker acknowledges them itself. An entry that is deleted while it is not covered never will be.
    `counting.draining` derives the same instant from the rows.
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


class FailoverWindow:
    """Live figures of one failover, from the state at its instant on."""

    def __init__(self, runtime: Pulsar, subscription: str, source: str, target: str) -> None:
        self.runtime = runtime
        self.subscription = subscription
        self.source = source
        self.target = target
        self.lost: int | None = None  # set when the next failover closes the window
        if (latest := runtime.windows.get(subscription)) is not None:
            latest.close()
        self.forecast = forecasting.forecast(runtime, subscription, source).get(target) or {}
        self.stranded = forecasting.stranded_now(runtime, subscription, source, target)
        self.unread = (
            self.stranded - runtime.acknowledged[subscription]
        )  # of these, not acked anywhere by then
        self.returned = BitMap()  # of those not replicated, the ones in deleted topics of the target
        self.held = forecasting.held(runtime, subscription, target)  # in the target's log at the failover
        self.unsettled = self.held  # of these, the messages still to be delivered there
        self.judged = BitMap()  # delivered at the target inside the window
        self.duplicates = self.redeliveries = self.extra_deliveries = 0
        self.cursors = {  # in the target, before any delivery there
            topic.name: {
                "mark_delete_index": found.cursor.mark_delete,
                "ranges": [list(pair) for pair in found.cursor.ranges(MARKED_RANGES_MAX)],
            }
            for topic in runtime.clusters[target].topics.values()
            if (found := topic.subscriptions.get(subscription)) is not None
        }
        self.duplicate_entries: dict[str, BitMap] = {}  # by topic of the target
        self.first_delivery_us: int | None = None
        self.caught_up_us: int | None = None
        self.draining = Draining(runtime, subscription, target)
        cluster = runtime.clusters[source]
        self.out_since_us = (
            runtime.now_us
            if cluster.up or cluster.crashed_at_us is None
            else min(runtime.now_us, cluster.crashed_at_us)
        )
        self.recount()

    def delivered(self, message: int, topic: str, index: int) -> None:
        """Count a delivery at the target; called before the delivery itself is recorded.

        `topic` and `index` are those of the entry at the target.
        """
        runtime = self.runtime
        if self.first_delivery_us is None:
            self.first_delivery_us = runtime.now_us
        if message in self.judged:
            self.extra_deliveries += 1
            return
        self.judged.add(message)
        if message in runtime.acknowledged[self.subscription]:
            self.duplicates += 1
            self.duplicate_entries.setdefault(topic, BitMap()).add(index)
        elif message in runtime.delivered[self.subscription]:
            self.redeliveries += 1

    def settled(self, message: int) -> None:
        """A message was acknowledged in any cluster, or skipped at the target as acked at a peer."""
        if self.caught_up_us is None and self.lost is None:
            self.unsettled.discard(message)
            self._note_caught_up()

    def recount(self) -> None:
        """Update the window after changes that reduce the pending messages.

        These are a cursor opened or moved in the target, ledgers lost from its log, or messages skipped or
        expired in any cluster.
        """
        for topic in self.runtime.clusters[self.target].topics.values():
            self.draining.look(topic)
        if self.caught_up_us is None and self.lost is None:
            self.unsettled = forecasting.deliverable(
                self.runtime, self.subscription, self.target, self.unsettled
            )
            self._note_caught_up()

    def cursor_reset(self, topic: Topic) -> None:
        """An operator moved the target's cursor: entries that it covered may be delivered again."""
        self.draining.look_back(topic)
        if self.lost is None:
            self.unsettled = forecasting.deliverable(self.runtime, self.subscription, self.target, self.held)
            if self.unsettled:
                self.caught_up_us = None
            elif self.caught_up_us is None:
                self._note_caught_up()

    def cursor_went_back(self, topic: Topic) -> None:
        """The subscription was deleted in the target, or its cursor was recovered after a crash or unload."""
        self.draining.look_back(topic)

    def topic_deleted(self, topic: Topic) -> None:
        """A topic of the target, with the record of its messages, is about to be deleted."""
        self.returned |= self.stranded & topic.present

    def close(self) -> None:
        """The subscription's next failover begins: messages lost by now remain counted."""
        self.lost = forecasting.lost_now(self.runtime, self.subscription, self.target)
        self.draining.close()

    def _note_caught_up(self) -> None:
        if not self.unsettled:
            self.caught_up_us = self.runtime.now_us

    def _pending_repeats(self) -> int | None:
        """Messages that the target may still deliver again; None when the next failover has begun."""
        if self.lost is not None:
            return None
        known = self.runtime.acknowledged[self.subscription] | self.runtime.delivered[self.subscription]
        dropped = self.runtime.dropped.get((self.subscription, self.target), BitMap())
        waiting = forecasting.uncovered(self.runtime, self.subscription, self.target)
        return len((waiting & known) - self.judged - dropped)

    def entries(self) -> dict[str, dict[str, Any]]:
        """The marked entries of each topic of the target.

        These are the cursor at the failover (mark_delete_index, ranges), and the entries with duplicates so
        far.
        """
        nothing = {"mark_delete_index": -1, "ranges": []}
        return {
            name: {
                **self.cursors.get(name, nothing),
                "duplicates": [
                    list(pair)
                    for pair in runs(self.duplicate_entries.get(name, BitMap()))[-MARKED_RANGES_MAX:]
                ],
            }
            for name in sorted({*self.cursors, *self.duplicate_entries})
        }

    def figures(self) -> dict[str, Any]:
        """The figures for a page. `stranded` is final at the failover, `lost` when the window closes."""
        returned = self.returned | forecasting.returned(
            self.runtime, self.subscription, self.target, self.stranded
        )
        return {
            "duplicates": self.duplicates,
            "redeliveries": self.redeliveries,
            "extra_deliveries": self.extra_deliveries,
            "stranded": self.forecast.get("stranded"),
            "stranded_unprocessed": self.forecast.get("stranded_unprocessed"),
            "stranded_returned": len(returned),
            "stranded_missing": self.unread.difference_cardinality(returned),
            "lost": forecasting.lost_now(self.runtime, self.subscription, self.target)
            if self.lost is None
            else self.lost,
            "first_delivery_us": self.first_delivery_us,
            "outage_us": None
            if self.first_delivery_us is None
            else self.first_delivery_us - self.out_since_us,
            "caught_up_us": self.caught_up_us,
            "drained_us": self.draining.drained_us,
            "pending_repeats": self._pending_repeats(),
            "forecast": self.forecast,
        }
