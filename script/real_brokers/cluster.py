"""One real cluster (`lab.BrokerProcess`), and all clients of the rig (`lab.ClientProcess`).

A cluster is one Java process with a metadata store, one bookie and one broker. Its folder keeps its data when
the process is killed, and starting it again on that folder is the restart after a crash.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from script.real_brokers.install import Installation
from script.real_brokers.process import Event, JsonProcess

HOST = "127.0.0.1"
PEER_LISTENER = "from-"
"""The beginning of the names of the listeners for brokers of other clusters; the peer's name follows."""

START_TIMEOUT_S = 240
"""A start takes 6 s on an idle machine, and more than 2 minutes on a very busy one."""

JAVA_OPTIONS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""They shorten the start, and keep pauses and memory small for several processes on one machine."""


@dataclass(frozen=True)
class Ports:
    """The ports of one cluster; `peers` are the proxies' ports at which each peer reaches the broker.

    A peer that is not in `peers` reaches it directly.
    """

    broker: int
    web: int
    bookie: int
    peers: Mapping[str, int] = field(default_factory=dict)


class Cluster:
    """One cluster of one broker and one bookie, in a process that can be killed and started again."""

    def __init__(
        self,
        name: str,
        folder: Path,
        ports: Ports,
        installation: Installation,
        settings: Mapping[str, object] | None = None,
        on_event: Callable[[Event], None] | None = None,
    ) -> None:
        """`settings` are fields of Pulsar's ServiceConfiguration; events get the key `cluster`."""
        self.name, self.folder, self.ports = name, folder, ports
        self._installation = installation
        self._settings = dict(settings or {})
        self._on_event = on_event
        self._watched: list[str] = []
        self.ready_ns = 0  # the instant at which the broker was ready, before it watches anything
        self.process = JsonProcess(f"cluster {name}", self._receive)

    @property
    def service_url(self) -> str:
        """The address for clients, without a proxy."""
        return f"pulsar://{HOST}:{self.ports.broker}"

    def url_from(self, peer: str) -> str:
        """The address for the brokers of the cluster `peer`, behind the proxy if there is one."""
        return f"pulsar://{HOST}:{self.ports.peers.get(peer, self.ports.broker)}"

    @property
    def log_path(self) -> Path:
        """The log of the process, of all its starts."""
        return self.folder / "broker.log"

    def start(self, timeout_s: float = START_TIMEOUT_S) -> int:
        """Start the process and its broker; returns the milliseconds until it was ready."""
        options = (*JAVA_OPTIONS, "-Xmx700m", "-XX:MaxDirectMemorySize=512m")
        self.process.start(self._installation.command("lab.BrokerProcess", options), self.log_path)
        answer = self.process.request(
            "start",
            timeout_s=timeout_s,
            cluster=self.name,
            dir=str(self.folder / "data"),
            ports={"broker": self.ports.broker, "web": self.ports.web, "bookie": self.ports.bookie},
            listeners=[
                {"name": f"{PEER_LISTENER}{peer}", "port": port} for peer, port in self.ports.peers.items()
            ],
            settings=self._settings,
        )
        self.ready_ns = time.monotonic_ns()
        return int(answer["ready_ms"])

    def connect(self, peer: Cluster) -> None:
        """Register `peer` in this cluster, at the address behind the proxy.

        Only messages take that way: the web service, which compares topics before a replicator connects, is
        reached directly.
        """
        self.request(
            "cluster.create",
            name=peer.name,
            service_url=peer.url_from(self.name),
            web_url=f"http://{HOST}:{peer.ports.web}",
            listener=f"{PEER_LISTENER}{self.name}" if self.name in peer.ports.peers else None,
        )

    def kill(self) -> None:
        """Kill the process with SIGKILL: broker and bookie end without closing anything."""
        self.process.kill()

    def restart(self, timeout_s: float = START_TIMEOUT_S) -> int:
        """Start again on the same data, and watch the same topics; returns the milliseconds it took."""
        self.process.kill()
        ready_ms = self.start(timeout_s)
        if self._watched:
            self.request("watch", topics=self._watched)
        return ready_ms

    def watch(self, topics: Iterable[str]) -> None:
        """Emit events about these topics from now on, also after a restart."""
        added = [topic for topic in topics if topic not in self._watched]
        self.request("watch", topics=added)
        self._watched += added

    def unwatch(self, topics: Iterable[str]) -> None:
        """Emit no more events about these topics."""
        removed = list(topics)
        self._watched = [topic for topic in self._watched if topic not in removed]
        self.request("unwatch", topics=removed)

    def request(self, do: str, /, timeout_s: float = 60, **fields: Any) -> Event:
        """Send a request of `lab.BrokerProcess` and return its answer."""
        return self.process.request(do, timeout_s=timeout_s, **fields)

    def begin(self, do: str, /, **fields: Any) -> Future[Event]:
        """Send a request and return a future of its answer at once."""
        return self.process.begin(do, **fields)

    def close(self) -> None:
        """Close broker and bookie in order, and end the process."""
        self.process.end()

    def _receive(self, event: Event) -> None:
        event["cluster"] = self.name
        if self._on_event is None:
            self.process.events.put(event)
        else:
            self._on_event(event)


class Clients:
    """The process with all producers and consumers; it survives crashes of brokers."""

    def __init__(
        self, folder: Path, installation: Installation, on_event: Callable[[Event], None] | None = None
    ) -> None:
        self.folder = folder
        self._installation = installation
        self.process = JsonProcess("the clients' process", on_event)

    def start(self) -> None:
        """Start the process, without any client yet."""
        options = (*JAVA_OPTIONS, "-Xmx700m", "-XX:MaxDirectMemorySize=512m")
        command = self._installation.command("lab.ClientProcess", options)
        self.process.start(command, self.folder / "clients.log")

    def request(self, do: str, /, timeout_s: float = 60, **fields: Any) -> Event:
        """Send a request of `lab.ClientProcess` and return its answer."""
        return self.process.request(do, timeout_s=timeout_s, **fields)

    def begin(self, do: str, /, **fields: Any) -> Future[Event]:
        """Send a request and return a future of its answer at once."""
        return self.process.begin(do, **fields)

    def close(self) -> None:
        """End the process with all its clients."""
        self.process.end()
