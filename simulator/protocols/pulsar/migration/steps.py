"""The work of the steps of a migration: metadata, messages, acknowledgements, switch, clean-up."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from simulator.protocols.pulsar.ack_sync import sender_for
from simulator.protocols.pulsar.creation import catalogue, policies
from simulator.protocols.pulsar.failover import forecasting
from simulator.protocols.pulsar.failover.failover import FailoverWindow
from simulator.protocols.pulsar.migration import readiness, resources
from simulator.protocols.pulsar.migration.blue_green import PERIOD
from simulator.protocols.pulsar.migration.readiness import Condition, Progress, Work, connected
from simulator.protocols.pulsar.migration.run import BLUE_GREEN, SWITCH

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.subscription import Subscription
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.protocols.pulsar.migration.migration import Migration
    from simulator.protocols.pulsar.pulsar import Pulsar
    from simulator.protocols.pulsar.replication.replicator import Replicator


# --- step 1: tenant, roles, namespaces, topics and subscriptions are created in the target
#
# Rules: administrative requests are sent one after the other, each takes a round trip over the link.
# Existing resources are not changed, and an undo deletes neither them nor what contains them.


class Request(NamedTuple):
    """An administrative request in flight; `number` identifies it, and an older one is stale."""

    number: int
    resource: resources.Resource


class Metadata(Work):
    """Creates the resources in the target; `created` are those that this migration made, in order."""

    def __init__(self, migration: Migration) -> None:
        super().__init__(migration)
        self.created: list[resources.Resource] = []
        self.requests = 0
        self.busy = False

    def _missing(self) -> list[resources.Resource]:
        return [found for found in resources.of_tenant(self) if not resources.copied(self, found)]

    def begin(self, cause: int) -> None:
        self.seq = cause
        self._next()

    def rest(self) -> None:
        self.requests += 1
        self.busy = False

    def _next(self) -> None:
        missing = self._missing()
        self.busy = bool(missing)
        if missing:
            self.requests += 1
            links = self.runtime.links
            round_trip_us = sum(
                links[pair].latency_us(self.requests)
                for pair in ((self.source.name, self.target.name), (self.target.name, self.source.name))
            )
            self.migration.later(round_trip_us, self.answered, Request(self.requests, missing[0]))

    def answered(self, request: Request) -> None:
        """A request's response is due."""
        if request.number == self.requests and self.busy and self.broken() is None:
            if not resources.copied(self, request.resource):
                self.created.append(request.resource)
                self.seq = resources.create(self, request.resource, self.seq)
            self._next()

    def failure(self) -> str | None:
        broken = self.broken()
        done, total, _unit = self.progress()
        return None if broken is None else f"{broken}: {done} of {total} resources are in {self.target.name}"

    def progress(self) -> Progress:
        needed = resources.of_tenant(self)
        return Progress(sum(resources.copied(self, one) for one in needed), len(needed), "resources")

    def complete(self) -> bool:
        return not self._missing()

    def undo_conditions(self) -> list[Condition]:
        clients = self.migration.clients_in(self.target.name)
        broken = None if self.target.state == "lost" else self.broken()
        return [
            Condition(not clients, connected(clients, self.target.name)),
            Condition(broken is None, broken or "both clusters and the links between them work"),
        ]

    def undo(self, cause: int) -> None:
        for resource in reversed(self.created):
            made = resources.present(self.target, resource)
            if made and not resources.in_use(self, self.target, resource):
                resources.delete(self, self.target, resource, cause)
        self.created = []


class TopicData(Work):
    """Replicates the tenant's topics.

    `goals` is, by topic, the span of indices that the source held when the step first began.

    Step 2: geo-replication both ways, from the first kept entry, so that the old backlog is copied.
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
        catalogue.apply(self.runtime, cause)

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
        catalogue.apply(self.runtime, cause)
        self.lists, self.goals = {}, {}


# --- step 3: acknowledgements are synced between source and target, by the strategy of the migration
#
# Rules: acknowledgement-state sync is enabled for subscriptions that do not have it. It begins at once and
# continues each `ackSyncPeriod` in both directions until clean-up or roll-back. Snapshots: the flag of
# replicated subscriptions is set in both clusters. None: nothing is synced. The step is complete when the
# target has received the state of every subscription once.


PERIODS_CURRENT = 2
"""Periods for which a state received by the target counts as fresh."""


class Nothing(Work):
    """Strategies none and blue-green, which sync no acknowledgements."""

    def stale(self) -> list[str]:
        """Subscriptions whose state the target has not received lately, each with the reason in words."""
        return []

    def unsynced_back(self) -> list[str]:
        """Subscriptions whose acknowledgements in the target have not reached the source."""
        return []

    def unsynced(self) -> list[str]:
        """Subscriptions whose acknowledgements in the source have not reached the target."""
        return []


class _Synced(Nothing):
    """The common part of both strategies that sync acknowledgements."""

    def in_source(self) -> list[Subscription]:
        """The subscriptions of every topic and partition in the source."""
        return [found for topic in self.topics_in(self.source) for found in topic.subscriptions.values()]

    def there(self, subscription: Subscription) -> Subscription | None:
        """The same subscription in the target, None where it does not exist."""
        topic = self.target.topics.get(subscription.topic.name)
        return None if topic is None else topic.subscriptions.get(subscription.name)

    def nothing_to_sync(self, subscription: Subscription) -> bool:
        """Whether no entry that both clusters have is acknowledged."""
        cursor, copied = subscription.cursor, self.migration.works.topic_data.goals
        first = (
            copied.get(subscription.topic.name, (0, 0))[0] if subscription.topic.cluster is self.source else 0
        )
        return cursor.mark_delete < first and not cursor.acknowledged() and not cursor.partly_acknowledged()

    def is_synced(self, subscription: Subscription) -> bool:
        """Whether the target has received its state since the step began, or there is none to send."""
        raise TypeError(f"{type(self).__name__} does not say what was synced")

    def failure(self) -> str | None:
        broken = self.broken()
        done, total, _unit = self.progress()
        return (
            None
            if broken is None
            else f"{broken}: {self.target.name} has received acknowledgements of {done} of {total} "
            "subscriptions"
        )

    def progress(self) -> Progress:
        found = self.in_source()
        return Progress(sum(self.is_synced(one) for one in found), len(found), "subscriptions")

    def complete(self) -> bool:
        done, total, _unit = self.progress()
        return done == total

    def undo_conditions(self) -> list[Condition]:
        unsynced = self.unsynced_back()
        source, target = self.run.source, self.run.target
        return [
            Condition(
                not unsynced,
                f"{source} has not received all that {', '.join(unsynced)} acknowledged in {target}"
                if unsynced
                else f"{source} has received all that is acknowledged in {target}",
            )
        ]


class AcknowledgementSync(_Synced):
    """Syncs by acknowledgement-state sync; `begun_us` is when it was last enabled."""

    def __init__(self, migration: Migration) -> None:
        super().__init__(migration)
        self.begun_us = 0

    def begin(self, cause: int) -> None:
        self.begun_us = self.runtime.now_us
        for base in self.migration.bases:
            self.runtime.synchronised.setdefault(base, None)
        for cluster, peer in ((self.source, self.run.target), (self.target, self.run.source)):
            for topic in self.topics_in(cluster):
                for subscription in topic.subscriptions.values():
                    sender = subscription.sender
                    if sender is None:
                        sender = subscription.sender = sender_for(subscription)
                        assert sender is not None, "the topics of this tenant are synchronised now"
                        sender.opened_by(cause)
                        sender.start()
                    sender.send(peer, cause)

    def is_synced(self, subscription: Subscription) -> bool:
        sender = subscription.sender
        return sender is not None and (
            sender.is_current(self.run.target)
            or self.nothing_to_sync(subscription)
            or self._has_report(subscription)
        )

    def _has_report(self, subscription: Subscription) -> bool:
        """Whether any state has reached the target.

        A received state counts even when the source loads its topic again and loses its record of the
        request.
        """
        there = self.there(subscription)
        return there is not None and self.run.source in there.filter.reported

    def tick(self) -> None:
        """Send the missing states again at once; later changes are sent by the period."""
        for subscription in self.in_source():
            if not self.is_synced(subscription) and subscription.sender is not None:
                subscription.sender.send(self.run.target, self.seq)

    def _not_current(self, subscription: Subscription) -> str | None:
        sender, there, now_us = subscription.sender, self.there(subscription), self.runtime.now_us
        if there is None:
            return f"{subscription.name} is not in {self.run.target}"
        if sender is None or sender.is_current(self.run.target) or self.nothing_to_sync(subscription):
            return None if sender is not None else f"{subscription.name} is not synchronised"
        if not self._has_report(subscription):
            return f"{self.run.target} has received nothing about {subscription.name}"
        assert there.filter.received_us is not None, "a report arrived"
        age_us = now_us - there.filter.received_us
        latency_us = self.runtime.links[self.run.source, self.run.target].latency_us(0)
        if sender.period_us is None or age_us <= PERIODS_CURRENT * sender.period_us + latency_us:
            return None
        return (
            f"{self.run.target} last received acknowledgements of {subscription.name} "
            f"{age_us / 1e6:.1f} s ago, its period is {sender.period_us / 1e6:g} s"
        )

    def stale(self) -> list[str]:
        return [words for words in map(self._not_current, self.in_source()) if words is not None]

    def unsynced(self) -> list[str]:
        return sorted(
            {
                one.name: None
                for one in self.in_source()
                if not (one.sender is not None and one.sender.is_current(self.run.target))
                and not self.nothing_to_sync(one)
            }
        )

    def unsynced_back(self) -> list[str]:
        if self.target.state == "lost":  # no cluster can send it any more
            return []
        found = [one for topic in self.topics_in(self.target) for one in topic.subscriptions.values()]
        return sorted(
            {
                one.name: None
                for one in found
                if not (one.sender is not None and one.sender.is_current(self.run.source))
                and not self.nothing_to_sync(one)
            }
        )

    def undo(self, cause: int) -> None:
        for base in self.migration.bases:
            self.runtime.synchronised.pop(base, None)
        for cluster in (self.source, self.target):
            for topic in self.topics_in(cluster):
                for subscription in topic.subscriptions.values():
                    if sender_for(subscription) is None:
                        subscription.sender = None


class Snapshots(_Synced):
    """Syncs by snapshots; `switched` are the subscriptions whose flag this migration set.

    They are (cluster, topic, subscription).
    """

    def __init__(self, migration: Migration) -> None:
        super().__init__(migration)
        self.begun_us = 0
        self.switched: list[tuple[str, str, str]] = []

    def begin(self, cause: int) -> None:
        self.begun_us = self.runtime.now_us
        for cluster in (self.source, self.target):
            for topic in self.topics_in(cluster):
                for name, subscription in topic.subscriptions.items():
                    if not subscription.replicated:
                        self.switched.append((cluster.name, topic.name, name))
                        subscription.switch_replication(True, cause)

    def is_synced(self, subscription: Subscription) -> bool:
        there = self.there(subscription)
        return self.nothing_to_sync(subscription) or (there is not None and there.last_applied_us is not None)

    def stale(self) -> list[str]:
        return [
            f"no Update of {one.name} has come to {self.run.target}"
            for one in self.in_source()
            if not self.is_synced(one)
        ]

    def undo_conditions(self) -> list[Condition]:
        return []

    def undo(self, cause: int) -> None:
        for cluster, topic_name, name in self.switched:
            topic = self.runtime.clusters[cluster].topics.get(topic_name)
            if topic is not None and name in topic.subscriptions:
                topic.subscriptions[name].switch_replication(False, cause)
        self.switched = []


# --- step 4: the map is switched, then the source's topics are unloaded one by one, so clients reconnect
#
# Rules: for a while clients are connected to both clusters. Clients that got the old cluster as response
# just before, or connected to it again, are disconnected by another unload a second later. The switch opens
# a window of each subscription, as a failover does. Its undo works the same way in reverse.


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
        self.seq = runtime.rows.failover_started(
            cause, cluster=source, peer=target, subscription=subscription, reason=mode
        )
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
            self.runtime.rows.failover_finished(
                max(cause, self.seq), cluster=self.source, peer=self.target, subscription=self.subscription
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


class Draining(Work):
    """Drains blue; `moves` are those of the subscriptions whose move has begun.

    Step 4 of the blue-green strategy: blue's namespaces are marked migrated, and blue is drained.

    Rules: the map is not changed until clean-up, because consumers must find the remaining backlog in blue.
    Each subscription's move begins when its first consumer is redirected. No roll-back is possible once a
    topic is terminated: messages published in green are not copied to blue.
    """

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


DELETE_EVERY_US = 10_000
"""The time of an administrative request within the cluster."""


class CleanUp(Work):
    """Deletes the source's resources.

    `planned` is the number of resources that the source had when the step first began.

    Step 5: all resources of the tenant in the source are deleted, once they are no longer needed.

    Rules: no client may be connected to the source, no entry may be left to copy, and its acknowledgements
    must have been synced. Messages that a subscription still needs and the target will never have would be
    lost with the source. This is refused unless an operator forces it.
    """

    def __init__(self, migration: Migration) -> None:
        super().__init__(migration)
        self.planned = 0
        self.number = 0

    # --- state

    def conditions(self) -> list[Condition]:
        run, migration = self.run, self.migration
        clients, came = migration.clients_in(run.source), migration.works.switch.progress()
        found = [
            Condition(
                migration.works.switch.complete() and run.switched_at_us is not None,
                f"step {SWITCH}: {came.done:,} of {came.total:,} {came.unit} have moved",
            ),
            Condition(self.source.up, f"{run.source} is {self.source.state}"),
            Condition(not clients, connected(clients, run.source)),
            self._needed(),
        ]
        if run.strategy == BLUE_GREEN:
            return found
        return [*found, self._copied(), self._synced()]

    def _copied(self) -> Condition:
        left = sum(len(forecasting.unsent(topic, self.run.target)) for topic in self.topics_in(self.source))
        return Condition(
            not left, f"{left:,} messages of {self.run.source} are not confirmed by {self.run.target}"
        )

    def _synced(self) -> Condition:
        unsynced = self.migration.works.progress.unsynced()
        return Condition(
            not unsynced,
            f"{self.run.target} has not received all acknowledgements of {', '.join(unsynced)}"
            if unsynced
            else "all acknowledgements were received",
        )

    def _needed(self) -> Condition:
        needed = self.needed_here_alone()
        words = ", ".join(f"{count:,} of {name}" for name, count in needed.items())
        return Condition(
            not needed,
            f"not acknowledged, and in {self.run.source} alone: {words}"
            if needed
            else f"nobody needs a message that {self.run.source} alone has",
        )

    def needed_here_alone(self, but_coming: bool = False) -> dict[str, int]:
        """By subscription the number of its unacked messages that the target's log does not hold.

        `but_coming` leaves out those that replication still has to send.
        """
        runtime, found = self.runtime, {}
        for name in self.migration.subscriptions:
            left = 0
            for topic in self.topics_in(self.source):
                if name not in topic.subscriptions:
                    continue
                there = self.target.topics.get(topic.name)
                waiting = forecasting.undelivered(
                    runtime, name, self.run.source, forecasting.in_log(runtime, topic)
                )
                waiting -= forecasting.in_log(runtime, there) if there is not None else forecasting.BitMap()
                left += len(waiting - forecasting.unsent(topic, self.run.target) if but_coming else waiting)
            if left:
                found[name] = left
        return found

    def failure(self) -> str | None:
        source = self.source
        done, total, _unit = self.progress()
        return (
            None if source.up else f"{source.name} is {source.state}: {done} of {total} resources are deleted"
        )

    def progress(self) -> Progress:
        left = len(self._left())
        return Progress(max(self.planned, left) - left, max(self.planned, left), "resources")

    def _left(self) -> list[resources.Resource]:
        return [one for one in resources.of_tenant(self) if resources.present(self.source, one)]

    def complete(self) -> bool:
        return not self._left()

    # --- actions

    def begin(self, cause: int) -> None:
        self.seq = cause
        lookup, run = self.runtime.lookup, self.run
        # blue-green: the map was needed until everything was drained
        if lookup.tenants[run.tenant] != run.target:
            self.seq = lookup.switch(run.tenant, run.target, cause)
        self.planned = max(self.planned, len(self._left()))
        self.migration.works.progress.undo(cause)
        self.migration.works.topic_data.undo(cause)
        self._stop_replication(cause)
        self.number += 1
        self.migration.later(DELETE_EVERY_US, self.delete_next, self.number)

    def _stop_replication(self, cause: int) -> None:
        """Stop replication between source and target, also the scenario's: the source loses the topics."""
        source, target = self.run.source, self.run.target
        for base in self.migration.bases:
            listed = policies.replication_list(self.runtime, target, base)
            if source in listed:
                policies.change_list(
                    self.runtime,
                    target,
                    base,
                    policies.LOCAL,
                    tuple(name for name in listed if name != source),
                    cause,
                )
            policies.change_list(self.runtime, source, base, policies.LOCAL, (source,), cause)
        catalogue.apply(self.runtime, cause)

    def rest(self) -> None:
        self.number += 1

    def delete_next(self, number: int) -> None:
        """Delete the last remaining resource."""
        left = self._left() if number == self.number and self.source.up else []
        if left:
            resources.delete(self, self.source, left[-1], self.seq)
            self.migration.later(DELETE_EVERY_US, self.delete_next, number)
