"""The processes of one scenario: clusters, proxies and clients, started once for all runs.

Rules: whatever was started is ended by `close`, also after an error or a signal. If the driver is killed, the
processes see the end of their standard input and end themselves. Events are handed to the run to which their
topic or client belongs.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

from script.real_brokers.cluster import Clients, Cluster, Ports
from script.real_brokers.install import Installation, take_ports
from script.real_brokers.plan import namespace_of
from script.real_brokers.process import Event, JsonProcess
from simulator.protocols.pulsar.scenario.model import PulsarScenario

ROOT = Path(__file__).resolve().parents[2]
PORTS_PER_CLUSTER = 3
LABEL = re.compile(r"-([rw]\d+)(?:-partition-\d+)?$")
"""The run's label at the end of a topic's name on the brokers."""

Receiver = Callable[[Event], None]
Say = Callable[[str], None]


class Stopping(Exception):
    """The rig is being closed: what waits gives up."""


class Rig:
    """All processes of one scenario; use it as a context manager."""

    def __init__(self, scenario: PulsarScenario, folder: Path, installation: Installation) -> None:
        self.scenario, self.folder = scenario, folder
        self.stopping = threading.Event()
        self._receivers: dict[str, Receiver] = {}
        names = list(scenario.clusters)
        ports = take_ports(len(names) * (PORTS_PER_CLUSTER + len(names) - 1))
        self.clusters: dict[str, Cluster] = {}
        for name in names:
            peers = {peer: ports.pop() for peer in names if peer != name}
            settings = {**scenario.settings, **scenario.clusters[name].settings}
            given = Ports(ports.pop(), ports.pop(), ports.pop(), peers)
            place = folder / "clusters" / name
            self.clusters[name] = Cluster(name, place, given, installation, settings, self.receive)
        self.proxies = JsonProcess("the proxies' process")
        self.clients = Clients(folder, installation, self.receive)
        self.down: list[str] = []
        """Clusters that were crashed and not restarted."""

    def __enter__(self) -> Rig:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_exception: object) -> None:
        self.stopping.set()
        self.close(in_order=kind is None)

    def start(self, say: Say) -> None:
        """Start everything, and register the clusters with each other."""
        started_s = time.monotonic()
        say(f"Starting {len(self.clusters)} clusters: {', '.join(self.clusters)}…")
        self._start_proxies()
        self.clients.start()
        self._in_parallel(Cluster.start)
        for cluster in self.clusters.values():
            for peer in self.clusters.values():
                if peer is not cluster:
                    cluster.connect(peer)
        for name, cluster in self.clusters.items():
            self.clients.request("client", cluster=name, url=cluster.service_url)
        self._in_parallel(self._create_namespaces)
        say(f"The clusters are ready after {time.monotonic() - started_s:.0f} s.")

    def _start_proxies(self) -> None:
        program = f"import sys; sys.path.insert(0, {str(ROOT)!r}); "
        program += "from script.real_brokers.proxy import main; main()"
        self.proxies.start([sys.executable, "-c", program], self.folder / "proxies.log")
        for (source, target), link in self.scenario.links.items():
            self.proxies.request(
                "link",
                source=source,
                target=target,
                latency=asdict(link.latency),
                bandwidth_bytes_per_s=link.bandwidth_bytes_per_s,
            )
        for target, cluster in self.clusters.items():
            for source, port in cluster.ports.peers.items():
                listens = {"port": port, "target_port": cluster.ports.broker}
                self.proxies.request("listen", source=source, target=target, **listens)

    def _create_namespaces(self, cluster: Cluster) -> None:
        made: list[str] = []
        for topic in self.scenario.topics.values():
            name = namespace_of(topic)
            if cluster.name in topic.clusters and name not in made:
                cluster.request("namespace.create", name=name, clusters=sorted(topic.clusters))
                made.append(name)

    def _in_parallel(self, work: Callable[[Cluster], Any]) -> None:
        with ThreadPoolExecutor(len(self.clusters)) as pool:
            try:
                list(pool.map(work, self.clusters.values()))
            except BaseException:
                self.close(in_order=False)
                raise

    # --- events

    def register(self, label: str, receiver: Receiver) -> None:
        """Hand the events of the run with this label to `receiver`, in the reading threads."""
        self._receivers[label] = receiver

    def receive(self, event: Event) -> None:
        """Hand an event to its run; events of earlier runs are dropped."""
        receiver = self._receivers.get(label_of(event) or "")
        if receiver is not None:
            receiver(event)

    # --- time

    def sleep_until(self, at_ns: int) -> None:
        """Wait for an instant of the monotonic clock; raises Stopping when the rig is closed."""
        while (left_ns := at_ns - time.monotonic_ns()) > 0:
            if self.stopping.wait(left_ns / 1e9):
                raise Stopping
        if self.stopping.is_set():
            raise Stopping

    # --- faults

    def link(self, do: str, pairs: Iterable[tuple[str, str]], **fields: Any) -> None:
        """Cut, slow or heal links."""
        for source, target in pairs:
            self.proxies.request(do, source=source, target=target, **fields)

    def crash(self, name: str) -> int:
        """Kill a cluster's process; returns the instant."""
        process = self.clusters[name].process
        at_ns = time.monotonic_ns()
        os.kill(process.pid, signal.SIGKILL)
        # what waits for the crash must not wait until the process has been taken apart
        threading.Thread(target=process.kill, daemon=True).start()
        self.down.append(name)
        return at_ns

    def restart(self, name: str) -> int:
        """Start a killed cluster on its data; returns the instant at which it was ready."""
        cluster = self.clusters[name]
        cluster.restart()
        self.down.remove(name)
        return cluster.ready_ns

    def repair(self) -> None:
        """Heal all links and restart what is down."""
        self.link("heal", self.scenario.links)
        for name in list(self.down):
            self.restart(name)

    # --- the end

    def close(self, in_order: bool = True) -> None:
        """End all processes; without `in_order` they are killed."""
        processes = [cluster.process for cluster in self.clusters.values()]
        processes += [self.clients.process, self.proxies]
        with ThreadPoolExecutor(len(processes)) as pool:
            list(pool.map(JsonProcess.end if in_order else JsonProcess.kill, processes))

    def remove_data(self) -> None:
        """Delete the brokers' data; their logs stay."""
        for cluster in self.clusters.values():
            shutil.rmtree(cluster.folder / "data", ignore_errors=True)


def label_of(event: Event) -> str | None:
    """The label of the run to which an event belongs, from its topic or client."""
    match = LABEL.search(event.get("topic") or "")
    if match:
        return match.group(1)
    for key in ("consumer", "producer", "client", "name"):
        label, slash, _name = (event.get(key) or "").partition("/")
        if slash:
            return label
    return None
