"""One run on the brokers: topics, clients, instant 0, and everything that happened.

Rules: instant 0 is a tick of the snapshot controller before any message: its start and a whole number of
periods, so the later ticks have the same phase as in the engine. All clients that start at 0 are connected
before it. `events` has what the processes sent and what the driver did, with the driver's requests.
"""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Any

from script.real_brokers.plan import (
    US_NS,
    RunPlan,
    consumer_request,
    has_plan,
    period_us,
    producer_request,
)
from script.real_brokers.process import Event, ProcessError
from script.real_brokers.rig import Rig, Stopping
from simulator.kernel.random import draw, stream_key

RUNNING, DOWN, KILLED, STOPPED = "running", "down", "killed", "stopped"
"""States of a client: DOWN died with its cluster and returns with it."""

WAIT_S = 60
REPLICATORS_MS = 60_000
DISCONNECT_POLL_NS = 5_000_000
MARGIN_NS = 300_000_000
"""Instant 0 is at least this much later than the last client's connect."""


class RunError(RuntimeError):
    """A run that could not be played, and why."""


class Client:
    """A producer or consumer: where it is, and its state."""

    def __init__(self, name: str, cluster: str) -> None:
        self.name, self.cluster, self.state = name, cluster, STOPPED
        self.start_us = 0  # a producer's first instant
        self.ending: Future[Event] | None = None


class Run:
    """One run; `effects_us` are the instants at which its commands took effect, by their numbers."""

    def __init__(self, plan: RunPlan, rig: Rig) -> None:
        self.plan, self.rig = plan, rig
        scenario = plan.scenario
        self.producers = {name: Client(name, spec.cluster or "") for name, spec in scenario.producers.items()}
        self.consumers = {name: Client(name, spec.cluster or "") for name, spec in scenario.consumers.items()}
        self.events: list[Event] = []
        self.dumps: list[Event] = []
        self.effects_us: dict[int, int] = {}
        self.zero_ns = 0
        self.until_ns = 0
        self.controller_ns: int | None = None
        self._controller = threading.Event()
        rig.register(plan.label, self.receive)

    # --- events

    def receive(self, event: Event) -> None:
        """Keep an event of this run."""
        self.events.append(event)
        if event.get("e") == "controller" and event.get("state") == "started" and self.controller_ns is None:
            self.controller_ns = event["t"]
            self._controller.set()

    def note(self, kind: str, at_ns: int, **fields: Any) -> None:
        """Keep what the driver did."""
        self.events.append({"e": kind, "t": at_ns, "source": "driver", **fields})

    def at_ns(self, at_us: int) -> int:
        """The machine's instant of an instant of the scenario."""
        return self.zero_ns + at_us * US_NS

    # --- before instant 0

    def create_topics(self) -> None:
        """Create the topics in all their clusters, and wait until their replicators are connected."""
        rig, scenario = self.rig, self.plan.scenario
        waiting: list[Future[Event]] = []
        for name, topic in scenario.topics.items():
            real = self.plan.topic(name)
            for cluster in topic.clusters:
                made = {"topic": real, "partitions": topic.partitions}
                waiting.append(rig.clusters[cluster].begin("topic.create", **made))
        self._all(waiting)
        waiting = []
        for name, topic in scenario.topics.items():
            for cluster in topic.clusters:
                peers = [peer for peer in topic.clusters if peer != cluster]
                fields = {"topic": self.plan.topic(name), "peers": peers, "timeout_ms": REPLICATORS_MS}
                waiting.append(rig.clusters[cluster].begin("replicators.wait", **fields))
        self._all(waiting, WAIT_S + REPLICATORS_MS / 1000)

    def connect(self) -> None:
        """Connect the producers and the consumers that start at 0, and wait for a snapshot controller."""
        for client in self.producers.values():
            if has_plan(self.plan.scenario.producers[client.name]):
                self.connect_producer(client, client.cluster)
        self._wait_for_phase()
        for client in self.consumers.values():
            if self.plan.scenario.consumers[client.name].start_us == 0:
                self.start_consumer(client, client.cluster)
        self._wait_for_controller()

    def topics_of(self, cluster: str) -> list[str]:
        """The real names of the topics and partitions in a cluster."""
        names = []
        for name, topic in self.plan.scenario.topics.items():
            if cluster not in topic.clusters:
                continue
            real = self.plan.topic(name)
            names += [f"{real}-partition-{number}" for number in range(topic.partitions)] or [real]
        return names

    def _wait_for_phase(self) -> None:
        """Wait for this run's own phase of the period, so that the ticks of all runs are spread over it."""
        period_ns = period_us(self.plan.scenario) * US_NS
        key = stream_key(self.plan.scenario.seed, "real-brokers/phase")
        wanted_ns, now_ns = draw(key, 0) % period_ns, time.monotonic_ns()
        self.rig.sleep_until(now_ns + (wanted_ns - now_ns) % period_ns)

    def _wait_for_controller(self) -> None:
        """Wait for the start of a snapshot controller, where a replicated subscription has a consumer."""
        scenario = self.plan.scenario
        expected = any(
            client.state == RUNNING
            and scenario.subscriptions[
                scenario.consumers[client.name].subscription
            ].replicate_subscription_state
            for client in self.consumers.values()
        )
        if expected and not self._controller.wait(WAIT_S):
            raise RunError(
                f"{self.plan.label}: no snapshot controller started within {WAIT_S} s after the consumers of "
                "a replicated subscription had connected; see the logs of the clusters"
            )

    def choose_zero(self, not_before_ns: int) -> None:
        """Choose instant 0: the first tick of the controller from this instant on."""
        self.zero_ns = not_before_ns
        if self.controller_ns is not None:
            period_ns = period_us(self.plan.scenario) * US_NS
            periods = max(1, -((self.controller_ns - not_before_ns) // period_ns))
            self.zero_ns = self.controller_ns + periods * period_ns
        self.until_ns = self.at_ns(self.plan.scenario.until_us)

    def begin_producers(self) -> None:
        """Give the producers their instants."""
        for client in self.producers.values():
            if client.state == RUNNING:
                self._start_producer(client)

    def _start_producer(self, client: Client) -> None:
        name, start_ns = self.plan.client(client.name), self.at_ns(client.start_us)
        self.rig.clients.request("producer.start", name=name, start_ns=start_ns)

    # --- clients

    def connect_producer(
        self, client: Client, cluster: str, first_sequence: int = 0, from_us: int = 0
    ) -> None:
        """Connect a producer, which does not publish yet."""
        spec = self.plan.scenario.producers[client.name]
        fields, client.start_us = producer_request(self.plan, spec, cluster, first_sequence, from_us)
        self._place("producer", client, cluster, fields)

    def continue_producer(self, client: Client, cluster: str) -> None:
        """Connect a producer again, which continues with the message after its last one."""
        name = self.plan.client(client.name)
        published = [
            event["sequence"]
            for event in list(self.events)
            if event.get("e") == "published" and event.get("producer") == name
        ]
        self._wait_until_disconnected(name)
        from_us = max(1, (time.monotonic_ns() - self.zero_ns) // US_NS)
        self.connect_producer(client, cluster, max(published, default=-1) + 1, from_us)
        self._start_producer(client)

    def _wait_until_disconnected(self, name: str) -> None:
        """Wait for the end of a producer that was stopped: a broker takes no second one of its name."""
        end_ns = time.monotonic_ns() + WAIT_S * 1_000_000_000
        while time.monotonic_ns() < end_ns:
            for event in reversed(list(self.events)):
                if event.get("producer") == name and event["e"] in ("connected", "disconnected"):
                    if event["e"] == "disconnected":
                        return
                    break
            self.rig.sleep_until(time.monotonic_ns() + DISCONNECT_POLL_NS)

    def start_consumer(self, client: Client, cluster: str) -> None:
        """Subscribe a consumer in a cluster."""
        fields = consumer_request(self.plan, self.plan.scenario.consumers[client.name], cluster)
        self._place("consumer", client, cluster, fields)

    def _place(self, do: str, client: Client, cluster: str, fields: dict[str, Any]) -> None:
        if client.ending is not None:
            client.ending.result(WAIT_S)  # its name can be used again then
            client.ending = None
        client.cluster, client.state = cluster, RUNNING
        shown = {key: fields[key] for key in ("name", "topic", "subscription") if key in fields}
        self.note("request", time.monotonic_ns(), do=do, cluster=cluster, **shown)
        self.rig.clients.request(do, timeout_s=WAIT_S, **fields)

    def end_client(self, client: Client, do: str, state: str) -> Future[Event]:
        """Begin to close or kill a client; `do` is close, kill or stop."""
        kind = "consumer" if client.name in self.consumers else "producer"
        client.state = state
        self.note("client", time.monotonic_ns(), name=self.plan.client(client.name), state=state)
        client.ending = self.rig.clients.begin(f"{kind}.{do}", name=self.plan.client(client.name))
        return client.ending

    def clients_in(self, cluster: str) -> list[Client]:
        """All clients that run in a cluster."""
        every = [*self.producers.values(), *self.consumers.values()]
        return [client for client in every if client.cluster == cluster and client.state == RUNNING]

    # --- after the end

    def finish(self) -> None:
        """End the clients and read the logs."""
        for client in [*self.consumers.values(), *self.producers.values()]:
            if client.state == RUNNING:
                self._quietly(self.end_client(client, "kill", KILLED))
        for name, cluster in self.rig.clusters.items():
            for topic in self.topics_of(name):
                answer = cluster.request("dump", timeout_s=WAIT_S, topic=topic)
                # a topic that is still watched by its peers gets markers after the end
                entries = [entry for entry in answer["entries"] if entry["stored_ns"] <= self.until_ns]
                self.dumps.append({"e": "dump", "cluster": name, "topic": topic, "entries": entries})

    def _quietly(self, future: Future[Event]) -> None:
        """Wait for an answer whose failure changes nothing: the run is over."""
        try:
            future.result(WAIT_S)
        except (ProcessError, FutureTimeoutError) as error:
            self.note("unanswered", time.monotonic_ns(), error=str(error))

    def _all(self, futures: list[Future[Event]], timeout_s: float = WAIT_S) -> None:
        end_s = time.monotonic() + timeout_s
        for future in futures:
            if self.rig.stopping.is_set():
                raise Stopping
            future.result(max(0.1, end_s - time.monotonic()))
