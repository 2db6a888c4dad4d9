"""The engine.

A server stores messages, delivers them to its reader, and recovers its persisted position after a crash.
"""

from __future__ import annotations

from simulator.scenarios.commands import CommandError
from simulator.scenarios.model import Scenario
from simulator.system import links
from simulator.system.commanding import Begin, schedule_planned
from simulator.system.system import Handlers, System
from simulator.trace.registry import NULL
from simulator.trace.trace import Trace
from tests.third_protocol.declared import ServerSpec, SingleLogRows


class Server:
    """One server. `cursor` and `persisted` are the last acknowledged and the last persisted entry."""

    def __init__(self, system: System, spec: ServerSpec) -> None:
        self.system, self.spec = system, spec
        self.up = True
        self.stored: list[int] = []  # by entry the row that stored it
        self.cursor = self.persisted = -1
        system.schedule(spec.every_us, 0, self.store)

    def store(self, _argument: None) -> None:
        """The next message arrives, if the server is up, and is read at once."""
        number = len(self.stored)
        if self.up and number < self.spec.count:
            name = self.system.name(self.spec.name)
            self.stored.append(
                self.system.rows.message_stored(
                    NULL,
                    cluster=name,
                    peer=NULL,
                    topic=name,
                    producer=name,
                    sequence_id=number,
                    ledger=0,
                    entry=number,
                    batch_index=NULL,
                    size_bytes=1,
                )
            )
            self.read()
        self.system.schedule(self.system.now_us + self.spec.every_us, 0, self.store)

    def read(self) -> None:
        """Deliver and acknowledge everything behind the cursor."""
        for entry in range(self.cursor + 1, len(self.stored)):
            rows, name, stored = self.system.rows, self.system.name(self.spec.name), self.stored[entry]
            about = (name, name, name, name, name, entry, 0, entry, NULL)
            seq = rows.message_delivered(stored, about=about, count=0, evidence_seq=stored)
            rows.message_acknowledged(seq, about=about, reason=self.system.name("individual"))
            self.cursor = entry
            if (entry + 1) % self.spec.persist_each == 0:
                self.persisted = entry
                rows.position_persisted(seq, cluster=name, entry=entry)

    def crash(self, cause: int) -> None:
        """The server crashes and restarts after a while."""
        self.up = False
        self.system.rows.server_crashed(cause, cluster=self.spec.name)
        self.system.schedule(self.system.now_us + self.spec.restart_us, 0, self.restart)

    def restart(self, _argument: None) -> None:
        """Recovery to the persisted position."""
        self.up, self.cursor = True, self.persisted
        self.system.rows.server_restarted(NULL, cluster=self.spec.name, entry=self.cursor)
        self.read()


class SingleLog(System):
    """The simulated system: its servers by name."""

    writers = SingleLogRows
    rows: SingleLogRows

    def __init__(self, scenario: Scenario, seed: int, trace: Trace) -> None:
        super().__init__(scenario, seed, trace)
        self.servers: dict[str, Server] = {}


def crash(system: SingleLog, arguments: dict, begin: Begin) -> None:
    """server.crash: the server crashes."""
    server = system.servers[arguments["server"]]
    if not server.up:
        raise CommandError("server-down", f"{server.spec.name} is down already", "wait until it is back")
    server.crash(begin())


_HANDLERS = Handlers({**links.HANDLERS, "server.crash": crash})


def build(scenario: Scenario, seed: int, trace: Trace) -> SingleLog:
    """A system at instant 0: logs empty, servers up."""
    system = SingleLog(scenario, seed, trace)
    system.handlers = _HANDLERS
    system.rows.run_started(NULL, detail=scenario.name)
    for name in sorted(scenario.servers):
        system.servers[name] = Server(system, scenario.servers[name])
    schedule_planned(system)
    return system
