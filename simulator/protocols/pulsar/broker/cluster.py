"""The type of a cluster with its topics."""

from __future__ import annotations

from simulator.protocols.pulsar.broker.base_cluster import BaseCluster
from simulator.protocols.pulsar.broker.topic import Topic

Cluster = BaseCluster[Topic]
"""One region of the simulated Pulsar."""
