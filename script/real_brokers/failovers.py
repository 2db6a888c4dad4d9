"""Failovers of one run, in the four modes of the command.

*crash*: the consumers are killed and start at the target. *planned*: they finish and close first. *drained*:
planned, once the target's cursor covers what was acked in the source, or at the limit. *auto*: the driver
probes the brokers' ports as Pulsar's AutoClusterFailover does (PIP-121), and moves the consumers.
"""

from __future__ import annotations

import socket
import time
from typing import Any

from script.real_brokers.cluster import HOST
from script.real_brokers.live_run import KILLED, RUNNING, STOPPED, WAIT_S, Client, Run
from script.real_brokers.plan import US_NS
from script.real_brokers.process import Event
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

Arguments = dict[str, Any]
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
