"""The runtime with the types of its clusters, for clients, lookup and audiences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.protocols.pulsar.runtime import Runtime

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.cluster import Cluster


class BrokerRuntime(Runtime):
    """The simulated system as clients use it: clusters with topics, beside clock and trace."""

    __slots__ = ()

    clusters: dict[str, Cluster]
