"""The forecast of a failover, for the clusters that consumers could move to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.protocols.pulsar.failover import forecasting

if TYPE_CHECKING:
    from simulator.protocols.pulsar.pulsar import Pulsar
    from simulator.protocols.pulsar.scenario.model import PulsarScenario


def movable(scenario: PulsarScenario) -> list[str]:
    """Subscriptions, replicated or not, that could go to another cluster, sorted."""
    return [
        name
        for name, spec in sorted(scenario.subscriptions.items())
        if len(scenario.topics[spec.topic].clusters) > 1
    ]


def to_targets(runtime: Pulsar, subscription: str, source: str | None) -> dict[str, dict[str, int]]:
    """By remote cluster the forecast of a failure of `source` now.

    Clusters that are down, or that the topic was migrated away from, are left out.
    """
    found = forecasting.forecast(runtime, subscription, source)
    return {
        remote: figures
        for remote, figures in found.items()
        if forecasting.is_target(runtime, subscription, remote)
    }
