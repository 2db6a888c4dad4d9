"""What the protocol declares for scenario files and traces."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from simulator.protocols.declaration import Declared
from simulator.scenarios.declarations import Check, Command, Key, Section
from simulator.scenarios.model import Scenario
from simulator.trace.registry import Name, control, data
from simulator.trace.shared_events import SharedRows

NAME = "single-log"


@dataclass(frozen=True, slots=True)
class ServerSpec:
    """A server: it stores a message each `every_us`, `count` in all, and persists each n-th position."""

    name: str
    every_us: Annotated[int, Key("every", "duration", "one message each", minimum=1)]
    count: Annotated[int, Key("count", "integer", "number of messages", minimum=1)]
    persist_each: Annotated[
        int, Key("persistEach", "integer", "acks between two persisted positions", minimum=1)
    ] = 1
    restart_us: Annotated[int, Key("restart", "duration", "from a crash until it is back", minimum=1)] = (
        1_000_000
    )


@dataclass(frozen=True, slots=True)
class SingleLogScenario(Scenario):
    """A scenario of this protocol: its sections by name."""

    protocol: ClassVar[str] = NAME

    servers: dict[str, ServerSpec] = field(default_factory=dict)


SERVERS = Section(
    "servers",
    "server",
    ServerSpec,
    "the servers, each with one log and one reader",
    most=4,
    required=True,
    protocol=NAME,
    sites=True,
)

CRASH = Command(
    "server.crash",
    "let a server die, and restart it later",
    (Key("server", "server", "which server", required=True),),
    protocol=NAME,
    refusals=("server-down",),
    label="crash a server",
    consequence="{server} stops at once.",
)


class SingleLogRows(SharedRows):
    """Writers of its rows."""

    __slots__ = ()

    @control(250, "the server died; what it had not persisted is gone")
    def server_crashed(self, cause: int, *, cluster: Name) -> int: ...

    @control(251, "it is back and reads on after entry")
    def server_restarted(self, cause: int, *, cluster: Name, entry: int) -> int: ...

    @data(252, "a crash does not move the cursor back over entry")
    def position_persisted(self, cause: int, *, cluster: Name, entry: int) -> int: ...


def _check_ends(check: Check) -> None:
    """Notes servers that could not store all their messages before the end."""
    for name, server in check.scenario.servers.items():
        if server.every_us * server.count > check.scenario.until_us:
            check.fail(
                ("servers", name, "count"), "lasts longer than the run", "fewer messages, or a later until"
            )


DECLARED = Declared(
    families=(NAME,),
    scenario=SingleLogScenario,
    sections=(SERVERS,),
    order=("links", "servers"),
    commands=(CRASH,),
    refusals={"server-down": "the server is down already"},
    events=SingleLogRows.events,
    consistency=_check_ends,
)
