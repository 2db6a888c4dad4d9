"""Claims about tenant migrations: steps in order, nothing deleted before it is copied."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Self

import numpy as np

from simulator.checks.check import Check, first_broken
from simulator.checks.stretch import PAST_EVERY_LEDGER, Stretch, position, position_words
from simulator.protocols.pulsar.checks.knowledge import HERE, MARKER, NOWHERE, Knowledge, RecordedMessages
from simulator.protocols.pulsar.events import CODE
from simulator.protocols.pulsar.scenario.strategies import may_sync_acks
from simulator.scenarios.model import Scenario
from simulator.scenarios.names import PARTITION_SUFFIX, base_of
from simulator.trace.registry import NULL

_ACKNOWLEDGEMENTS_APPLIED = CODE["acknowledgements.applied"]
_ACKNOWLEDGEMENTS_SENT = CODE["acknowledgements.sent"]
_CLIENT_REDIRECTED = CODE["client.redirected"]
_CLUSTER_CRASHED = CODE["cluster.crashed"]
_CLUSTER_LOST = CODE["cluster.lost"]
_CLUSTER_RESTARTED = CODE["cluster.restarted"]
_COMMAND_APPLIED = CODE["command.applied"]
_CONSUMER_CONNECTED = CODE["consumer.connected"]
_CONSUMER_DISCONNECTED = CODE["consumer.disconnected"]
_LOOKUP_ANSWERED = CODE["lookup.answered"]
_LOOKUP_STARTED = CODE["lookup.started"]
_LOOKUP_STOPPED = CODE["lookup.stopped"]
_MIGRATION_CHANGED = CODE["migration.changed"]
_MIGRATION_STARTED = CODE["migration.started"]
_MIGRATION_STEP_FINISHED = CODE["migration.step-finished"]
_MIGRATION_STEP_UNDONE = CODE["migration.step-undone"]
_NAMESPACE_CREATED = CODE["namespace.created"]
_REPLICATOR_CREATED = CODE["replicator.created"]
_REPLICATOR_REMOVED = CODE["replicator.removed"]
_RESOURCE_CREATED = CODE["resource.created"]
_RESOURCE_DELETED = CODE["resource.deleted"]
_SUBSCRIPTION_CREATED = CODE["subscription.created"]
_SUBSCRIPTION_DELETED = CODE["subscription.deleted"]
_TENANT_MAPPED = CODE["tenant.mapped"]
_TOPIC_CREATED = CODE["topic.created"]
_TOPIC_DELETED = CODE["topic.deleted"]
_TOPIC_LOADED = CODE["topic.loaded"]
_TOPIC_MIGRATED = CODE["topic.migrated"]


# --- tenants' migrations: clients follow the LookupService, and only replicated state is deleted
#
# The LookupService's map begins as in the scenario and changes with `tenant.mapped`. When a migration
# deletes a topic in one cluster (clean-up, or the undo of its metadata), the other cluster of the move must
# hold every message that a subscription still needs. Where acknowledgements are synced, it must have
# received all of them. Forced deletions by an operator are not judged, nor is the content of a lost
# cluster.


class SentWhereLookedUp(Check):
    """Keeps the map, the last response to each client, and where brokers redirected it."""

    claim = (
        "A client's lookup returns the cluster in the LookupService's map, and the client connects "
        "only there or where a broker redirected it."
    )

    def begin(self, scenario: Scenario) -> None:
        self.map = {name: spec.cluster for name, spec in scenario.tenants.items()}
        self.tenants = {name: topic.tenant for name, topic in scenario.topics.items()}
        self.followers = {
            name
            for clients in (scenario.producers, scenario.consumers)
            for name, spec in clients.items()
            if spec.cluster is None
        }
        self.answered: dict[str, str] = {}
        self.sent_on: dict[tuple[str, str], str] = {}  # (client, topic) -> cluster

    def copy_into(self, copy: Self) -> None:
        copy.map, copy.answered, copy.sent_on = dict(self.map), dict(self.answered), dict(self.sent_on)
        copy.tenants, copy.followers = self.tenants, self.followers

    def read(self, stretch: Stretch, known: Knowledge) -> Iterable[tuple[int, str]]:
        """Responses that differ from the map, and connections that differ from the response."""
        if not self.map:
            return []
        broken: list[tuple[int, str]] = []
        rows = stretch.of(
            "tenant.mapped",
            "lookup.answered",
            "client.redirected",
            "consumer.connected",
            "producer.connected",
        )
        name = stretch.name
        for seq, kind, tenant, cluster, peer, topic, client in rows.records(
            "type", "tenant", "cluster", "peer", "topic", "client"
        ):
            if kind == _TENANT_MAPPED:
                self.map[name(tenant)] = name(cluster)
            elif kind == _LOOKUP_ANSWERED:
                self.answered[name(client)] = name(cluster)
                mapped = self.map[self.tenants[name(topic)]]
                if mapped != name(cluster):
                    broken.append(
                        (
                            seq,
                            (
                                f"{name(client)} got {name(cluster)} for {name(topic)} while the map "
                                f"had {mapped}"
                            ),
                        )
                    )
            elif kind == _CLIENT_REDIRECTED:
                self.sent_on[name(client), name(topic)] = name(peer)
            elif name(client) in self.followers and name(cluster) not in (
                self.answered.get(name(client)),
                self.sent_on.get((name(client), name(topic))),
            ):
                broken.append(
                    (
                        seq,
                        (
                            f"{name(client)} connected in {name(cluster)}; the last answer was "
                            f"{self.answered.get(name(client), 'nothing')}"
                        ),
                    )
                )
        return broken


class _BroughtOver(Check):
    """The common part of both claims about deletion: tenants' moves, their strategy, forced ones."""

    def begin(self, scenario: Scenario) -> None:
        self.watching = bool(scenario.tenants)
        self.moves: dict[int, tuple[int, int, int]] = {}  # tenant -> (source, target, strategy)
        self.forced: dict[int, bool] = {}
        self.lost: dict[int, None] = {}

    def copy_into(self, copy: Self) -> None:
        copy.watching, copy.moves, copy.forced, copy.lost = (
            self.watching,
            dict(self.moves),
            dict(self.forced),
            dict(self.lost),
        )

    def deletions(self, stretch: Stretch) -> Iterator[tuple[int, int, int, int, str]]:
        """The topics that a migration deletes without force.

        Yields (seq, cluster, the other cluster, topic's base, strategy).
        """
        rows = stretch.of("migration.started", "migration.changed", "resource.deleted", "cluster.lost")
        for seq, kind, tenant, cluster, peer, topic, reason, subscription in rows.records(
            "type", "tenant", "cluster", "peer", "topic", "reason", "subscription"
        ):
            if kind == _MIGRATION_STARTED:
                self.moves[tenant], self.forced[tenant] = (cluster, peer, reason), False
            elif kind == _MIGRATION_CHANGED:
                self.forced[tenant] |= stretch.name(reason) == "forced"
            elif kind == _CLUSTER_LOST:
                self.lost[cluster] = None
            elif (
                topic != NULL
                and subscription == NULL
                and cluster not in self.lost
                and not self.forced[tenant]
            ):
                source, target, strategy = self.moves[tenant]
                yield seq, cluster, target if cluster == source else source, topic, stretch.name(strategy)

    @staticmethod
    def parts(stretch: Stretch, topics: Iterable[int], base: int) -> list[int]:
        """The topics among these that are the base or one of its partitions."""
        return sorted(
            {topic for topic in topics if PARTITION_SUFFIX.sub("", stretch.name(topic)) == stretch.name(base)}
        )


class CopiedBeforeDeleted(_BroughtOver):
    """Keeps the messages that each cluster stored and that were settled anywhere.

    It also keeps the position where each subscription began.
    """

    claim = (
        "When a migration deletes a topic, the other cluster holds every message of it that a subscription "
        "there has not acknowledged, expired or skipped."
    )

    def begin(self, scenario: Scenario) -> None:
        super().begin(scenario)
        self.stored, self.settled = (
            RecordedMessages(),
            RecordedMessages(),
        )  # (cluster, producer), (subscription, producer)
        self.began: dict[tuple[int, int, int], int] = {}  # (cluster, topic, subscription) -> place

    def copy_into(self, copy: Self) -> None:
        super().copy_into(copy)
        copy.stored, copy.settled, copy.began = self.stored.copy(), self.settled.copy(), dict(self.began)

    def read(self, stretch: Stretch, known: Knowledge) -> Iterable[tuple[int, str]]:
        """Messages that are deleted with a topic while a subscription needs them."""
        if not self.watching:
            return []
        self.stored.read(stretch.of("message.stored"), "cluster")
        self.settled.read(
            stretch.of("message.acknowledged", "message.expired", "message.skipped", "message.evicted"),
            "subscription",
        )
        for _seq, *cursor, ledger, entry in stretch.of("subscription.created").records(
            "cluster", "topic", "subscription", "ledger", "entry"
        ):
            self.began[tuple(cursor)] = position(ledger, entry)
        broken = [
            found for deletion in self.deletions(stretch) for found in self._needed(stretch, known, *deletion)
        ]
        self.stored.finish()
        self.settled.finish()
        return broken

    def _needed(
        self,
        stretch: Stretch,
        known: Knowledge,
        seq: int,
        cluster: int,
        other: int,
        base: int,
        _strategy: str,
    ) -> Iterator[tuple[int, str]]:
        cursors = [key for key in self.began if key[0] == cluster]
        for topic in self.parts(stretch, [key[1] for key in cursors], base):
            log = known.logs.of(cluster, topic)
            for place, subscription in [(self.began[key], key[2]) for key in cursors if key[1] == topic]:
                for producer, ids in log.messages(log.between(place, PAST_EVERY_LEDGER, seq)):
                    needed = ids[
                        self.settled.unseen((subscription, producer), ids, seq)
                        & self.stored.unseen((other, producer), ids, seq)
                    ]
                    who = (
                        f"{stretch.name(subscription)} had not dealt with it, and {stretch.name(other)} "
                        f"never had it"
                    )
                    yield from first_broken(
                        np.full(len(needed), seq),
                        lambda n: (
                            f"{stretch.message(producer, int(needed[n]))} went with {stretch.name(topic)} in "
                            f"{stretch.name(cluster)}: {who}"
                        ),
                    )


class ReceivedBeforeDeleted(_BroughtOver):
    """Keeps the last ack by a client of each cursor, and the last state received from a peer."""

    claim = (
        "When a migration with acknowledgement-state sync deletes a topic, everything that was "
        "acknowledged there was synced to the other cluster."
    )

    def begin(self, scenario: Scenario) -> None:
        super().begin(scenario)
        self.taken: dict[tuple[int, int, int], int] = {}  # (cluster, topic, subscription) -> seq
        # (receiving cluster, sending cluster, topic, subscription) -> seq of the request
        self.received: dict[tuple[int, int, int, int], int] = {}

    def copy_into(self, copy: Self) -> None:
        super().copy_into(copy)
        copy.taken, copy.received = dict(self.taken), dict(self.received)

    def read(self, stretch: Stretch, known: Knowledge) -> Iterable[tuple[int, str]]:
        """Acknowledgements that are deleted with a topic before the target has them."""
        if not self.watching:
            return []
        deletions = list(self.deletions(stretch))
        events: list[tuple[int, tuple]] = [(found[0], found) for found in deletions]
        registered = stretch.of("message.registered")
        for key, rows in registered.take(registered["client"] != NULL).groups(
            "cluster", "topic", "subscription"
        ):
            events += [(seq, key) for seq in (rows.seqs if deletions else rows.seqs[-1:]).tolist()]
        for row in stretch.of("acknowledgements.applied").records(
            "cluster", "peer", "topic", "subscription", "evidence_seq"
        ):
            events.append((row[0], row))
        broken: list[tuple[int, str]] = []
        for seq, event in sorted(events, key=lambda one: one[0]):
            if len(event) == 3:
                self.taken[event] = seq
            elif isinstance(event[4], str):
                broken += self._not_received(stretch, *event)
            else:
                self.received[event[1:5]] = event[5]
        return broken

    def _not_received(
        self, stretch: Stretch, seq: int, cluster: int, other: int, base: int, strategy: str
    ) -> Iterator[tuple[int, str]]:
        if strategy != "acknowledgement-sync":
            return
        for topic in self.parts(stretch, [key[1] for key in self.taken if key[0] == cluster], base):
            for key in [key for key in self.taken if key[:2] == (cluster, topic)]:
                if self.taken[key] > self.received.get((other, cluster, topic, key[2]), -1):
                    yield (
                        seq,
                        (
                            f"{stretch.name(other)} has not received what {stretch.name(key[2])} "
                            f"acknowledged last "
                            f"of {stretch.name(topic)} in {stretch.name(cluster)} (row {self.taken[key]})"
                        ),
                    )


# --- tenants' migrations go step by step, and blue-green migration redirects no client too early
#
# A step begins when all before it are complete or not part of its strategy. Only a forced switch goes ahead
# of them. Steps are undone from the last to the first. A consumer of a migrated topic is redirected when
# its subscription has no backlog there: its mark-delete is at the end of the log (PIP-188).


STEPS = ("metadata", "topic-data", "consumption-progress", "switch", "clean-up")
NOT_OF = {"none": ("consumption-progress",), "blue-green": ("topic-data", "consumption-progress")}
"""The steps that are empty in a strategy."""

_READ = (
    "migration.started",
    "migration.step-began",
    "migration.step-finished",
    "migration.step-undone",
    "command.applied",
)


class MigrationStepsInOrder(Check):
    """Keeps each tenant's present migration: steps begun, steps complete, and the forced switch."""

    claim = (
        "A migration's steps start in order, each when the previous ones are done, unless the "
        "switch is forced, and are rolled back from the last to the first."
    )

    def begin(self, scenario: Scenario) -> None:
        self.watching = bool(scenario.tenants)
        self.begun: dict[str, frozenset[str]] = {}  # by tenant: begun, and not undone
        self.through: dict[str, frozenset[str]] = {}
        self.forced: frozenset[str] = frozenset()

    def copy_into(self, copy: Self) -> None:
        copy.watching, copy.begun, copy.through, copy.forced = (
            self.watching,
            dict(self.begun),
            dict(self.through),
            self.forced,
        )

    def read(self, stretch: Stretch, known: Knowledge) -> Iterable[tuple[int, str]]:
        """Steps that began or were undone out of order."""
        if not self.watching:
            return []
        broken: list[tuple[int, str]] = []
        for seq, kind, tenant_number, reason_number, detail in stretch.of(*_READ).records(
            "type", "tenant", "reason", "detail"
        ):
            tenant, reason = stretch.name(tenant_number), stretch.name(reason_number)
            if kind == _COMMAND_APPLIED:
                self._commanded(reason, stretch.name(detail))
            elif kind == _MIGRATION_STARTED:
                self.begun[tenant], self.through[tenant] = frozenset(), frozenset(NOT_OF.get(reason, ()))
                self.forced -= {tenant}
            else:
                why = (
                    self._take_back(tenant, reason)
                    if kind == _MIGRATION_STEP_UNDONE
                    else self._begin_or_finish(tenant, reason, kind)
                )
                if why:
                    broken.append((seq, f"{tenant}: {why}"))
        return broken

    def _commanded(self, command: str, arguments: str) -> None:
        if command == "migration.switch" and json.loads(arguments).get("force"):
            self.forced |= {json.loads(arguments)["tenant"]}

    def _begin_or_finish(self, tenant: str, step: str, kind: int) -> str | None:
        if kind == _MIGRATION_STEP_FINISHED:
            self.through[tenant] |= {step}
            return None
        self.begun[tenant] |= {step}
        ahead = step == "switch" and tenant in self.forced
        missing = [other for other in STEPS[: STEPS.index(step)] if other not in self.through[tenant]]
        return (
            f"{step} began, and {' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not through"
            if missing and not ahead
            else None
        )

    def _take_back(self, tenant: str, step: str) -> str | None:
        later = [other for other in STEPS[STEPS.index(step) + 1 :] if other in self.begun[tenant]]
        self.begun[tenant] -= {step}
        self.through[tenant] -= {step}
        return f"{step} was taken back before {' and '.join(later)}" if later else None


class DrainedBeforeRedirect(Check):
    """Reads the cursors; keeps only which consumer reads which subscription."""

    claim = (
        "A broker whose topic is migrated redirects a consumer only when its subscription has no "
        "backlog there."
    )

    def begin(self, scenario: Scenario) -> None:
        self.subscriptions = {name: spec.subscription for name, spec in scenario.consumers.items()}

    def copy_into(self, copy: Self) -> None:
        copy.subscriptions = self.subscriptions

    def read(self, stretch: Stretch, known: Knowledge) -> Iterable[tuple[int, str]]:
        """Consumers that were redirected while their subscription had a backlog."""
        broken: list[tuple[int, str]] = []
        for seq, cluster, topic, client in stretch.of("client.redirected").records(
            "cluster", "topic", "client"
        ):
            if stretch.name(client) not in self.subscriptions:
                continue  # producers are redirected at once
            place = known.cursors.place_at(
                (cluster, topic, stretch.number(self.subscriptions[stretch.name(client)])), seq
            )
            left = known.logs.of(cluster, topic).between(place, PAST_EVERY_LEDGER, seq)
            if place != NOWHERE and left.stop > left.start:
                broken.append(
                    (
                        seq,
                        (
                            f"{stretch.name(client)} was sent on from {stretch.name(topic)} in "
                            f"{stretch.name(cluster)} with {left.stop - left.start} entries left"
                        ),
                    )
                )
        return broken


TENANT, ROLE, NAMESPACE, TOPIC, SUBSCRIPTION = "tenant", "role", "namespace", "topic", "subscription"

_METADATA_COMPLETE_READ = (
    "resource.created",
    "resource.deleted",
    "namespace.created",
    "topic.created",
    "topic.deleted",
    "topic.loaded",
    "subscription.created",
    "subscription.deleted",
    "migration.step-finished",
)
_COLUMNS = ("type", "tenant", "cluster", "peer", "topic", "subscription", "reason", "detail")


class _Holdings:
    """The resources of each cluster."""

    def __init__(self, scenario: Scenario) -> None:
        self.topics = {
            name: (topic.tenant, topic.namespace)
            for name, topic in scenario.topics.items()
            if topic.shadow_of is None
        }
        self.roles = {name: spec.roles for name, spec in scenario.tenants.items()}
        self.have: dict[tuple[str, str, str], None] = {}  # (cluster, kind, name)
        # (cluster, topic or partition, subscription)
        self.subscriptions: dict[tuple[str, str, str], None] = {}
        self.logs: dict[tuple[str, str], None] = {}  # (cluster, topic or partition)
        for name, topic in scenario.topics.items():
            for cluster in topic.clusters:
                self.have |= {
                    (cluster, TENANT, topic.tenant): None,
                    (cluster, NAMESPACE, topic.namespace): None,
                }
                self.have |= {(cluster, ROLE, role): None for role in self.roles.get(topic.tenant, ())}
            self.have |= {(cluster, TOPIC, name): None for cluster in topic.shapes}
        for name in scenario.namespaces:
            self.have |= {(cluster, NAMESPACE, name): None for cluster in scenario.clusters}

    def copy(self) -> _Holdings:
        copy = object.__new__(_Holdings)
        copy.topics, copy.roles = self.topics, self.roles
        copy.have, copy.subscriptions, copy.logs = dict(self.have), dict(self.subscriptions), dict(self.logs)
        return copy

    def follow(self, kind: int, cluster: str, topic: str, subscription: str, thing: tuple[str, str]) -> None:
        """Apply one row; `thing` is the kind and name of a resource."""
        if kind == _RESOURCE_CREATED and thing[0] != SUBSCRIPTION:
            self.have[cluster, *thing] = None
        elif kind == _RESOURCE_DELETED and thing[0] not in (SUBSCRIPTION, TOPIC):
            self.have.pop((cluster, *thing), None)
        elif kind == _NAMESPACE_CREATED:
            self.have[cluster, NAMESPACE, thing[1]] = None
        elif kind == _TOPIC_CREATED:
            self.have[cluster, TOPIC, topic] = None
        elif kind == _TOPIC_LOADED:
            self.logs[cluster, topic] = None
        elif kind == _TOPIC_DELETED:
            self.have.pop((cluster, TOPIC, topic), None)
            self.logs = {
                key: None for key in self.logs if key[0] != cluster or base_of(self.topics, key[1]) != topic
            }
            self.subscriptions = {
                key: None
                for key in self.subscriptions
                if key[0] != cluster or base_of(self.topics, key[1]) != topic
            }
        elif kind == _SUBSCRIPTION_CREATED:
            self.subscriptions[cluster, topic, subscription] = None
        elif kind == _SUBSCRIPTION_DELETED:
            self.subscriptions.pop((cluster, topic, subscription), None)


class MetadataComplete(Check):
    """Keeps the resources of each cluster, and checks each end of a metadata step, creation and deletion.

    A migration's first step copies everything, and resources are created and deleted in order.

    The source is the vendor's article on tenant migration. The order is the tenant itself, its roles, its
    namespaces, its topics, their subscriptions. At the start of the run the scenario's resources exist: the
    tenant and its roles where it has topics, a namespace where it has topics or where it is declared. Shadow
    topics do not move.
    """

    claim = (
        "When a migration's metadata step is done, the other cluster has every resource of the "
        "tenant, and no resource is created before, or outlives, the one it belongs to."
    )

    def begin(self, scenario: Scenario) -> None:
        self.watching = bool(scenario.tenants)
        self.holdings = _Holdings(scenario)

    def copy_into(self, copy: Self) -> None:
        copy.watching, copy.holdings = self.watching, self.holdings.copy()

    def read(self, stretch: Stretch, known: Knowledge) -> Iterable[tuple[int, str]]:
        """Steps that ended early, and resources created or deleted out of order."""
        if not self.watching:
            return []
        broken: list[tuple[int, str]] = []
        for seq, kind, *row in stretch.of(*_METADATA_COMPLETE_READ).records(*_COLUMNS):
            tenant, cluster, peer, topic, subscription, reason, detail = (
                "" if number == NULL else stretch.name(number) for number in row
            )
            if kind == _MIGRATION_STEP_FINISHED:
                missing = self._missing(tenant, cluster, peer) if reason == "metadata" else ()
                broken += [(seq, f"{peer} has not {what}, which {cluster} has") for what in missing]
            elif kind in (_RESOURCE_CREATED, _RESOURCE_DELETED):
                broken += [
                    (seq, f"{reason} {detail} in {cluster} {why}")
                    for why in self._out_of_order(kind, tenant, cluster, topic, reason, detail)
                ]
            self.holdings.follow(kind, cluster, topic, subscription, (reason, detail))
        return broken

    def _missing(self, tenant: str, source: str, target: str) -> Iterator[str]:
        have, topics = self.holdings.have, self.holdings.topics
        bases = [
            base
            for base, (owner, _namespace) in topics.items()
            if owner == tenant and (source, TOPIC, base) in have
        ]
        needed = [(TENANT, tenant), *((ROLE, role) for role in self.holdings.roles[tenant])]
        needed += [(NAMESPACE, topics[base][1]) for base in bases] + [(TOPIC, base) for base in bases]
        yield from (
            f"{kind} {name}" for kind, name in dict.fromkeys(needed) if (target, kind, name) not in have
        )
        for cluster, log, subscription in self.holdings.subscriptions:
            here = cluster == source and base_of(topics, log) in bases and (target, log) in self.holdings.logs
            if here and (target, log, subscription) not in self.holdings.subscriptions:
                yield f"subscription {subscription} of {log}"

    def _out_of_order(
        self, kind: int, tenant: str, cluster: str, topic: str, what: str, name: str
    ) -> Iterator[str]:
        have, topics = self.holdings.have, self.holdings.topics
        if kind == _RESOURCE_CREATED:
            of = {
                TENANT: None,
                ROLE: (TENANT, tenant),
                NAMESPACE: (TENANT, tenant),
                TOPIC: (NAMESPACE, topics.get(name, ("", ""))[1]),
                SUBSCRIPTION: (TOPIC, topic),
            }[what]
            if of is not None and (cluster, *of) not in have:
                yield f"was made before {of[0]} {of[1]}"
            return
        if what in (TENANT, NAMESPACE):
            within = [base for base, of in topics.items() if name in of and (cluster, TOPIC, base) in have]
            yield from (f"was deleted before topic {base}" for base in within)
        if what == TENANT:
            left = [
                one for owner, one in topics.values() if owner == tenant and (cluster, NAMESPACE, one) in have
            ]
            yield from (f"was deleted before namespace {one}" for one in dict.fromkeys(left))
            yield from (
                f"was deleted before role {role}"
                for role in self.holdings.roles.get(tenant, ())
                if (cluster, ROLE, role) in have
            )


_BLUE_GREEN_READ = (
    "command.applied",
    "resource.deleted",
    "topic.migrated",
    "topic.deleted",
    "subscription.deleted",
    "replicator.created",
    "replicator.removed",
    "consumer.connected",
    "consumer.disconnected",
    "client.redirected",
)
_BLUE_GREEN_COLUMNS = ("type", "cluster", "peer", "topic", "subscription", "client", "ledger", "entry")

Place = tuple[int, int]
"""Fields: (cluster, topic)."""


class LeftEmpty(Check):
    """Keeps each topic's replicators, its consumers, and which entries replication skipped.

    Pulsar's blue-green migration leaves no message and no consumer behind (PIP-188).

    A topic is migrated, which redirects its clients, only when its replicators have no backlog. The broker's
    periodic check deletes a subscription only when that has no backlog and no consumer. Deletions by an
    operator or a tenant's clean-up at the same instant are not attributed to it.
    """

    claim = (
        "A topic is migrated by blue-green only when its replicators have nothing left, and its "
        "subscriptions are deleted only when they are drained and have no consumers."
    )

    def begin(self, scenario: Scenario) -> None:
        places = (
            scenario.settings,
            *(spec.settings for spec in (*scenario.clusters.values(), *scenario.topics.values())),
        )
        self.topics = frozenset(scenario.topics)
        self.watching = any(settings.get("clusterMigrationCheckDurationSeconds") for settings in places)
        # (cluster, topic, peer) -> where its cursor opened
        self.replicators: dict[tuple[int, int, int], int] = {}
        self.passed_over = RecordedMessages()  # (cluster, peer, producer)
        self.migrated: dict[Place, None] = {}
        self.readers: dict[tuple[int, int, int, int], None] = {}  # (cluster, topic, client, subscription)
        self.others_at_us = -1  # when a subscription was last deleted by another cause

    def copy_into(self, copy: Self) -> None:
        copy.topics = self.topics
        copy.watching, copy.others_at_us, copy.passed_over = (
            self.watching,
            self.others_at_us,
            self.passed_over.copy(),
        )
        copy.replicators, copy.migrated, copy.readers = (
            dict(self.replicators),
            dict(self.migrated),
            dict(self.readers),
        )

    def read(self, stretch: Stretch, known: Knowledge) -> Iterable[tuple[int, str]]:
        """Topics that were migrated too early, and subscriptions deleted while still needed."""
        if not self.watching:
            return []
        self.passed_over.read(stretch.of("message.not-replicated"), "cluster", "peer")
        broken: list[tuple[int, str]] = []
        for seq, kind, cluster, peer, topic, subscription, client, ledger, entry in stretch.of(
            *_BLUE_GREEN_READ
        ).records(*_BLUE_GREEN_COLUMNS):
            place = (cluster, topic)
            if kind in (_COMMAND_APPLIED, _RESOURCE_DELETED, _TOPIC_DELETED):
                self.others_at_us = stretch.at_us(seq)
                if kind == _TOPIC_DELETED:
                    name = stretch.name(topic)
                    self.migrated = {
                        one: None
                        for one in self.migrated
                        if one[0] != cluster or base_of(self.topics, stretch.name(one[1])) != name
                    }
            elif kind in (_REPLICATOR_CREATED, _REPLICATOR_REMOVED):
                self.replicators.pop((*place, peer), None)
                if kind == _REPLICATOR_CREATED:
                    self.replicators[*place, peer] = position(ledger, entry)
            elif kind in (_CONSUMER_CONNECTED, _CONSUMER_DISCONNECTED):
                self.readers.pop((*place, client, subscription), None)
                if kind == _CONSUMER_CONNECTED:
                    self.readers[*place, client, subscription] = None
            elif kind == _CLIENT_REDIRECTED:  # redirected to green
                self.readers = {one: None for one in self.readers if one[:3] != (*place, client)}
            elif kind == _TOPIC_MIGRATED:
                self.migrated[place] = None
                broken += [(seq, why) for why in self._left_behind(stretch, known, seq, place)]
            elif place in self.migrated and stretch.at_us(seq) != self.others_at_us:
                broken += [(seq, why) for why in self._needed(stretch, known, seq, place, subscription)]
        self.passed_over.finish()
        return broken

    def _left_behind(self, stretch: Stretch, known: Knowledge, seq: int, place: Place) -> Iterator[str]:
        log = known.logs.of(*place)
        for peer, began in [(key[2], began) for key, began in self.replicators.items() if key[:2] == place]:
            rows = log.between(began, PAST_EVERY_LEDGER, seq)
            published = {
                column: log.table.column(column)[rows] for column in ("producer", "sequence_id", "origin")
            }
            there = known.logs.of(peer, place[1])
            copies = {
                column: there.table.column(column)[: there.rows_before(seq)]
                for column in ("producer", "sequence_id")
            }
            for producer in np.unique(published["producer"][published["producer"] != MARKER]).tolist():
                ids = published["sequence_id"][
                    (published["producer"] == producer) & (published["origin"] == HERE)
                ]
                missing = ~np.isin(ids, copies["sequence_id"][copies["producer"] == producer])
                left = ids[missing & self.passed_over.unseen((place[0], peer, producer), ids, seq)]
                if len(left):
                    what = f"{stretch.message(producer, int(left[0]))} and {len(left) - 1} more"
                    yield (
                        f"{stretch.name(place[1])} in {stretch.name(place[0])} is migrated, and "
                        f"{stretch.name(peer)} has not {what}"
                    )

    def _needed(
        self, stretch: Stretch, known: Knowledge, seq: int, place: Place, subscription: int
    ) -> Iterator[str]:
        here = (
            f"{stretch.name(subscription)} of {stretch.name(place[1])} was deleted in "
            f"{stretch.name(place[0])}"
        )
        stands = known.cursors.place_at((*place, subscription), seq)
        left = known.logs.of(*place).between(stands, PAST_EVERY_LEDGER, seq)
        if stands != NOWHERE and left.stop > left.start:
            yield f"{here} with {left.stop - left.start} entries left"
        reading = [
            stretch.name(one[2]) for one in self.readers if one[:2] == place and one[3] == subscription
        ]
        if reading:
            yield f"{here} while {', '.join(reading)} reads it"


# --- the LookupService responds by its map, and acknowledgement-state sync sends the present state
#
# Sources: docs/pulsar.md and docs/pulsar.md.


_SERVING = (
    "lookup.stopped",
    "lookup.started",
    "cluster.crashed",
    "cluster.lost",
    "cluster.restarted",
    "topic.created",
    "topic.deleted",
    "lookup.answered",
)
METADATA, SCHEMA, LOOKUP = "partition-metadata", "schema", "lookup"


class AnsweredWhenAble(Check):
    """Keeps the state of clusters, the clusters of topics, and the last response to each client."""

    claim = (
        "The LookupService answers while it is up, for a topic that the cluster which it names "
        "serves, and a client gets partitions before schemas and brokers."
    )

    def begin(self, scenario: Scenario) -> None:
        self.watching = bool(scenario.tenants)
        clients = {**scenario.producers, **scenario.consumers}
        self.with_schema = frozenset(name for name, spec in clients.items() if spec.schema is not None)
        self.serves = True
        self.down: dict[str, None] = {}
        self.present = {
            (cluster, base): None for base, topic in scenario.topics.items() for cluster in topic.shapes
        }
        self.answered: dict[tuple[str, str], None] = {}  # (client, kind of request) of the last response

    def copy_into(self, copy: Self) -> None:
        copy.watching, copy.with_schema, copy.serves = self.watching, self.with_schema, self.serves
        copy.down, copy.present, copy.answered = dict(self.down), dict(self.present), dict(self.answered)

    def read(self, stretch: Stretch, known: Knowledge) -> Iterable[tuple[int, str]]:
        """Lookup responses that no broker could give, or that are sent too early."""
        if not self.watching:
            return []
        broken: list[tuple[int, str]] = []
        for seq, kind, *row in stretch.of(*_SERVING).records("type", "cluster", "topic", "client", "reason"):
            cluster, topic, client, reason = (stretch.name(number) for number in row)
            if kind == _LOOKUP_ANSWERED:
                broken += [
                    (seq, f"{client} received {topic}'s {reason} in {cluster}, {why}")
                    for why in self._wrong(cluster, topic, client, reason)
                ]
                self.answered[client, reason] = None
            elif kind in (_LOOKUP_STOPPED, _LOOKUP_STARTED):
                self.serves = kind == _LOOKUP_STARTED
            elif kind in (_CLUSTER_CRASHED, _CLUSTER_LOST):
                self.down[cluster] = None
            elif kind == _CLUSTER_RESTARTED:
                self.down.pop(cluster, None)
            elif kind == _TOPIC_CREATED:
                self.present[cluster, topic] = None
            else:
                self.present.pop((cluster, topic), None)
        return broken

    def _wrong(self, cluster: str, topic: str, client: str, asked: str) -> Iterator[str]:
        if not self.serves:
            yield "while the LookupService was down"
        if cluster in self.down:
            yield "which was down"
        if (cluster, topic) not in self.present:
            yield "which does not have it"
        before = {
            METADATA: (),
            SCHEMA: (METADATA,),
            LOOKUP: (METADATA, SCHEMA) if client in self.with_schema else (METADATA,),
        }[asked]
        yield from (
            f"before it received {missing}" for missing in before if (client, missing) not in self.answered
        )


_SYNCING = ("acknowledgements.sent", "acknowledgements.applied", "acknowledgements.lost")


class StateAsSent(Check):
    """Keeps the states on the wire, and the last one that each cluster applied."""

    claim = (
        "A broker that synchronises acknowledgements sends its cursor's current mark-delete, and "
        "the peer applies each state once, as it was sent, and none after a newer one."
    )

    def begin(self, scenario: Scenario) -> None:
        self.watching = may_sync_acks(scenario)
        # seq of the request -> (from, to, topic, subscription, place, entries beyond)
        self.on_the_way: dict[int, tuple[int, ...]] = {}
        self.taken: dict[tuple[int, ...], int] = {}  # (from, to, topic, subscription) -> seq of the request

    def copy_into(self, copy: Self) -> None:
        copy.watching, copy.on_the_way, copy.taken = self.watching, dict(self.on_the_way), dict(self.taken)

    def read(self, stretch: Stretch, known: Knowledge) -> Iterable[tuple[int, str]]:
        """States that differ from the cursor when sent, or from the request when applied."""
        if not self.watching:
            return []
        broken: list[tuple[int, str]] = []
        names = (
            "type",
            "cluster",
            "peer",
            "topic",
            "subscription",
            "ledger",
            "entry",
            "to_ledger",
            "to_entry",
            "count",
            "evidence_seq",
        )
        for (
            seq,
            kind,
            cluster,
            peer,
            topic,
            subscription,
            ledger,
            entry,
            to_ledger,
            to_entry,
            count,
            sent_seq,
        ) in stretch.of(*_SYNCING).records(*names):
            who = f"{stretch.name(subscription)} of {stretch.name(topic)}"
            if kind == _ACKNOWLEDGEMENTS_SENT:
                place = position(ledger, entry)
                self.on_the_way[seq] = (cluster, peer, topic, subscription, place, count)
                broken += [
                    (
                        seq,
                        (
                            f"{stretch.name(cluster)} sent {position_words(place)} as mark-delete of "
                            f"{who}: {why}"
                        ),
                    )
                    for why in self._stale(known, seq, (cluster, topic, subscription), place)
                ]
            elif kind == _ACKNOWLEDGEMENTS_APPLIED:
                state = (peer, cluster, topic, subscription, position(to_ledger, to_entry), count)
                broken += [
                    (seq, f"{stretch.name(cluster)} took in a state of {who} {why}")
                    for why in self._wrong(state, sent_seq)
                ]
            else:
                self.on_the_way.pop(sent_seq, None)
        return broken

    @staticmethod
    def _stale(known: Knowledge, seq: int, cursor: tuple[int, int, int], sent: int) -> Iterator[str]:
        stands, log = known.cursors.place_at(cursor, seq), known.logs.of(*cursor[:2])
        between = log.between(min(sent, stands), max(sent, stands), seq)
        if stands != NOWHERE and between.stop > between.start:
            yield f"the cursor is at {position_words(stands)}"

    def _wrong(self, state: tuple[int, ...], sent_seq: int) -> Iterator[str]:
        sent, pair = self.on_the_way.pop(sent_seq, None), state[:4]
        if sent is None:
            yield f"that was not on its way (row {sent_seq})"
        elif sent != state:
            yield (
                f"that names {position_words(state[4])} and {state[5]} entries beyond, where "
                f"{position_words(sent[4])} and {sent[5]} were sent (row {sent_seq})"
            )
        if self.taken.get(pair, -1) > sent_seq:
            yield f"that is older (row {sent_seq}) than the one it has (row {self.taken[pair]})"
        self.taken[pair] = max(sent_seq, self.taken.get(pair, -1))
