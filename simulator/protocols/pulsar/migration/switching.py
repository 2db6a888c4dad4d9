"""Step 4: the map is switched, then the source's topics are unloaded one by one, so clients reconnect.

Rules: for a while clients are connected to both clusters. Clients that got the old cluster as response just
before, or connected to it again, are disconnected by another unload a second later. The switch opens a window
of each subscription, as a failover does. Its undo works the same way in reverse.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.protocols.pulsar.failover.window import FailoverWindow
from simulator.protocols.pulsar.migration import readiness
from simulator.protocols.pulsar.migration.work import Condition, Progress, Work

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.protocols.pulsar.migration.migration import Migration
    from simulator.protocols.pulsar.pulsar import Pulsar

UNLOAD_EVERY_US = 100_000
"""Interval of unloads: unloading all topics at once would overload a broker."""
UNLOAD_RETRY_US = 1_000_000
"""Time after which a topic that still has clients is unloaded again."""
MIGRATION_MODE, ROLL_BACK_MODE, BLUE_GREEN_MODE = "migration", "roll-back", "blue-green"


class Move:
    """One subscription's move, as in `failovers[]`: from its row until its consumers are in the target."""

    def __init__(
        self, runtime: Pulsar, subscription: str, source: str, target: str, mode: str, cause: int
    ) -> None:
        self.runtime = runtime
        self.subscription, self.source, self.target, self.mode = subscription, source, target, mode
        self.at_us = runtime.now_us
        self.window = FailoverWindow(runtime, subscription, source, target)
        self.seq = runtime.note("failover.started", cause, source, target, subscription, mode)
        self.over = False
        runtime.failovers.append(self)
        runtime.windows[subscription] = self.window

    def end_if_over(self, cause: int) -> None:
        """Write the row that ends it, once every consumer that follows the map is in the target."""
        consumers = [
            one
            for one in self.runtime.consumers.values()
            if one.spec.subscription == self.subscription and one.sessions
        ]
        there = [one for one in consumers if all(place[0] == self.target for place in one.sessions)]
        if not self.over and there and len(there) == len(consumers):
            self.over = True
            self.runtime.note(
                "failover.finished", max(cause, self.seq), self.source, self.target, self.subscription
            )
            self.window.recount()


class Switching(Work):
    """Switches the map; `leaving` and `arriving` are the present clusters, which the undo swaps."""

    def __init__(self, migration: Migration) -> None:
        super().__init__(migration)
        self.leaving = self.arriving = ""
        self.moving: list[str] = []  # clients that were in the cluster `leaving`
        self.moves: list[Move] = []
        self.unloaded_us: dict[str, int] = {}
        self.number = 0

    def conditions(self) -> list[Condition]:
        return readiness.to_switch(self)

    def begin(self, cause: int) -> None:
        self._go(self.run.source, self.run.target, MIGRATION_MODE, cause)
        if self.run.switched_at_us is None:
            self.run.switched_at_us = self.runtime.now_us

    def undo(self, cause: int) -> None:
        self._go(self.run.target, self.run.source, ROLL_BACK_MODE, cause)

    def _go(self, leaving: str, arriving: str, mode: str, cause: int) -> None:
        """Switch the map, open the windows, begin to unload.

        The map is not changed when it names the target already (a resumed step).
        """
        lookup, tenant = self.runtime.lookup, self.run.tenant
        self.leaving, self.arriving = leaving, arriving
        self.seq = cause
        if lookup.tenants[tenant] != arriving:
            followers = self.migration.followers()
            self.moving = [name for name in self.migration.clients_in(leaving) if name in followers]
            self.seq = lookup.switch(tenant, arriving, cause)
            self.moves = [
                Move(self.runtime, name, leaving, arriving, mode, self.seq)
                for name in self.migration.subscriptions
            ]
            self.unloaded_us = {}
        self.number += 1
        self.unload_next(self.number)

    def rest(self) -> None:
        self.number += 1

    def unload_next(self, number: int) -> None:
        """Unload the next topic with clients that should look up again, and schedule the next call."""
        if number != self.number:
            return
        for topic in self.topics_in(self.runtime.clusters[self.leaving]):
            if not (topic.cluster.up and topic.loaded):  # its clients are disconnected already
                self.unloaded_us.setdefault(topic.name, self.runtime.now_us)
        due = next((topic for topic in self._topics_left() if self._due(topic)), None)
        if due is not None:
            self.unloaded_us[due.name] = self.runtime.now_us
            due.unload("migration", self.seq)
            due.load(self.seq)
        if any(topic.name not in self.unloaded_us for topic in self._topics_left()):
            self.migration.later(UNLOAD_EVERY_US, self.unload_next, number)

    def _topics_left(self) -> list[Topic]:
        cluster = self.runtime.clusters[self.leaving]
        return [topic for topic in self.topics_in(cluster) if topic.loaded] if cluster.up else []

    def _due(self, topic: Topic) -> bool:
        unloaded_us = self.unloaded_us.get(topic.name)
        if unloaded_us is None:
            return True
        return self.runtime.now_us - unloaded_us >= UNLOAD_RETRY_US and bool(self._followers_in(self.leaving))

    def _followers_in(self, cluster: str) -> list[str]:
        connected = self.migration.clients_in(cluster)
        return [name for name in self.migration.followers() if name in connected]

    def tick(self) -> None:
        for move in self.moves:
            move.end_if_over(self.seq)
        if self._followers_in(self.leaving) and all(
            topic.name in self.unloaded_us for topic in self._topics_left()
        ):
            self.number += 1
            self.unload_next(self.number)

    def failure(self) -> str | None:
        target = self.target
        moved, total, _unit = self.progress()
        return None if target.up else f"{target.name} is {target.state}: {moved} of {total} clients are there"

    def progress(self) -> Progress:
        """Clients connected to the new cluster, of the running clients to be moved."""
        living = [name for name in self.moving if name in self.migration.followers()]
        arriving = self.arriving or self.run.target
        there, here = (
            self.migration.clients_in(arriving),
            self.migration.clients_in(self.leaving or self.run.source),
        )
        return Progress(sum(name in there and name not in here for name in living), len(living), "clients")

    def complete(self) -> bool:
        if not self.leaving:
            return False
        done, total, _unit = self.progress()
        unloaded = all(topic.name in self.unloaded_us for topic in self._topics_left())
        if done != total or not unloaded or self._followers_in(self.leaving):
            return False
        for move in self.moves:
            move.end_if_over(self.seq)
        return True

    def undo_conditions(self) -> list[Condition]:
        source = self.source
        return [Condition(source.up, f"{source.name} is {source.state}")]

    def undone(self) -> bool:
        self.tick()
        return self.complete()

    def no_way_back(self) -> str | None:
        """None: a switch can always be undone before clean-up."""
        return None
