"""The summary's section `groups`: durable shared subscriptions, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simulator.world import World


def groups(world: World) -> dict[str, Any]:
    """What was counted of each group."""
    return {name: counted.summary() for name, counted in sorted(world.counted().groups.items())}
