"""Moving a subscription's consumers from one cluster to another, in one of four modes.

*crash*: the clients are killed, with the loss of acks not sent, and new ones start at the target at once.
*planned*: they finish the application's messages, close cleanly and start at the target. *drained*: planned,
after the target has caught up or a time limit. *auto*: probes decide when to move and when to move back, as
in Pulsar's two failover providers (`automatic`). A consumer that runs then stays the same instance: its
client changes the service URL and closes all connections (`PulsarClientImpl.updateServiceUrl`), and the
consumer connects to the target when it retries, with its last cumulative ack. One that died with its region
starts anew. The window of a failover opens with its `failover.started` row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.protocols.pulsar.client.consumer import ALIVE, PAUSED, RUNNING
from simulator.protocols.pulsar.client.producer import KILLED as PRODUCER_KILLED
from simulator.protocols.pulsar.client.producer import PAUSED as PRODUCER_PAUSED
from simulator.protocols.pulsar.client.producer import RUNNING as PRODUCER_RUNNING
from simulator.protocols.pulsar.client.producer import STOPPED as PRODUCER_STOPPED
from simulator.protocols.pulsar.failover import course, forecasting
from simulator.protocols.pulsar.failover.course import (
    DRAINED,
    PLANNED,
    Course,
    Effect,
)
from simulator.protocols.pulsar.failover.window import FailoverWindow
from simulator.protocols.pulsar.ranks import FAILOVER, rank
from simulator.trace.registry import NULL

if TYPE_CHECKING:
    from simulator.protocols.pulsar.client.consumer import Consumer
    from simulator.protocols.pulsar.client.producer import Producer
    from simulator.protocols.pulsar.pulsar import Pulsar


class Failover:
    """One failover of one subscription."""

    def __init__(self, runtime: Pulsar, arguments: dict, mode: str) -> None:
        self.runtime = runtime
        self.subscription = arguments["subscription"]
        self.source, self.target = arguments["from"], arguments["to"]
        self.moves_producers = arguments["producers"]
        self.course = Course(mode, arguments["stop-producers"], arguments["limit_us"])
        self.at_us = runtime.now_us
        self.seq = NULL
        self.window: FailoverWindow  # opened when it begins
        self.stopped: list[str] = []
        self.rank = rank(FAILOVER, sorted(runtime.subscriptions).index(self.subscription))

    def begin(self, cause: int) -> None:
        """Open the window and run the mode."""
        runtime = self.runtime
        self.window = FailoverWindow(runtime, self.subscription, self.source, self.target)
        self.seq = runtime.note(
            "failover.started", cause, self.source, self.target, self.subscription, self.mode
        )
        runtime.failovers.append(self)
        runtime.windows[self.subscription] = self.window
        self._perform(self.course.begin(runtime.now_us), self.seq)

    def _perform(self, effects: list[Effect], cause: int) -> None:
        for effect in effects:
            match effect:
                case course.Kill():
                    self._kill_all()
                case course.Redirect():
                    self._redirect_all()
                case course.StopProducers():
                    self._stop_producers()
                case course.Look(at_us):
                    self._look_at(at_us)
                case course.Close():
                    self._close_all()
                case course.Move():
                    self._move(cause)

    @property
    def mode(self) -> str:
        """CRASH, PLANNED, DRAINED or AUTO."""
        return self.course.mode

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

    def _kill_all(self) -> None:
        for consumer in self._consumers():
            consumer.on_closed = None  # replaces an earlier failover that waits for it
            consumer.kill(self.seq)

    def _redirect_all(self) -> None:
        for consumer in self._consumers():
            if consumer.state in (RUNNING, PAUSED):
                consumer.change_cluster(self.target, self.seq)
            else:
                consumer.on_closed = None  # replaces an earlier failover that waits for it
                consumer.kill(self.seq)

    def _stop_producers(self) -> None:
        for producer in self._producers():
            if producer.state == PRODUCER_RUNNING:
                self.stopped.append(producer.name)
                producer.set_state(PRODUCER_STOPPED, self.seq)

    def _look_at(self, at_us: int) -> None:
        if at_us > self.runtime.now_us:
            self.runtime.schedule(at_us, self.rank, self.look)
        else:
            self.look(None)

    def look(self, _argument: None) -> None:
        """Drained mode: check whether the target covers everything acknowledged."""
        runtime = self.runtime
        forecast = forecasting.forecast(runtime, self.subscription, self.source)
        duplicates = forecast.get(self.target, {}).get("duplicates", 0)
        self._perform(self.course.looked(duplicates, runtime.now_us), self.seq)

    def _close_all(self) -> None:
        # also those in backoff
        consumers = [
            consumer for consumer in self._consumers() if consumer.sessions or consumer.state in ALIVE
        ]
        moves = self.course.closing(consumer.name for consumer in consumers)
        for consumer in consumers:
            consumer.close_when_done(self.consumer_closed)
        self._perform(moves, self.seq)

    def consumer_closed(self, consumer: Consumer) -> None:
        """One of the waited-for consumers has closed."""
        self._perform(self.course.closed(consumer.name), consumer.last_seq)

    def _move(self, cause: int) -> None:
        """Start the consumers, and the producers if requested, at the target."""
        for consumer in self._consumers():
            consumer.cluster_name = self.target
            consumer.last_seq = max(consumer.last_seq, cause)
            consumer.start()
        for producer in self._producers():
            self._move_producer(producer, cause)
        self.runtime.note("failover.finished", cause, self.source, self.target, self.subscription)
        self.window.recount()

    def _move_producer(self, producer: Producer, cause: int) -> None:
        """Move a producer: a clean move sends its open batch, the others lose it.

        A client that an operator paused or stopped keeps its state.
        """
        before, stopped_by_us = producer.state, producer.name in self.stopped
        if self.moves_producers:
            producer.set_state(
                PRODUCER_STOPPED if self.mode in (PLANNED, DRAINED) else PRODUCER_KILLED, cause
            )
            producer.cluster_name = self.target
        if before in (PRODUCER_STOPPED, PRODUCER_PAUSED) and not stopped_by_us:
            if self.moves_producers:
                producer.set_state(before, cause)
        elif self.moves_producers or stopped_by_us:
            producer.set_state(PRODUCER_RUNNING, cause)
