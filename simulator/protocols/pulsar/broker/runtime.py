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

    def delivered_after_drop(self, subscription: str, cluster: str, topic: str, message: int) -> None:
        """A message is delivered that a client may have dropped before."""
        dropped = self.dropped.get((subscription, cluster))
        if dropped is not None and message in dropped:
            dropped.remove(message)
            if (window := self.window_into(cluster, subscription)) is not None:
                window.cursor_reset(self.clusters[cluster].topics[topic])
