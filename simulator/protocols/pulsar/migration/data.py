"""Step 2: geo-replication both ways, from the first kept entry, so that the old backlog is copied."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.protocols.pulsar.creation import enforcement, policies
from simulator.protocols.pulsar.failover import forecasting
from simulator.protocols.pulsar.migration.work import Condition, Progress, Work, connected

if TYPE_CHECKING:
    from simulator.protocols.pulsar.migration.migration import Migration
    from simulator.protocols.pulsar.replication.replicator import Replicator


class TopicData(Work):
    """Replicates the tenant's topics.

    `goals` is, by topic, the span of indices that the source held when the step first began.
    """

    def __init__(self, migration: Migration) -> None:
        super().__init__(migration)
        self.goals: dict[str, tuple[int, int]] = {}
        # the topics' own lists before, by (cluster, topic)
        self.lists: dict[tuple[str, str], tuple[str, ...] | None] = {}

    def begin(self, cause: int) -> None:
        run = self.run
        for cluster, peer in ((self.source, run.target), (self.target, run.source)):
            for topic in self.topics_in(cluster):
                if cluster is self.source and topic.name not in self.goals:
                    first = (
                        topic.log.first_kept if self.migration.start_at == "earliest" else topic.log.length
                    )
                    self.goals[topic.name] = (first, topic.log.length)
                if peer not in topic.replicators:
                    earliest = cluster is self.target or self.migration.start_at == "earliest"
                    topic.add_replicator(peer, cause, at_start=earliest)
                topic.replicators[peer].start(cause)
            for base in self.migration.bases:
                self._list(cluster.name, base, peer, cause)
        enforcement.apply(self.runtime, cause)

    def _list(self, cluster: str, base: str, peer: str, cause: int) -> None:
        """Add the peer to the topic's replication list in a cluster, unless it is on it."""
        listed = policies.replication_list(self.runtime, cluster, base)
        if peer not in listed:
            self.lists[cluster, base] = self.runtime.policies.lists.get((cluster, base, policies.LOCAL))
            policies.change_list(self.runtime, cluster, base, policies.LOCAL, (*listed, peer), cause)

    def replicators(self) -> list[Replicator | None]:
        """The replicators of both directions, topic by topic; None for a missing one."""
        run = self.run
        return [
            topic.replicators.get(peer)
            for cluster, peer in ((self.source, run.target), (self.target, run.source))
            for topic in self.topics_in(cluster)
        ]

    def connected(self) -> tuple[int, int]:
        """Number of connected replicators, and number of all."""
        found = self.replicators()
        return sum(one is not None and one.connected for one in found), len(found)

    def failure(self) -> str | None:
        broken = self.broken()
        done, total, _unit = self.progress()
        return None if broken is None else f"{broken}: {done:,} of {total:,} entries are copied"

    def progress(self) -> Progress:
        done = total = 0
        for topic in self.topics_in(self.source):
            first, goal = self.goals.get(topic.name, (topic.log.first_kept, topic.log.length))
            replicator = topic.replicators.get(self.run.target)
            copied = first if replicator is None else replicator.settled_mark_delete() + 1
            done += min(max(copied, first), goal) - first
            total += goal - first
        return Progress(done, total, "entries")

    def complete(self) -> bool:
        done, total, _unit = self.progress()
        connected, wanted = self.connected()
        return done == total and connected == wanted

    def undo_conditions(self) -> list[Condition]:
        run = self.run
        left = sum(len(forecasting.unsent(topic, run.source)) for topic in self.topics_in(self.target))
        clients = self.migration.clients_in(run.target)
        return [
            Condition(not clients, connected(clients, run.target)),
            Condition(not left, f"{left:,} messages published in {run.target} are not in {run.source} yet"),
        ]

    def undo(self, cause: int) -> None:
        for (cluster, base), listed in self.lists.items():
            policies.change_list(self.runtime, cluster, base, policies.LOCAL, listed, cause)
        enforcement.apply(self.runtime, cause)
        self.lists, self.goals = {}, {}
