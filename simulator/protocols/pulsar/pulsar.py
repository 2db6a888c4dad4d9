"""The runtime with the types of the parts that `system.build` adds.

Rules: the brokers' parts use `runtime.Runtime`, which imports none of them. Clients use `BrokerRuntime`. All
layers above both (commands, failover, migration, views, the admin API) use `Pulsar`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.protocols.pulsar.broker.runtime import BrokerRuntime

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broadcast.fan_out import FanOut
    from simulator.protocols.pulsar.client.consumer import Consumer
    from simulator.protocols.pulsar.client.producer import Producer
    from simulator.protocols.pulsar.migration.blue_green import BlueGreen


class Pulsar(BrokerRuntime):
    """The simulated Pulsar: its clusters, clients and services by name."""

    __slots__ = ()

    producers: dict[str, Producer]
    consumers: dict[str, Consumer]
    fan_out: FanOut
    blue_green: BlueGreen
