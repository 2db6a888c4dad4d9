"""The live state as one JSON-able value, for the page (docs/front-door.md): what every protocol has, and the protocol's own part."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simulator.world import World


def view(world: World) -> dict[str, Any]:
    """Everything that the diagram shows at this instant."""
    runtime = world.runtime
    return {
        "at_us": runtime.now_us,
        "seq": runtime.seq,
        "branch": world.branch,
        "furthest_us": world.furthest_us,
        "limit_reached": world.limit_reached,
        "violations": [asdict(violation) for violation in world.violations],
        **world.protocol.view(world),
    }
