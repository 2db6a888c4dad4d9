"""`audiences` of the summary: delivery latency, time to connect, and traffic of their brokers.

Rules: latencies and bytes are from the rows, connections and cursors from the state. Latency is from
publishing to delivery, of every message that any member received. Percentiles are by nearest rank.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from simulator.protocols.pulsar.summary_sections.brokers import distribution, published_instants, rows_of

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broadcast.audience import Audience
    from simulator.world import World


def audiences(run: World) -> dict[str, Any]:
    """By audience, with the sums of its partitions."""
    by_name: dict[str, list[Audience]] = {}
    for audience in run.runtime.fan_out.audiences:
        by_name.setdefault(audience.name, []).append(audience)
    if not by_name:
        return {}
    published_us = published_instants(run.trace, run.seq)
    who, when_us, message = rows_of(run.trace, run.seq, "message.delivered", ("subscription",))
    result = {}
    for name, parts in sorted(by_name.items()):
        chosen = who["subscription"] == parts[0].number
        result[name] = {
            **audience_figures(parts),
            "latency": distribution(when_us[chosen] - published_us.of(message[chosen])),
        }
    return result


def audience_figures(parts: list[Audience]) -> dict[str, Any]:
    """Figures of one audience from the state.

    `connect_us` is from the request to the last member's connection, null until then.
    """
    took = [part.connected_all_us for part in parts if part.connected_all_us is not None]
    return {
        "topic": parts[0].spec.topic,
        "cluster": parts[0].spec.cluster,
        "brokers": sorted(
            dict.fromkeys(part.topic.broker.name for part in parts if part.topic.broker is not None)
        ),
        "subscriptions": parts[0].size,
        "connected": min(part.connected for part in parts),
        "connect_us": max(took) if len(took) == len(parts) else None,
        "delivered": sum(part.delivered for part in parts),
        "repeated": sum(part.repeated for part in parts),
        "backlog": sum(part.backlog() for part in parts),
        "lost_to_retention": sum(part.lost_to_retention for part in parts),
    }


POINTS_MAX = 240
"""Places of the fan-out for a page: about one for every three pixels of its chart."""


def latency_by_place(audience: Audience) -> list[list[int]]:
    """Latency of the last delivery by place in the fan-out, as [place, latency in us].

    The places are of evenly spaced members with a delivery.
    """
    members = np.unique(np.linspace(0, audience.size - 1, min(POINTS_MAX, audience.size)).astype(np.int64))
    return [
        [int(member), int(audience.latencies_us[member])]
        for member in members
        if audience.latencies_us[member] >= 0
    ]
