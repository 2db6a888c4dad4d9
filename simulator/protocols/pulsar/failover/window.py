"""A failover's result so far, counted while messages are delivered, so that a page need not read the rows.

Rules: the definitions are docs/counting.md's, and `counting` finds the same figures in the rows (a test
compares them). The window of a failover runs to the next failover of its subscription. Only the latest one is
notified of what happens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyroaring import BitMap

from simulator.log.ranges import runs
from simulator.protocols.pulsar.failover import forecasting
from simulator.protocols.pulsar.failover.draining import Draining

if TYPE_CHECKING:
    from simulator.protocols.pulsar.pulsar import Pulsar
    from simulator.protocols.pulsar.storage.roles import TopicOfLog


MARKED_RANGES_MAX = 200
"""Ranges of entries that one frame may carry of a failover: the first of the cursor's, the newest of the
duplicates'.
"""


class FailoverWindow:
    """Live figures of one failover, from the state at its instant on."""

    def __init__(self, runtime: Pulsar, subscription: str, source: str, target: str) -> None:
        self.runtime = runtime
        self.subscription = subscription
        self.target = target
        self.lost: int | None = None  # when the next failover closed the window
        if (latest := runtime.windows.get(subscription)) is not None:
            latest.close()
        self.forecast = forecasting.forecast(runtime, subscription, source).get(target) or {}
        self.stranded = forecasting.stranded_now(runtime, subscription, source, target)
        self.returned = BitMap()  # of the stranded, what was in topics of the target that are deleted now
        self.held = forecasting.held(runtime, subscription, target)  # in the target's log now
        self.unsettled = self.held  # of these, what is still to be delivered there
        self.judged = BitMap()  # delivered at the target inside the window
        self.duplicates = self.redeliveries = self.extra_deliveries = 0
        self.cursors = {  # in the target, before anything is delivered there
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
        self.look_again()

    def delivered(self, message: int, topic: str, index: int) -> None:
        """A delivery at the target, of an entry of a topic there; called before the delivery itself is
        noted.
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

    def look_again(self) -> None:
        """The target's cursor was opened or moved, its log lost ledgers, or messages were skipped or
        expired anywhere: what is covered, gone or settled is not waited for any more.
        """
        for topic in self.runtime.clusters[self.target].topics.values():
            self.draining.look(topic)
        if self.caught_up_us is None and self.lost is None:
            self.unsettled = forecasting.still_to_come(
                self.runtime, self.subscription, self.target, self.unsettled
            )
            self._note_caught_up()

    def cursor_reset(self, topic: TopicOfLog) -> None:
        """An operator moved the target's cursor: what it covered may be delivered again."""
        self.draining.look_back(topic)
        if self.lost is None:
            self.unsettled = forecasting.still_to_come(
                self.runtime, self.subscription, self.target, self.held
            )
            if self.unsettled:
                self.caught_up_us = None
            elif self.caught_up_us is None:
                self._note_caught_up()

    def cursor_went_back(self, topic: TopicOfLog) -> None:
        """The subscription was deleted in the target, or its cursor was recovered after a crash or unload."""
        self.draining.look_back(topic)

    def topic_deleted(self, topic: TopicOfLog) -> None:
        """A topic of the target goes, and with it the record of what it had."""
        self.returned |= self.stranded & topic.present

    def close(self) -> None:
        """The subscription's next failover begins: what is lost now stays counted."""
        self.lost = forecasting.lost_now(self.runtime, self.subscription, self.target)
        self.draining.close()

    def _note_caught_up(self) -> None:
        if not self.unsettled:
            self.caught_up_us = self.runtime.now_us

    def entries(self) -> dict[str, dict[str, Any]]:
        """By topic of the target what a page marks in its log: the cursor at the failover
        (mark_delete_index, ranges), and which entries held duplicates so far.
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
        """What a page shows. Stranded is settled at the failover, lost when the window closes."""
        return {
            "duplicates": self.duplicates,
            "redeliveries": self.redeliveries,
            "extra_deliveries": self.extra_deliveries,
            "stranded": self.forecast.get("stranded"),
            "stranded_unprocessed": self.forecast.get("stranded_unprocessed"),
            "stranded_returned": len(
                self.returned
                | forecasting.returned(self.runtime, self.subscription, self.target, self.stranded)
            ),
            "lost": forecasting.lost_now(self.runtime, self.subscription, self.target)
            if self.lost is None
            else self.lost,
            "first_delivery_us": self.first_delivery_us,
            "outage_us": None
            if self.first_delivery_us is None
            else self.first_delivery_us - self.out_since_us,
            "caught_up_us": self.caught_up_us,
            "drained_us": self.draining.drained_us,
            "forecast": self.forecast,
        }
