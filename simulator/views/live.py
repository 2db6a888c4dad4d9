"""The live state as one JSON-able value, for the page (docs/front-door.md): what every protocol has, and
the protocol's own part.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simulator.world import World


def view(world: World, judged_us: int | None = None) -> dict[str, Any]:
    """Everything that the diagram shows at this instant; broken claims only up to `judged_us` where that
    is given.
    """
    runtime = world.runtime
    violations = world.violations if judged_us is None else world.violations_until(judged_us)
    return {
        "at_us": runtime.now_us,
        "seq": runtime.seq,
        "branch": world.branch,
        "furthest_us": world.furthest_us,
        "limit_reached": world.limit_reached,
        "violations": [asdict(violation) for violation in violations],
        **world.protocol.view(world),
    }
