"""Sections of the summary that belong to durable shared subscriptions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simulator.world import World


def groups(run: World) -> dict[str, Any]:
    """The counted results of each group."""
    return {name: counted.summary() for name, counted in sorted(run.counted().groups.items())}
