"""One run on the brokers: topics, clients, instant 0, and everything that happened.

Rules: instant 0 is a tick of the snapshot controller before any message: its start and a whole number of
periods, so the later ticks have the same phase as in the engine. All clients that start at 0 are connected
before it. `events` has what the processes sent and what the driver did, with the driver's requests.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from functools import partial
from typing import Any

from script.real_brokers.plan import (
    US_NS,
    RunPlan,
    commands_in_order,
    consumer_request,
    has_plan,
    period_us,
    processing_us,
    producer_request,
)
from script.real_brokers.rig import HOST, Event, ProcessError, Rig, Stopping
from simulator.kernel.random import draw, stream_key
from simulator.protocols.pulsar.failover.failover import (
    AUTO,
    CRASH,
    DRAIN_POLL_US,
    DRAINED,
    PRIMARY,
    SECONDARY,
    Probe,
    Probing,
    SwitchTo,
)
from simulator.scenarios.model import CommandSpec, Distribution
from simulator.scenarios.names import parse_link

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


# --- the commands of one run: each is performed on brokers and clients, and its instant is kept
#
# Rules: the effect of a command is the instant just before the first request that performs it. Commands
# about clusters and links are not here, because they concern all runs (`faults.py`). A command that the
# clients or brokers refuse is kept with its error, and the run continues.


class Faults:
    """The shared commands of a batch; `late_ns` is what restarts have taken so far.

    Rules: each is performed once, at the same instant for all runs, and every run keeps that instant as its
    own. A restart takes effect when the broker is ready. Commands after it keep their distance to it, so they
    are later by the time that the restart took, and so is the end of the runs.
    """

    def __init__(self, runs: Sequence[Run]) -> None:
        self.runs, self.rig = runs, runs[0].rig
        self.late_ns = 0
        self.error: BaseException | None = None
        shared = runs[0].plan.shared
        self.done = {number: threading.Event() for number in shared}
        self._thread = threading.Thread(target=self._guarded, daemon=True)

    def start(self) -> None:
        """Begin to perform the commands at their instants."""
        self._thread.start()

    def wait_for(self, number: int) -> None:
        """Wait until a shared command has taken effect."""
        while not self.done[number].wait(0.5):
            if self.error is not None or self.rig.stopping.is_set():
                raise Stopping

    def join(self) -> None:
        """Wait for the last command; raises its error."""
        self._thread.join()
        if self.error is not None:
            raise self.error

    def _guarded(self) -> None:
        try:
            for number, spec in commands_in_order(self.runs[0].plan):
                if number in self.done:
                    self.rig.sleep_until(self.runs[0].at_ns(spec.at_us) + self.late_ns)
                    self._perform(number, spec)
                    self.done[number].set()
        except BaseException as error:  # handed to the thread that joins
            self.error = error

    def _perform(self, number: int, spec: CommandSpec) -> None:
        planned_ns = self.runs[0].at_ns(spec.at_us) + self.late_ns
        at_ns = time.monotonic_ns()
        if spec.do == "cluster.crash":
            at_ns = self._crash(spec.arguments["cluster"], spec.arguments["clients"])
        elif spec.do == "cluster.restart":
            at_ns = self._restart(spec.arguments["cluster"])
            self.late_ns += at_ns - planned_ns
        else:
            fields = {"latency_us": spec.arguments["latency_us"]} if spec.do == "link.slow" else {}
            self.rig.link(spec.do.removeprefix("link."), parse_link(spec.arguments["link"]), **fields)
        for run in self.runs:
            run.effects_us[number] = max(0, (at_ns - run.zero_ns) // US_NS)
            run.note("command", at_ns, do=spec.do, arguments=spec.arguments, ok=True)

    def _crash(self, name: str, clients: bool) -> int:
        """Kill the cluster, and with it the clients of its region; returns the instant."""
        for run in self.runs:
            for client in run.clients_in(name) if clients else []:
                run.end_client(client, "kill", DOWN)
        return self.rig.crash(name)

    def _restart(self, name: str) -> int:
        """Restart the cluster and the clients that died with it; returns when it was ready."""
        at_ns = self.rig.restart(name)
        for run in self.runs:
            for client in run.consumers.values():
                if client.cluster == name and client.state == DOWN:
                    run.start_consumer(client, name)
            for client in run.producers.values():
                if client.cluster == name and client.state == DOWN:
                    run.continue_producer(client, name)
        return at_ns


Arguments = dict[str, Any]


class Effects:
    """Performs the commands of one run."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._threads: list[threading.Thread] = []

    def perform(self, number: int, spec: CommandSpec) -> None:
        """Perform a command now, and keep its instant and result."""
        run, at_ns = self.run, time.monotonic_ns()
        if spec.do == "subscription.fail-over":
            self._note(spec, at_ns, "")
            run.effects_us[number] = max(0, (at_ns - run.zero_ns) // US_NS)
            self._fail_over(spec)
            return
        error = ""
        try:
            at_ns = _HANDLERS[spec.do](run, spec.arguments) or at_ns
        except ProcessError as refused:
            error = str(refused)
        run.effects_us[number] = max(0, (at_ns - run.zero_ns) // US_NS)
        self._note(spec, at_ns, error)

    def _note(self, spec: CommandSpec, at_ns: int, error: str) -> None:
        done_ns = time.monotonic_ns()
        fields = {"do": spec.do, "arguments": spec.arguments, "done_ns": done_ns, "ok": not error}
        self.run.note("command", at_ns, **fields, **({"error": error} if error else {}))

    def _fail_over(self, spec: CommandSpec) -> None:
        """Perform a failover; one that waits does so in a thread of its own."""
        work: Callable[[], None] = partial(fail_over, self.run, spec.arguments)
        if spec.arguments["mode"] == CRASH:
            self._guarded(spec, work)
            return
        if spec.arguments["mode"] == AUTO:
            work = AutomaticFailover(self.run, spec.arguments).probe_until_the_end
        thread = threading.Thread(target=self._guarded, args=(spec, work), daemon=True)
        thread.start()
        self._threads.append(thread)

    def _guarded(self, spec: CommandSpec, work: Callable[[], None]) -> None:
        try:
            work()
        except ProcessError as error:
            self._note(spec, time.monotonic_ns(), str(error))
        except Stopping:
            return  # the rig is being closed

    def close_consumer(self, name: str) -> None:
        """Close a consumer at the instant that the scenario's `stop` names."""
        client = self.run.consumers[name]
        if client.state == RUNNING:
            try:
                self.run.end_client(client, "close", STOPPED).result(WAIT_S)
            except ProcessError as error:
                self.run.note("unanswered", time.monotonic_ns(), error=str(error))

    def wait(self) -> None:
        """Wait for the threads of failovers; the run is over."""
        for thread in self._threads:
            thread.join(WAIT_S)


# --- clients


def _client(run: Run, name: str) -> Client:
    return run.consumers.get(name) or run.producers[name]


def _consumer_start(run: Run, arguments: Arguments) -> None:
    client = run.consumers[arguments["consumer"]]
    if client.state != RUNNING:
        run.start_consumer(client, client.cluster)


def _consumer_stop(run: Run, arguments: Arguments) -> None:
    run.end_client(run.consumers[arguments["consumer"]], "close", STOPPED).result(WAIT_S)


def _kill(run: Run, arguments: Arguments) -> None:
    run.end_client(_client(run, arguments["client"]), "kill", KILLED).result(WAIT_S)


def _close(run: Run, arguments: Arguments) -> None:
    client = _client(run, arguments["client"])
    run.end_client(client, "close" if client.name in run.consumers else "stop", STOPPED).result(WAIT_S)


def _producer_stop(run: Run, arguments: Arguments) -> None:
    run.end_client(run.producers[arguments["producer"]], "stop", STOPPED).result(WAIT_S)


def _producer_start(run: Run, arguments: Arguments) -> None:
    client = run.producers[arguments["producer"]]
    if client.state != RUNNING:
        run.continue_producer(client, client.cluster)


def _on_consumer(do: str) -> Callable[[Run, Arguments], None]:
    def perform(run: Run, arguments: Arguments) -> None:
        name = run.plan.client(arguments["consumer"])
        run.rig.clients.request(f"consumer.{do}", name=name)

    return perform


def _consumer_slow(run: Run, arguments: Arguments) -> None:
    name, processing = arguments["consumer"], Distribution(**arguments["processing"])
    in_turn = processing_us(processing, run.plan.scenario.seed, name)
    run.rig.clients.request("consumer.change", name=run.plan.client(name), processing_us=in_turn)


# --- brokers


def _unload(run: Run, arguments: Arguments) -> None:
    topic = run.plan.topic(arguments["topic"])
    run.rig.clusters[arguments["cluster"]].request("topic.unload", topic=topic)


def _replicate(run: Run, arguments: Arguments) -> None:
    name = arguments["subscription"]
    topic = run.plan.topic(arguments.get("topic") or run.plan.scenario.subscriptions[name].topic)
    fields = {"topic": topic, "subscription": name, "on": arguments["enabled"]}
    run.rig.clusters[arguments["cluster"]].request("subscription.replicate", **fields)


def _reset(run: Run, arguments: Arguments) -> int:
    """Reset a cursor in a topic or all its partitions; returns the instant of the first request.

    For an instant the first message that was published from it on is looked up in the log before.
    """
    resets: list[Arguments] = []
    name = arguments["subscription"]
    cluster = run.rig.clusters[arguments["cluster"]]
    base = run.plan.topic(run.plan.scenario.subscriptions[name].topic)
    for topic in run.topics_of(cluster.name):
        if topic != base and not topic.startswith(f"{base}-partition-"):
            continue
        where: Arguments = {"at": arguments.get("position")}
        if "time_us" in arguments:
            entries = cluster.request("dump", topic=topic)["entries"]
            where = first_from(run, entries, run.at_ns(arguments["time_us"]))
        resets.append({"topic": topic, "subscription": name, **where})
    at_ns = time.monotonic_ns()
    for future in [cluster.begin("subscription.reset", **reset) for reset in resets]:
        future.result(WAIT_S)
    return at_ns


def first_from(run: Run, entries: list[Event], at_ns: int) -> Arguments:
    """The position of the first entry with a message that was published from an instant on, or latest."""
    published: dict[tuple[str, int], int] = {
        (event["producer"], event["sequence"]): event["t"]
        for event in list(run.events)
        if event.get("e") == "published"
    }
    for entry in entries:
        if entry.get("marker") is None:
            message = (entry["producer"], entry["sequence"])
            if published.get(message, int(entry["stored_ns"])) >= at_ns:
                return {"ledger": entry["ledger"], "entry": entry["entry"]}
    return {"at": "latest"}


_HANDLERS: dict[str, Callable[[Run, Arguments], int | None]] = {
    "topic.unload": _unload,
    "subscription.reset": _reset,
    "subscription.replicate": _replicate,
    "consumer.start": _consumer_start,
    "consumer.stop": _consumer_stop,
    "consumer.pause": _on_consumer("pause"),
    "consumer.resume": _on_consumer("resume"),
    "consumer.slow": _consumer_slow,
    "client.kill": _kill,
    "client.close": _close,
    "producer.stop": _producer_stop,
    "producer.start": _producer_start,
}


# --- failovers of one run, in the four modes of the command
#
# *crash*: the consumers are killed and start at the target. *planned*: they finish and close first.
# *drained*: planned, once the target's cursor covers what was acked in the source, or at the limit. *auto*:
# the driver probes the brokers' ports as Pulsar's AutoClusterFailover does (PIP-121), and moves the
# consumers.


PROBE_TIMEOUT_S = 1.0
CLOSE_TIMEOUT_S = 300
"""A consumer that closes first finishes what its application has."""

Message = tuple[str, int]


def fail_over(run: Run, arguments: Arguments, mode: str | None = None) -> None:
    """Move the consumers of a subscription, and its producers if requested; returns when they are moved."""
    mode = mode or arguments["mode"]
    source, target, name = arguments["from"], arguments["to"], arguments["subscription"]
    moving = [
        client
        for client in run.consumers.values()
        if client.cluster == source and run.plan.scenario.consumers[client.name].subscription == name
    ]
    producers = _producers(run, name, source)
    paused: list[Client] = []
    if mode == DRAINED:
        if arguments["stop-producers"]:
            paused = [client for client in producers if client.state == RUNNING]
            _end(run, paused, "stop", STOPPED)
        _wait_until_covered(run, arguments)
    running = [client for client in moving if client.state == RUNNING]
    if mode in (CRASH, AUTO):
        _end(run, running, "kill", KILLED)
    else:
        _end(run, running, "close", STOPPED)
    for client in moving:
        run.start_consumer(client, target)
    for client in producers:
        _move_producer(run, client, arguments, mode, client in paused)
    moved = {"subscription": name, "from": source, "to": target, "mode": mode}
    run.note("failover.finished", time.monotonic_ns(), **moved)


def _producers(run: Run, subscription: str, source: str) -> list[Client]:
    topic = run.plan.scenario.subscriptions[subscription].topic
    return [
        client
        for client in run.producers.values()
        if client.cluster == source and run.plan.scenario.producers[client.name].topic == topic
    ]


def _end(run: Run, clients: list[Client], do: str, state: str) -> None:
    """Close or kill these clients at the same time, and wait for it."""
    for future in [run.end_client(client, do, state) for client in clients]:
        future.result(CLOSE_TIMEOUT_S if do == "close" else WAIT_S)


def _move_producer(run: Run, client: Client, arguments: Arguments, mode: str, was_paused: bool) -> None:
    """Move a producer if that is requested, or let one go on that was stopped for the failover."""
    if not arguments["producers"]:
        if was_paused:
            run.continue_producer(client, client.cluster)
        return
    ran = client.state != STOPPED or was_paused
    if client.state == RUNNING:
        if mode in (CRASH, AUTO):
            _end(run, [client], "kill", KILLED)
        else:
            _end(run, [client], "stop", STOPPED)
    client.cluster = arguments["to"]
    if ran:
        run.continue_producer(client, client.cluster)


# --- drained


def _wait_until_covered(run: Run, arguments: Arguments) -> None:
    """Wait until the target would deliver nothing again that was acked in the source, or for the limit."""
    end_ns = min(time.monotonic_ns() + arguments["limit_us"] * US_NS, run.until_ns)
    while uncovered(run, arguments) and time.monotonic_ns() < end_ns:
        run.rig.sleep_until(min(time.monotonic_ns() + DRAIN_POLL_US * US_NS, end_ns))


def uncovered(run: Run, arguments: Arguments) -> int:
    """The number of messages that were acked in the source and that the target's cursor does not cover."""
    name, target = arguments["subscription"], arguments["to"]
    consumers = run.plan.scenario.consumers
    names = [run.plan.client(one) for one in consumers if consumers[one].subscription == name]
    events = list(run.events)
    acked = {
        (event["producer"], event["sequence"])
        for event in events
        if event.get("e") == "acknowledged" and event.get("consumer") in names
    }
    for topic in run.topics_of(target):
        if not acked:
            break
        cursor = _last_cursor(events, target, topic, name)
        if cursor is not None:
            entries = run.rig.clusters[target].request("dump", topic=topic)["entries"]
            acked = {message for message in acked if message not in covered(entries, cursor)}
    return len(acked)


def _last_cursor(events: list[Event], cluster: str, topic: str, subscription: str) -> Event | None:
    wanted = ("cursor", cluster, topic, subscription)
    for event in reversed(events):
        if tuple(event.get(key) for key in ("e", "cluster", "topic", "subscription")) == wanted:
            return event
    return None


def covered(entries: list[Event], cursor: Event) -> dict[Message, None]:
    """The messages of a log that a cursor covers: up to its mark-delete position, or individually deleted."""
    mark_delete = (cursor["ledger"], cursor["entry"])
    ranges = cursor.get("ranges") or []
    found: dict[Message, None] = {}
    for entry in entries:
        position = (entry["ledger"], entry["entry"])
        deleted = any(tuple(one[:2]) <= position <= tuple(one[2:4]) for one in ranges)
        if entry.get("marker") is None and (position <= mark_delete or deleted):
            for message in entry.get("messages") or [entry]:
                found[entry["producer"], message["sequence"]] = None
    return found


# --- auto


class AutomaticFailover:
    """Probes both clusters, and moves the consumers when `Probing` decides."""

    def __init__(self, run: Run, arguments: Arguments) -> None:
        self.run, self.arguments = run, arguments
        self.clusters = {PRIMARY: arguments["from"], SECONDARY: arguments["to"]}
        self.probing = Probing(
            arguments["failoverDelay_us"], arguments["switchBackDelay_us"], arguments["switchBack"]
        )

    def probe_until_the_end(self) -> None:
        """Probe once per interval until the run ends."""
        interval_ns = self.arguments["probeInterval_us"] * US_NS
        next_ns = time.monotonic_ns() + interval_ns
        while next_ns < self.run.until_ns:
            self.run.rig.sleep_until(next_ns)
            self._probe()
            next_ns = max(next_ns + interval_ns, time.monotonic_ns())

    def _probe(self) -> None:
        left = self.clusters[self.probing.in_use]
        step: Probe | SwitchTo | None = self.probing.check(time.monotonic_ns() // US_NS)
        while isinstance(step, Probe):
            answers = self._answers(self.clusters[step.service])
            step = self.probing.answered(answers, time.monotonic_ns() // US_NS)
        if step is not None:
            moved = {**self.arguments, "from": left, "to": self.clusters[step.service]}
            self.run.note(
                "command", time.monotonic_ns(), do="subscription.fail-over", arguments=moved, ok=True
            )
            fail_over(self.run, moved, AUTO)

    def _answers(self, cluster: str) -> bool:
        port = self.run.rig.clusters[cluster].ports.broker
        try:
            with socket.create_connection((HOST, port), PROBE_TIMEOUT_S):
                return True
        except OSError:
            return False
