"""Step 4 of the blue-green strategy: blue's namespaces are marked migrated, and blue is drained.

Rules: the map is not changed until clean-up, because consumers must find the remaining backlog in blue. Each
subscription's move begins when its first consumer is redirected. No roll-back is possible once a topic is
terminated: messages published in green are not copied to blue.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.protocols.pulsar.migration import readiness
from simulator.protocols.pulsar.migration.blue_green import PERIOD
from simulator.protocols.pulsar.migration.switching import BLUE_GREEN_MODE, Move
from simulator.protocols.pulsar.migration.work import Condition, Progress, Work

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.protocols.pulsar.migration.migration import Migration


class Draining(Work):
    """Drains blue; `moves` are those of the subscriptions whose move has begun."""

    def __init__(self, migration: Migration) -> None:
        super().__init__(migration)
        self.moves: dict[str, Move] = {}

    def _namespaces(self) -> list[str]:
        topics = self.runtime.scenario.topics
        return sorted({topics[base].namespace: None for base in self.migration.bases})

    def conditions(self) -> list[Condition]:
        target, period = self.target, self.source.setting(PERIOD)
        return [
            *readiness.steps_before(self.migration),
            Condition(target.up, f"{target.name} is {target.state}"),
            Condition(
                period > 0,
                f"{PERIOD} is {period} in {self.source.name}"
                + ("" if period else ": 0 is off, no topic would ever be looked at"),
            ),
        ]

    def begin(self, cause: int) -> None:
        self.seq = cause
        blue_green, run = self.runtime.blue_green, self.run
        marked = blue_green.clusters.get(run.source, False)
        self.seq = blue_green.mark_cluster(run.source, run.target, marked, self.seq)
        for namespace in self._namespaces():
            self.seq = blue_green.mark_namespace(run.source, namespace, True, self.seq)
        if run.switched_at_us is None:
            run.switched_at_us = self.runtime.now_us

    def redirected(self, subscription: str, cause: int) -> None:
        """A consumer of the subscription is redirected to green: its move begins with the first one."""
        if subscription not in self.moves:
            self.moves[subscription] = Move(
                self.runtime, subscription, self.run.source, self.run.target, BLUE_GREEN_MODE, cause
            )

    def tick(self) -> None:
        for move in self.moves.values():
            move.end_if_over(self.seq)

    def failure(self) -> str | None:
        done, total, unit = self.progress()
        broken = next((one for one in (self.source, self.target) if not one.up), None)
        return (
            None
            if broken is None
            else f"{broken.name} is {broken.state}: {done:,} of {total:,} {unit} are drained"
        )

    def progress(self) -> Progress:
        """Subscriptions, topic by topic, without backlog in blue."""
        topics = self.topics_in(self.source)
        total = sum(max(1, len(topic.subscriptions)) for topic in topics)
        left = sum(self._left(topic) for topic in topics)
        return Progress(total - left, total, "subscriptions")

    @staticmethod
    def _left(topic: Topic) -> int:
        if topic.migrated_to is None:
            return max(1, len(topic.subscriptions))
        return sum(bool(one.backlog or one.dispatcher.sessions) for one in topic.subscriptions.values())

    def complete(self) -> bool:
        self.tick()
        done, total, _unit = self.progress()
        return done == total and not self.migration.clients_in(self.run.source)

    def no_way_back(self) -> str | None:
        """Always a reason: PIP-188 copies nothing back."""
        ended = [topic.name for topic in self.topics_in(self.source) if topic.migrating]
        if not ended:
            return None
        return (
            f"{', '.join(ended)} in {self.run.source} is terminated, and what was published in "
            f"{self.run.target} is not copied back (PIP-188)"
        )

    def undo(self, cause: int) -> None:
        for namespace in self._namespaces():
            self.runtime.blue_green.mark_namespace(self.run.source, namespace, False, cause)
