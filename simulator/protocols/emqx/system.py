"""Builds a simulated EMQX from a scenario.

It has nodes, links, groups, sessions, publishers, and the scenario's commands on its calendar.
"""

from __future__ import annotations

from typing import Any

from simulator.kernel.distributions import Sampler
from simulator.kernel.random import stream_key
from simulator.protocols.emqx.cluster_state import NodeLink
from simulator.protocols.emqx.commands.effects import HANDLERS
from simulator.protocols.emqx.publisher import Publisher
from simulator.protocols.emqx.runtime import Emqx
from simulator.protocols.emqx.scenario.mqtt_topics import QUEUE
from simulator.protocols.emqx.session import SESSION_RANK, Session
from simulator.protocols.emqx.stream_progress import borrower_name
from simulator.scenarios.model import Scenario
from simulator.system.commanding import schedule_planned
from simulator.system.system import Handlers
from simulator.trace.registry import NULL
from simulator.trace.trace import Trace

_HANDLERS = Handlers(HANDLERS)


def build(scenario: Scenario, seed: int, trace: Trace) -> Emqx:
    """A system at instant 0: nodes up, groups declared, no client connected yet."""
    for section in (scenario.nodes, scenario.groups, scenario.sessions, scenario.publishers):
        for name in sorted(section):
            trace.intern(name)
    system = Emqx(scenario, seed, trace)
    system.handlers = _HANDLERS
    seq = system.note("run.started", NULL, scenario.name)
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
