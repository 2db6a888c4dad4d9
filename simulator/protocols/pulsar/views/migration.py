"""The page's view of tenants: the LookupService with its map, and every migration with its steps.

It includes a migration's pending conditions, the cost of a switch now, and the cluster of every tenant's
clients. Reads, never writes (docs/python-api.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simulator.protocols.pulsar import lookup as service
from simulator.protocols.pulsar.migration import readiness
from simulator.protocols.pulsar.migration.run import ENDED, RUNNING, UNDOING

if TYPE_CHECKING:
    from simulator.protocols.pulsar.migration.migration import Migration
    from simulator.protocols.pulsar.pulsar import Pulsar
    from simulator.world import World

CLIENTS_MAX = 200
"""Names of clients in a frame, per cluster."""


def lookup_view(world: World) -> dict[str, Any]:
    """The LookupService now, and by tenant the clusters to which its clients are connected."""
    lookup = world.runtime.lookup
    clients = {tenant: _clients(world.runtime, tenant) for tenant in lookup.tenants}
    return {
        "up": lookup.up,
        "tenants": dict(lookup.tenants),
        "answered": dict(lookup.answered),
        "failed": lookup.failed,
        "clients": clients,
    }


def migrations_view(world: World) -> list[dict[str, Any]]:
    """Every migration in the order of their start; one that has ended has only its result."""
    return [_migration(world, migration) for migration in world.runtime.migrations]


def _migration(world: World, migration: Migration) -> dict[str, Any]:
    run, ended = migration.run, migration.run.state in ENDED
    return {
        "tenant": run.tenant,
        "from": run.source,
        "to": run.target,
        "strategy": run.strategy,
        "through": run.through,
        "state": run.state,
        "at": run.step.name,
        "steps": [
            {
                "name": step.name,
                "state": step.state,
                "attempts": step.attempts,
                "started_us": step.started_us,
                "finished_us": step.finished_us,
                "error": step.error,
                "progress": None if ended else _progress(migration, step.name),
            }
            for step in run.steps
        ],
        "waits_for": []
        if ended or run.step.state in (RUNNING, UNDOING)
        else [condition._asdict() for condition in migration.conditions()],
        "switched_at_us": run.switched_at_us,
        "way_back": migration.way_back,
        "cost": None if ended or run.switched_at_us is not None else _cost(world, migration),
    }


def _progress(migration: Migration, step: str) -> dict[str, Any]:
    return migration.works.of(step).progress()._asdict()


def _cost(world: World, migration: Migration) -> dict[str, Any]:
    """The cost of a switch now: forecasts from the world, which caches them until it changes."""
    return readiness.cost_now(migration, world.forecast)


def _clients(runtime: Pulsar, tenant: str) -> dict[str, Any]:
    """By cluster the connected clients, and running clients that are not connected.

    The latter are looking up or in backoff, with their number of failed requests.
    """
    bases = service.bases_of(runtime, tenant)
    connected = {cluster: service.clients_in(runtime, bases, cluster) for cluster in runtime.clusters}
    nowhere = [
        name
        for name in service.followers(runtime, bases)
        if not any(name in names for names in connected.values())
    ]
    return {
        "connected": {cluster: names[:CLIENTS_MAX] for cluster, names in connected.items() if names},
        "nowhere": {name: service.failed_requests(runtime, name) for name in nowhere[:CLIENTS_MAX]},
    }
