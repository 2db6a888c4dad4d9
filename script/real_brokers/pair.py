"""Two real clusters that replicate one topic, with its clients and everything that they reported.

The smoke run and the test on request use it. A run of scenarios has more clusters, proxies and topics
(`script.real_brokers.play`).
"""

from __future__ import annotations

import queue
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from script.real_brokers.cluster import Clients, Cluster, Ports
from script.real_brokers.install import Installation
from script.real_brokers.process import Event
from script.support.system import free_port

NAMES = ("west", "east")
TOPIC = "persistent://lab/pair/orders"
SUBSCRIPTION = "billing"
WAIT_S = 90
"""How long to wait for anything on a busy machine."""

FIRST_MESSAGE_AFTER_NS = 1_500_000_000
"""From the request to the first message, so that a snapshot completes before it."""


class Pair:
    """Two clusters, their clients and `seen`, the events so far in the order in which they were read."""

    def __init__(self, folder: Path, installation: Installation) -> None:
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self.seen: list[Event] = []
        self.clusters = {
            name: Cluster(
                name,
                folder / name,
                Ports(free_port(), free_port(), free_port()),
                installation,
                on_event=self._events.put,
            )
            for name in NAMES
        }
        self.clients = Clients(folder, installation, self._events.put)

    def start(self) -> None:
        """Start everything, create the topic and wait until both replicators are connected."""
        self.clients.start()
        with ThreadPoolExecutor() as threads:
            list(threads.map(lambda cluster: cluster.start(), self.clusters.values()))
        west, east = self.clusters.values()
        west.connect(east)
        east.connect(west)
        for cluster in (west, east):
            cluster.request("namespace.create", name="lab/pair", clusters=list(NAMES))
            cluster.watch([TOPIC])
        for cluster in (west, east):
            cluster.request("topic.create", topic=TOPIC, partitions=0)
        for cluster, peer in ((west, east), (east, west)):
            cluster.request(
                "replicators.wait",
                timeout_s=2 * WAIT_S,
                topic=TOPIC,
                peers=[peer.name],
                timeout_ms=WAIT_S * 1000,
            )
            self.clients.request("client", cluster=cluster.name, url=cluster.service_url)

    def consume(self, consumer: str, cluster: str) -> None:
        """Connect a consumer of the replicated subscription."""
        self.clients.request(
            "consumer",
            timeout_s=WAIT_S,
            name=consumer,
            cluster=cluster,
            topic=TOPIC,
            subscription=SUBSCRIPTION,
            type="shared",
            replicated=True,
            initial="earliest",
        )

    def publish(self, count: int, every_ms: int) -> None:
        """Publish in west at regular instants, after the first snapshot."""
        self.until(
            lambda: any(one["e"] == "controller" and one["cluster"] == "west" for one in self.seen),
            "the snapshot controller in west",
        )
        self.clients.request(
            "producer",
            name="web",
            cluster="west",
            topic=TOPIC,
            start_ns=time.monotonic_ns() + FIRST_MESSAGE_AFTER_NS,
            every_ns=every_ms * 1_000_000,
            count=count,
            size_bytes=100,
        )

    def until(self, reached: Callable[[], bool], what: str) -> None:
        """Collect events until `reached`."""
        end = time.monotonic() + WAIT_S
        while not reached():
            try:
                self.seen.append(self._events.get(timeout=max(end - time.monotonic(), 0.001)))
            except queue.Empty:
                raise TimeoutError(
                    f"waited {WAIT_S} s for {what}, after {len(self.delivered())} deliveries"
                ) from None

    def delivered(self, consumer: str | None = None) -> list[int]:
        """The sequences of all deliveries, or of one consumer's, in order."""
        return [
            one["sequence"]
            for one in self.seen
            if one["e"] == "delivered" and consumer in (None, one["consumer"])
        ]

    def dump(self, cluster: str) -> list[dict[str, Any]]:
        """The entries of the topic in one cluster."""
        entries: list[dict[str, Any]] = self.clusters[cluster].request("dump", topic=TOPIC)["entries"]
        return entries

    def close(self) -> None:
        """End all processes."""
        self.clients.close()
        for cluster in self.clusters.values():
            cluster.close()
