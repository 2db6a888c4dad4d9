"""`failovers[]` of the summary: the counted figures, with the forecast at each failover's instant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.protocols.pulsar.verdicts import failover_summary

if TYPE_CHECKING:
    from simulator.world import World


def failovers(run: World) -> list[dict]:
    """Every failover up to now, in order."""
    forecasts = [failover.window.forecast for failover in run.runtime.failovers]
    return [
        failover_summary(one, forecast)
        for one, forecast in zip(run.counted().failovers, forecasts, strict=True)
    ]
