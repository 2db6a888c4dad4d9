"""Requests that change a namespace's policies: the admin service's responses are checked again.

The rules are those of `NamespacesBase` and PIP-433, with codes 204, 400, 404, 409 and 412. A refusal's row
holds only the reason, and the request is in the scenario's plan (`planned`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Self

from simulator.protocols.pulsar.checks.administration import Administered, Row
from simulator.protocols.pulsar.checks.planned_commands import planned_arguments
from simulator.scenarios.model import Scenario

_CREATE, _CREATION, _STRATEGY, _UPDATES = (
    "namespace.create",
    "namespace.set-auto-topic-creation",
    "namespace.set-schema-compatibility-strategy",
    "namespace.set-is-allow-auto-update-schema",
)
_JUDGED = (_CREATE, _CREATION, _STRATEGY, _UPDATES)


class PolicyRequests(Administered):
    """Compares each request with the namespaces just before."""

    claim = (
        "A request about a namespace's policies is done when, and only when, the namespace is there (to be "
        "created: is not), counts of partitions fit the type of topic, and replicators may register what "
        "clients may."
    )
    reads = ("command.refused",)

    def begin(self, scenario: Scenario) -> None:
        super().begin(scenario)
        self.planned = planned_arguments(scenario)

    def copy_into(self, copy: Self) -> None:
        super().copy_into(copy)
        copy.planned = self.planned

    def judge(self, row: Row) -> Iterable[str]:
        """Requests whose response contradicts the rules."""
        if row.kind not in ("command.applied", "command.refused") or row.reason not in _JUDGED:
            return []
        accepted = row.kind == "command.applied"
        given = row.arguments() if accepted else self.planned.get((row.at_us, row.reason))
        if given is None:
            return []
        wrong = list(self._wrong(row.reason, given))
        if accepted:
            return [
                f"{row.reason} of {given['namespace']} in {given['cluster']} was done, and {why}"
                for why in wrong[:1]
            ]
        refused = not wrong and given["cluster"] not in self.has.down
        return (
            [f"{row.reason} of {given['namespace']} in {given['cluster']} was refused, which nothing forbids"]
            if refused
            else []
        )

    def _wrong(self, command: str, given: dict[str, Any]) -> Iterator[str]:
        there = (given["cluster"], given["namespace"]) in self.has.policies
        if command == _CREATE:
            yield from ("it was there",) if there else ()
            tenant = given["namespace"].partition("/")[0]
            if tenant in self.has.scenario.tenants and (given["cluster"], tenant) not in self.has.tenants:
                yield "there is no such tenant"
            return
        if not there:
            yield "there is no such namespace"
        kind, partitions = given.get("allowAutoTopicCreationType"), given.get("defaultNumPartitions")
        if command == _CREATION and given["allowAutoTopicCreation"]:
            if kind == "partitioned" and not partitions:
                yield "a partitioned topic has at least one partition"
            elif kind != "partitioned" and (partitions or 0) > 1:
                yield f"{partitions} partitions are more than a non-partitioned topic has"
        own = given.get("enableForReplicator")
        if command == _UPDATES and own is not None and self.has.rule == "before":
            yield "there was no such switch before PIP-433"
        if command == _UPDATES and given["enabled"] and own is False:
            yield "clients may then register what replicators may not"
