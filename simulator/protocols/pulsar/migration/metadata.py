"""Step 1: tenant, roles, namespaces, topics and subscriptions are created in the target.

Rules: administrative requests are sent one after the other, each takes a round trip over the link. Existing
resources are not changed, and an undo deletes neither them nor what contains them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from simulator.protocols.pulsar.migration import resources
from simulator.protocols.pulsar.migration.work import Condition, Progress, Work, connected

if TYPE_CHECKING:
    from simulator.protocols.pulsar.migration.migration import Migration


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
