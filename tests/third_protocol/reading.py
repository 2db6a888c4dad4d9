"""Readings of a run.

Its count, its check, its section of the summary, its view, what would have helped, and what experiments measure.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Self

from simulator.checks.check import Check
from simulator.checks.stretch import Stretch
from simulator.counting import CountedRun
from simulator.scenarios.canonical import CommandLog, PlacedSetting, Variant
from simulator.scenarios.model import Scenario
from simulator.system.measured import Case, Compared, Figure, Measure, Measured, figure_words
from simulator.trace.trace import Trace
from simulator.world import World


@dataclass(slots=True)
class CountedServer:
    """Messages of one server: how many were stored and delivered, and the number of redeliveries."""

    stored: int = 0
    delivered: int = 0
    duplicates: int = 0


def count(trace: Trace, scenario: Scenario, upto_seq: int | None = None) -> CountedRun:
    """From rows only: what was stored, and how often it was delivered."""
    upto_seq = len(trace) if upto_seq is None else upto_seq
    counted = {name: CountedServer() for name in scenario.servers}
    seen: dict[tuple[str, int], None] = {}
    for row in trace.rows(0, upto_seq, types=("message.stored", "message.delivered")):
        server = counted[row["cluster"]]
        if row["type"] == "message.stored":
            server.stored += 1
            continue
        server.delivered += 1
        message = (row["cluster"], row["entry"])
        server.duplicates += message in seen
        seen[message] = None
    return CountedRun(upto_seq, [], {}, {}, counted)


def servers(run: World) -> dict[str, dict[str, int]]:
    """The section of the summary."""
    return {
        name: {"stored": one.stored, "delivered": one.delivered, "duplicates": one.duplicates}
        for name, one in run.counted().groups.items()
    }


class DeliveredFromTheLog(Check):
    """Nothing is delivered that is not in the log."""

    claim = "delivered-from-the-log"

    def begin(self, scenario: Scenario) -> None:
        self.stored: dict[int, int] = {}

    def read(self, stretch: Stretch, known: Any) -> Iterable[tuple[int, str]]:
        for _seq, cluster, entry in stretch.of("message.stored").records("cluster", "entry"):
            self.stored[cluster] = entry
        for seq, cluster, entry in stretch.of("message.delivered").records("cluster", "entry"):
            if entry > self.stored.get(cluster, -1):
                yield seq, f"entry {entry} of {stretch.name(cluster)} is not in the log"

    def copy_into(self, copy: Self) -> None:
        copy.stored = dict(self.stored)


def view(run: World) -> dict[str, Any]:
    """The servers now."""
    return {
        "servers": {
            name: {"up": one.up, "stored": len(one.stored), "cursor": one.cursor, "persisted": one.persisted}
            for name, one in run.runtime.servers.items()
        }
    }


def flights(system: Any, limit: int) -> tuple[list[dict], dict[str, int]]:
    """Nothing travels between servers."""
    return [], {f"{source} -> {target}": 0 for source, target in sorted(system.links)}


def persist_each_position(scenario: Scenario, commands: CommandLog) -> Variant | None:
    """Every position persisted at once."""
    if all(server.persist_each == 1 for server in scenario.servers.values()):
        return None
    prompt = {name: replace(server, persist_each=1) for name, server in scenario.servers.items()}
    placed = PlacedSetting("persistEach", "1", "persistEach: 1", "every server's configuration")
    changed = replace(scenario, servers=prompt)
    return Variant("persist-each", "every position persisted at once", changed, commands, (placed,))


FIGURES = (Figure("duplicates", "delivered twice", "twice"),)


def _cases(world: Any) -> list[Case]:
    return [
        {"label": f"server {name}", "at_us": 0, **figures} for name, figures in sorted(servers(world).items())
    ]


COMPARED = Compared(
    "server",
    _cases,
    FIGURES,
    lambda real, other: ", ".join(figure_words(FIGURES, real, other)) or "no difference",
    lambda real, other: (other["duplicates"],),
    "the server is not there",
    "There is no server, so there is nothing to compare.",
)


def _measures(run: World) -> dict[str, int | None]:
    counted = run.counted().groups.values()
    return {
        "duplicates": sum(one.duplicates for one in counted),
        "stored": sum(one.stored for one in counted),
    }


MEASURED = Measured(
    (Measure("duplicates", "delivered twice"), Measure("stored", "stored")),
    _measures,
    lambda scenario: max(server.every_us * server.persist_each for server in scenario.servers.values()),
    ("server.crash",),
)
