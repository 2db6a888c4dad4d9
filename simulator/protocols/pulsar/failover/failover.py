"""Moving a subscription's consumers from one cluster to another, in one of four modes.

*crash*: the clients die with what they had not sent, and new ones start at the target at once. *planned*:
they finish what the application holds, close cleanly and start at the target. *drained*: planned, after the
target has caught up or a limit. *auto*: Pulsar's AutoClusterFailover (PIP-121): probes decide when to move
and when to go back. The window of a failover opens with its `failover.started` row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.protocols.pulsar.client.consumer import ALIVE
from simulator.protocols.pulsar.client.producer import KILLED as PRODUCER_KILLED
from simulator.protocols.pulsar.client.producer import PAUSED as PRODUCER_PAUSED
from simulator.protocols.pulsar.client.producer import RUNNING as PRODUCER_RUNNING
from simulator.protocols.pulsar.client.producer import STOPPED as PRODUCER_STOPPED
from simulator.protocols.pulsar.failover import forecasting
from simulator.protocols.pulsar.failover.window import FailoverWindow
from simulator.protocols.pulsar.ranks import FAILOVER, rank
from simulator.trace.registry import NULL

if TYPE_CHECKING:
    from simulator.protocols.pulsar.client.consumer import Consumer
    from simulator.protocols.pulsar.client.producer import Producer
    from simulator.protocols.pulsar.runtime import Runtime

DRAIN_POLL_US = 100_000
"""How often a drained failover looks whether the target has caught up."""


class Failover:
    """One failover of one subscription."""

    def __init__(self, runtime: Runtime, arguments: dict, mode: str) -> None:
        self.runtime = runtime
        self.subscription = arguments["subscription"]
        self.source, self.target = arguments["from"], arguments["to"]
        self.mode = mode
        self.moves_producers = arguments["producers"]
        self.limit_us = arguments["limit_us"]
        self.stops_producers = arguments["stop-producers"]
        self.at_us = runtime.now_us
        self.seq = NULL
        self.window: FailoverWindow | None = None
        self.waiting: list[str] = []
        self.stopped: list[str] = []
        self.rank = rank(FAILOVER, sorted(runtime.subscriptions).index(self.subscription))
        self.deadline_us = 0

    def begin(self, cause: int) -> None:
        """Open the window and run the mode."""
        runtime = self.runtime
        self.window = FailoverWindow(runtime, self.subscription, self.source, self.target)
        self.seq = runtime.note(
            "failover.started", cause, self.source, self.target, self.subscription, self.mode
        )
        runtime.failovers.append(self)
        runtime.windows[self.subscription] = self.window
        if self.mode in ("crash", "auto"):
            for consumer in self._consumers():
                consumer.on_closed = None  # an earlier failover that waits for it is overtaken
                consumer.kill(self.seq)
            self._move(self.seq)
        elif self.mode == "planned":
            self._close_all()
        else:
            if self.stops_producers:
                self._stop_producers()
            self.deadline_us = runtime.now_us + self.limit_us
            self.poll(None)

    def _consumers(self) -> list[Consumer]:
        consumers = self.runtime.consumers
        return [
            consumers[name]
            for name in sorted(consumers)
            if consumers[name].spec.subscription == self.subscription
            and consumers[name].spec.cluster is not None
            and consumers[name].cluster_name == self.source
        ]

    def _producers(self) -> list:
        topic = self.runtime.subscriptions[self.subscription].topic
        producers = self.runtime.producers
        return [
            producers[name]
            for name in sorted(producers)
            if producers[name].spec.topic == topic
            and producers[name].spec.cluster is not None
            and producers[name].cluster_name == self.source
        ]

    def _stop_producers(self) -> None:
        for producer in self._producers():
            if producer.state == PRODUCER_RUNNING:
                self.stopped.append(producer.name)
                producer.set_state(PRODUCER_STOPPED, self.seq)

    def poll(self, _argument: None) -> None:
        """Drained: go on when everything acknowledged is covered at the target, or when the limit has
        passed.
        """
        runtime = self.runtime
        left = (
            forecasting.forecast(runtime, self.subscription, self.source)
            .get(self.target, {})
            .get("duplicates", 0)
        )
        if left and runtime.now_us < self.deadline_us:
            runtime.schedule(min(runtime.now_us + DRAIN_POLL_US, self.deadline_us), self.rank, self.poll)
        else:
            self._close_all()

    def _close_all(self) -> None:
        # also those that wait to reconnect
        consumers = [
            consumer for consumer in self._consumers() if consumer.sessions or consumer.state in ALIVE
        ]
        self.waiting = [consumer.name for consumer in consumers]
        for consumer in consumers:
            consumer.close_when_done(self)
        if not consumers:
            self._move(self.seq)

    def consumer_closed(self, consumer: Consumer) -> None:
        """One of the waited-for consumers has closed."""
        self.waiting.remove(consumer.name)
        if not self.waiting:
            self._move(consumer.last_seq)

    def _move(self, cause: int) -> None:
        """Start the consumers, and the producers if requested, at the target."""
        for consumer in self._consumers():
            consumer.cluster_name = self.target
            consumer.last_seq = max(consumer.last_seq, cause)
            consumer.start()
        for producer in self._producers():
            self._move_producer(producer, cause)
        self.runtime.note("failover.finished", cause, self.source, self.target, self.subscription)
        self.window.look_again()

    def _move_producer(self, producer: Producer, cause: int) -> None:
        """An orderly move sends what waits in a batch; the others lose it.

        A client that an operator paused or stopped stays so.
        """
        before, stopped_by_us = producer.state, producer.name in self.stopped
        if self.moves_producers:
            producer.set_state(
                PRODUCER_STOPPED if self.mode in ("planned", "drained") else PRODUCER_KILLED, cause
            )
            producer.cluster_name = self.target
        if before in (PRODUCER_STOPPED, PRODUCER_PAUSED) and not stopped_by_us:
            if self.moves_producers:
                producer.set_state(before, cause)
        elif self.moves_producers or stopped_by_us:
            producer.set_state(PRODUCER_RUNNING, cause)


class AutomaticFailover:
    """AutoClusterFailover: one probe each `probeInterval`; moves after `failoverDelay` of failure of the
    service in use, whichever that is, and back to the primary after `switchBackDelay` of its health.
    """

    def __init__(self, runtime: Runtime, arguments: dict) -> None:
        self.runtime = runtime
        self.arguments = arguments
        self.primary, self.secondary = arguments["from"], arguments["to"]
        self.rank = rank(FAILOVER, sorted(runtime.subscriptions).index(arguments["subscription"]), 1)
        # since when the service in use does not answer (there: failedTimestamp)
        self.failed_us: int | None = None
        self.healthy_us: int | None = None  # since when the primary answers again (there: recoverTimestamp)
        self.away = False
        self._schedule()

    def _schedule(self) -> None:
        self.runtime.schedule(self.runtime.now_us + self.arguments["probeInterval_us"], self.rank, self.probe)

    def probe(self, _argument: None) -> None:
        """Probe whether the service in use answers; away from the primary, then whether that does."""
        if not self.away:
            self._leave_if_down(self.primary, self.secondary)
        else:
            self._leave_if_down(self.secondary, self.primary)
            if self.away and self.arguments["switchBack"]:
                self._go_back_if_healthy()
        self._schedule()

    def _leave_if_down(self, current: str, other: str) -> None:
        now_us = self.runtime.now_us
        if self._up(current):
            self.failed_us = None
        elif self.failed_us is None:
            self.failed_us = now_us
        elif now_us - self.failed_us >= self.arguments["failoverDelay_us"] and self._up(other):
            self.failed_us = None
            self._switch(current, other)

    def _go_back_if_healthy(self) -> None:
        now_us = self.runtime.now_us
        if not self._up(self.primary):
            self.healthy_us = None
        elif self.healthy_us is None:
            self.healthy_us = now_us
        elif now_us - self.healthy_us >= self.arguments["switchBackDelay_us"]:
            self.healthy_us = None
            self._switch(self.secondary, self.primary)

    def _up(self, cluster: str) -> bool:
        return self.runtime.clusters[cluster].up

    def _switch(self, source: str, target: str) -> None:
        self.away = not self.away
        Failover(self.runtime, {**self.arguments, "from": source, "to": target}, "auto").begin(NULL)
