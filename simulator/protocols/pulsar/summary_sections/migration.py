"""`migrations[]` and `lookup` of the summary: each tenant's move, and the map of the LookupService."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simulator.world import World


def migrations(world: World) -> list[dict[str, Any]]:
    """Every migration in the order of their start."""
    return [
        {
            "tenant": run.tenant,
            "from": run.source,
            "to": run.target,
            "strategy": run.strategy,
            "state": run.state,
            "steps": [asdict(step) for step in run.steps],
            "switched_at_us": run.switched_at_us,
            "rolled_back": run.rolled_back,
        }
        for run in (migration.run for migration in world.runtime.migrations)
    ]


def lookup(world: World) -> dict[str, str]:
    """By tenant the cluster that the LookupService names."""
    return dict(world.runtime.lookup.tenants)
