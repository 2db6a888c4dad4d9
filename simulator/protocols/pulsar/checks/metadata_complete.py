"""A migration's first step copies everything, and resources are created and deleted in order.

The source is the vendor's article on tenant migration. The order is the tenant itself, its roles, its
namespaces, its topics, their subscriptions. At the start of the run the scenario's resources exist: the
tenant and its roles where it has topics, a namespace where it has topics or where it is declared. Shadow
topics do not move.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Self

from simulator.checks.check import Check
from simulator.checks.stretch import Stretch
from simulator.protocols.pulsar.checks.knowledge import Knowledge
from simulator.protocols.pulsar.events import CODE
from simulator.scenarios.model import Scenario
from simulator.scenarios.names import base_of
from simulator.trace.registry import NULL

TENANT, ROLE, NAMESPACE, TOPIC, SUBSCRIPTION = "tenant", "role", "namespace", "topic", "subscription"

_READ = (
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
_MADE, _UNMADE, _NAMESPACE, _CREATED, _DELETED, _LOADED, _OPENED, _CLOSED, _FINISHED = (
    CODE[name] for name in _READ
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
        if kind == _MADE and thing[0] != SUBSCRIPTION:
            self.have[cluster, *thing] = None
        elif kind == _UNMADE and thing[0] not in (SUBSCRIPTION, TOPIC):
            self.have.pop((cluster, *thing), None)
        elif kind == _NAMESPACE:
            self.have[cluster, NAMESPACE, thing[1]] = None
        elif kind == _CREATED:
            self.have[cluster, TOPIC, topic] = None
        elif kind == _LOADED:
            self.logs[cluster, topic] = None
        elif kind == _DELETED:
            self.have.pop((cluster, TOPIC, topic), None)
            self.logs = {
                key: None for key in self.logs if key[0] != cluster or base_of(self.topics, key[1]) != topic
            }
            self.subscriptions = {
                key: None
                for key in self.subscriptions
                if key[0] != cluster or base_of(self.topics, key[1]) != topic
            }
        elif kind == _OPENED:
            self.subscriptions[cluster, topic, subscription] = None
        elif kind == _CLOSED:
            self.subscriptions.pop((cluster, topic, subscription), None)


class MetadataComplete(Check):
    """Keeps the resources of each cluster, and checks each end of a metadata step, creation and deletion."""

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
        for seq, kind, *row in stretch.of(*_READ).records(*_COLUMNS):
            tenant, cluster, peer, topic, subscription, reason, detail = (
                "" if number == NULL else stretch.name(number) for number in row
            )
            if kind == _FINISHED:
                missing = self._missing(tenant, cluster, peer) if reason == "metadata" else ()
                broken += [(seq, f"{peer} has not {what}, which {cluster} has") for what in missing]
            elif kind in (_MADE, _UNMADE):
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
        if kind == _MADE:
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
