"""The commands of one run: each is performed on brokers and clients, and its instant is kept.

Rules: the effect of a command is the instant just before the first request that performs it. Commands about
clusters and links are not here, because they concern all runs (`faults.py`). A command that the clients or
brokers refuse is kept with its error, and the run continues.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from script.real_brokers.failovers import AutomaticFailover, fail_over
from script.real_brokers.live_run import DOWN, KILLED, RUNNING, STOPPED, WAIT_S, Client, Run
from script.real_brokers.plan import US_NS, commands_in_order, processing_us
from script.real_brokers.process import Event, ProcessError
from script.real_brokers.rig import Stopping
from simulator.protocols.pulsar.failover.failover import AUTO, CRASH
from simulator.scenarios.model import CommandSpec, Distribution
from simulator.scenarios.names import parse_link


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
