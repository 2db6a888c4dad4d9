"""A publisher: one scenario entry, which represents one MQTT client or several.

It publishes to storage, which keeps messages that match a route.

Rules: message n is from client n modulo `clients` (by default one client for each shard). All messages of a
client go to one shard: client k's is k modulo the shards. With `topics` above 1, message n goes to topic
`TOPIC/k`, k = n modulo `topics`. Arrivals are regular or Poisson.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.kernel.distributions import Sampler, interval_sampler
from simulator.kernel.random import stream_key
from simulator.protocols.emqx.cluster_state import ClusterState
from simulator.trace.registry import NULL

if TYPE_CHECKING:
    from simulator.protocols.emqx.scenario.model import PublisherSpec

PUBLISHER_RANK = 1
RUNNING, PAUSED = "running", "paused"


class Publisher:
    """The state of a publisher.

    `published` is its number of messages, `waiting` the number of its valid calendar entry.
    """

    __slots__ = ("system", "spec", "name", "state", "published", "gaps", "waiting", "index")

    def __init__(self, system: ClusterState, spec: PublisherSpec) -> None:
        self.system, self.spec, self.name = system, spec, spec.name
        self.state = PAUSED if spec.paused else RUNNING
        self.published = 0
        self.waiting = 0
        self.gaps: Sampler | None = None
        if spec.arrivals == "poisson" and spec.every_us is not None:
            key = stream_key(system.seed, f"arrivals/{spec.name}")
            self.gaps = interval_sampler(spec.every_us, key)
        self.index = system.name(spec.name)

    def publish_at_random(self) -> None:
        """Draw the intervals from now on, with the same mean; a planned list of instants stays."""
        if self.spec.every_us is not None and self.gaps is None:
            key = stream_key(self.system.seed, f"arrivals/{self.spec.name}")
            self.gaps = interval_sampler(self.spec.every_us, key)

    def begin(self) -> None:
        """Put the planned messages on the calendar."""
        if self.spec.at_us is not None:
            for at_us in self.spec.at_us:
                self.system.schedule(at_us, PUBLISHER_RANK, self.publish_at)
        elif self.spec.every_us is not None:
            self.system.schedule(self.spec.start_us, PUBLISHER_RANK, self.publish_next, self.waiting)

    def publish_at(self, _argument: None = None) -> None:
        """Publish at a planned instant."""
        if self.state == RUNNING:
            self.publish(NULL)

    def publish_next(self, waiting: int) -> None:
        """Publish the next message and schedule the one after it."""
        if waiting != self.waiting or self.state != RUNNING or self._over():
            return
        self.publish(NULL)
        every_us = self.spec.every_us
        if every_us is not None and not self._over():
            gap_us = every_us if self.gaps is None else max(1, self.gaps.at(self.published))
            self.system.schedule(self.system.now_us + gap_us, PUBLISHER_RANK, self.publish_next, waiting)

    def _over(self) -> bool:
        spec = self.spec
        return (spec.count is not None and self.published >= spec.count) or (
            spec.stop_us is not None and self.system.now_us >= spec.stop_us
        )

    def pause(self) -> None:
        self.state = PAUSED

    def resume(self) -> None:
        """Continue to publish from now on."""
        self.state = RUNNING
        self.waiting += 1
        if self.spec.every_us is not None:
            self.system.schedule(
                max(self.system.now_us, self.spec.start_us),
                PUBLISHER_RANK,
                self.publish_next,
                self.waiting,
            )

    def publish(self, cause: int) -> None:
        """Publish one message."""
        system, spec, number = self.system, self.spec, self.published
        self.published += 1
        topic = spec.topic if spec.topics == 1 else f"{spec.topic}/{number % spec.topics}"
        client = number % (spec.clients or system.storage.shards)
        seq = system.rows.message_published(
            cause,
            cluster=NULL,
            topic=system.name(topic),
            producer=self.index,
            sequence_id=number,
            key=client,
            size_bytes=spec.size_bytes,
        )
        system.keep(client % system.storage.shards, topic, self.index, number, spec.qos, spec.size_bytes, seq)
