"""Builds a simulated EMQX from a scenario.

It has nodes, links, groups, sessions, publishers, and the scenario's commands on its calendar.
"""

from __future__ import annotations

from typing import Any

from simulator.kernel.distributions import Sampler
from simulator.kernel.random import stream_key
from simulator.protocols.emqx.cluster_state import ClusterState, NodeLink
from simulator.protocols.emqx.commands.effects import HANDLERS
from simulator.protocols.emqx.leader import borrower_name
from simulator.protocols.emqx.leader_process import LeaderProcess, Registry
from simulator.protocols.emqx.network import Network
from simulator.protocols.emqx.protocol import Flight
from simulator.protocols.emqx.publisher import Publisher
from simulator.protocols.emqx.scenario.sections import QUEUE
from simulator.protocols.emqx.session import SESSION_RANK, Session
from simulator.scenarios.model import Scenario
from simulator.system.commanding import schedule_planned
from simulator.system.system import Handlers
from simulator.trace.registry import NULL
from simulator.trace.trace import Trace


class Emqx(ClusterState):
    """The processes of a simulated EMQX; it passes each message to its target.

    They are sessions, publishers, registries of leaders, leaders, and the network between them.

    Rules: one per world; `system.build` makes it.
    """

    __slots__ = ("publishers", "registries", "leaders")

    sessions: dict[str, Session]
    network: Network

    def __init__(self, scenario: Scenario, seed: int, trace: Trace) -> None:
        super().__init__(scenario, seed, trace)
        self.sessions = {}
        self.publishers: dict[str, Publisher] = {}
        self.leaders: dict[int, LeaderProcess] = {}
        self.registries = {name: Registry(self, name, self.leaders) for name in self.node_names}
        self.network = Network(self, self)

    def update_setting(self, name: str, value_us: int) -> None:
        """Set a timer's duration, which applies when the timer next starts."""
        self.settings[name] = value_us
        for session in self.sessions.values():
            session.agent.read_settings()
        for process in self.leaders.values():
            process.leader.timeout_us = self.setting("leader_borrower_timeout")

    def publish_at_random(self) -> None:
        for publisher in self.publishers.values():
            publisher.publish_at_random()

    def stop_node(self, stopped: tuple[str, int]) -> None:
        """Stop a node: its leaders stop cleanly, then its connections close.

        The processes of the connections are shut down and send nothing to any leader (esockd).
        """
        name, seq = stopped
        for leader in [one for one in self.leaders.values() if one.alive and one.node == name]:
            leader.stop(seq, "node-stop")
        self.nodes[name].up = False
        self.registries[name].electors.clear()
        for session in self.sessions.values():
            if session.online and session.node == name:
                session.kill(seq, "node-stop")

    def leaders_of(self, group: str) -> list[LeaderProcess]:
        """The running leaders of a group.

        There is more than one while an older one has not yet noticed a newer one.
        """
        return [one for one in self.leaders.values() if one.alive and one.group == group]

    def deliver(self, flight: Flight, cause: int) -> bool:
        """Pass a message to its process; False when there is none."""
        target = flight.target
        if target.process == "registry":
            self.registries[target.node].wanted(flight, cause)
            return True
        if target.process == "leader":
            leader = self.leaders.get(target.leader)
            if leader is None or not leader.alive:
                return False
            leader.receive(flight, cause)
            return True
        session = self.sessions[flight.message.borrower[0]]
        return session.online and session.node == target.node and session.agent.receive(flight, cause)


_HANDLERS = Handlers(HANDLERS)


def build(scenario: Scenario, seed: int, trace: Trace) -> Emqx:
    """A system at instant 0: nodes up, groups declared, no client connected yet."""
    for section in (scenario.nodes, scenario.groups, scenario.sessions, scenario.publishers):
        for name in sorted(section):
            trace.intern(name)
    system = Emqx(scenario, seed, trace)
    system.handlers = _HANDLERS
    seq = system.rows.run_started(NULL, detail=scenario.name)
    for (source, target), spec in sorted(scenario.links.items()):
        link = NodeLink(
            source,
            target,
            Sampler(spec.latency, stream_key(seed, f"latency/{source}/{target}")),
            spec.bandwidth_bytes_per_s,
        )
        link.loss_millionths, link.duplication_millionths, link.reordering_millionths = (
            spec.loss or 0,
            spec.duplication or 0,
            spec.reordering or 0,
        )
        system.links[source, target] = link
    for name in sorted(scenario.groups):
        spec = scenario.groups[name]
        if spec.declared:
            system.declare(name, QUEUE if spec.queue else spec.group or name, spec.filter, spec.start_us, seq)
    for name in sorted(scenario.sessions):
        spec = scenario.sessions[name]
        session = system.sessions[name] = Session(system, spec)
        system.schedule(spec.start_us, SESSION_RANK, session.start)
        if spec.stop_us is not None:
            system.schedule(spec.stop_us, SESSION_RANK, session.stop)
    for name in sorted(scenario.publishers):
        publisher = system.publishers[name] = Publisher(system, scenario.publishers[name])
        publisher.begin()
    schedule_planned(system)
    return system


def flights(system: Emqx, limit: int) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """Messages between nodes, evenly sampled down to `limit`, and how many are on each link."""
    totals = {f"{source} -> {target}": 0 for source, target in sorted(system.links)}
    flying = list(system.network.flights.values())
    for flight in flying:
        totals[f"{flight.source} -> {flight.target.node}"] += 1
    if len(flying) > limit:
        flying = [flying[place * len(flying) // limit] for place in range(limit)]
    return [
        {
            "from": one.source,
            "to": one.target.node,
            "topic": one.message.stream or one.message.group,
            "origin": system.node_names.index(one.source),
            "sent_us": one.sent_us,
            "due_us": one.due_us,
            "index": one.number,
            "what": one.message.kind,
            "producer": None,
            "number": one.number,
            "client": one.message.borrower[0],
            "borrower": borrower_name(one.message.borrower),
            "subscription": one.message.group,
            "stream": one.message.stream,
        }
        for one in flying
    ], totals
