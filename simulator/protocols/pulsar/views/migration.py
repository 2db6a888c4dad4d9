"""What the page shows of tenants: the LookupService with its map, and every migration with its steps.

It includes what a migration waits for, what a switch costs now, and where every tenant's clients are
connected. Reads, never writes (docs/python-api.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simulator.protocols.pulsar.lookup import client_locations
from simulator.protocols.pulsar.migration import readiness
from simulator.protocols.pulsar.migration.run import ENDED, RUNNING, UNDOING

if TYPE_CHECKING:
    from simulator.protocols.pulsar.migration.migration import Migration
    from simulator.protocols.pulsar.pulsar import Pulsar
    from simulator.system.run_view import RunView

CLIENTS_MAX = 200
"""Names of clients in a frame, of each place."""


def lookup_view(world: RunView) -> dict[str, Any]:
    """The LookupService now, and by tenant where its clients are connected."""
    lookup = world.runtime.lookup
    clients = {tenant: _clients(world.runtime, tenant) for tenant in lookup.tenants}
    return {
        "up": lookup.up,
        "tenants": dict(lookup.tenants),
        "answered": dict(lookup.answered),
        "failed": lookup.failed,
        "clients": clients,
    }


def migrations_view(world: RunView) -> list[dict[str, Any]]:
    """Every migration in the order in which it was started; of one that has ended only what became of it."""
    return [_migration(world, migration) for migration in world.runtime.migrations]


def _migration(world: RunView, migration: Migration) -> dict[str, Any]:
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


def _cost(world: RunView, migration: Migration) -> dict[str, Any]:
    """The forecasts are the world's own, which caches them until it changes."""
    return readiness.cost_now(migration, world.forecast)


def _clients(runtime: Pulsar, tenant: str) -> dict[str, Any]:
    """By cluster the clients connected there, and running clients that are connected nowhere.

    Those are looking up or waiting their backoff, with how many requests failed.
    """
    bases = client_locations.bases_of(runtime, tenant)
    connected = {
        cluster: client_locations.clients_in(runtime, bases, cluster) for cluster in runtime.clusters
    }
    nowhere = [
        name
        for name in client_locations.followers(runtime, bases)
        if not any(name in names for names in connected.values())
    ]
    return {
        "connected": {cluster: names[:CLIENTS_MAX] for cluster, names in connected.items() if names},
        "nowhere": {name: client_locations.failed_requests(runtime, name) for name in nowhere[:CLIENTS_MAX]},
    }
