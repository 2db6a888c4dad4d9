"""The runtime with the types of what `system.build` puts into it.

Rules: what brokers and clients are made of knows `runtime.Runtime`, which lies below them; what is above them
(commands, failover, migration, views, answers of the admin API) knows `Pulsar`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.protocols.pulsar.runtime import Runtime

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broadcast.fan_out import FanOut
    from simulator.protocols.pulsar.broker.cluster import Cluster
    from simulator.protocols.pulsar.client.consumer import Consumer
    from simulator.protocols.pulsar.client.producer import Producer
    from simulator.protocols.pulsar.migration.blue_green import BlueGreen


class Pulsar(Runtime):
    """The simulated Pulsar: its clusters, clients and services by name."""

    __slots__ = ()

    clusters: dict[str, Cluster]
    producers: dict[str, Producer]
    consumers: dict[str, Consumer]
    fan_out: FanOut
    blue_green: BlueGreen
