"""The protocols that the lab knows: for each what builds it, counts it, shows it and tells it.

The world asks nothing else.

To add one: a folder beside `simulator/protocols/pulsar/` with a `System` of its own, and one entry here
(CONTRIBUTING.md, "A protocol").
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from simulator import summary
from simulator.protocols.emqx.stability import tables as emqx_tables
from simulator.protocols.emqx.system import build as build_emqx
from simulator.protocols.emqx.system import flights as emqx_flights
from simulator.protocols.emqx.verdicts.groups import count_groups
from simulator.protocols.emqx.views import view as emqx
from simulator.protocols.emqx.what_if.changes import CHANGES as EMQX_CHANGES
from simulator.protocols.emqx.what_if.compared import COMPARED as EMQX_COMPARED
from simulator.protocols.pulsar.system import build as build_pulsar
from simulator.protocols.pulsar.verdicts.count import count_run
from simulator.protocols.pulsar.views import inspection
from simulator.protocols.pulsar.views import view as pulsar
from simulator.protocols.pulsar.what_if.changes import CHANGES as PULSAR_CHANGES
from simulator.protocols.pulsar.what_if.compared import COMPARED as PULSAR_COMPARED
from simulator.scenarios.families import EMQX, PULSAR

if TYPE_CHECKING:
    from simulator.counting.results import CountedRun
    from simulator.scenarios.changes import Change
    from simulator.scenarios.model import Scenario
    from simulator.system.compared import Compared
    from simulator.system.system import System
    from simulator.trace.trace import Trace
    from simulator.world import World


@dataclass(frozen=True, slots=True)
class Protocol:
    """`build(scenario, seed, trace)` gives a system at instant 0, its calendar filled; `count(trace,
    scenario, upto_seq)` reads rows only; `view(world)` is the protocol's part of the live state,
    `flights(system, limit)` what is on the wire and how much on each link; `sections` are its sections of
    the summary; `changes` are tried one at a time to see what would have helped, and the runs `compared`
    by that; `tables()` what a page draws of its code and never changes, such as state machines.
    """

    build: Callable[[Scenario, int, Trace], System]
    count: Callable[[Trace, Scenario, int | None], CountedRun]
    view: Callable[[World], dict[str, Any]]
    flights: Callable[[Any, int], tuple[list[dict], dict[str, int]]]
    sections: Mapping[str, Callable[[World], Any]]
    changes: tuple[Change, ...]
    compared: Compared
    tables: Callable[[], dict[str, Any]] = dict


PROTOCOLS: dict[str, Protocol] = {
    PULSAR: Protocol(
        build_pulsar,
        count_run,
        pulsar.view,
        inspection.flights,
        summary.PULSAR_SECTIONS,
        PULSAR_CHANGES,
        PULSAR_COMPARED,
    ),
    EMQX: Protocol(
        build_emqx,
        count_groups,
        emqx.view,
        emqx_flights,
        summary.EMQX_SECTIONS,
        EMQX_CHANGES,
        EMQX_COMPARED,
        emqx_tables,
    ),
}


def protocol_of(scenario: Scenario) -> Protocol:
    """The protocol of the scenario's family."""
    return PROTOCOLS[scenario.protocol]


def tables_of(scenario: Scenario) -> dict[str, Any]:
    """What a page draws of the code of a scenario's protocol."""
    return protocol_of(scenario).tables()
