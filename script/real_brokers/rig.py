"""The processes of one scenario: clusters, proxies and clients, started once for all runs.

Rules: whatever was started is ended by `close`, also after an error or a signal. If the driver is killed, the
processes see the end of their standard input and end themselves. Events are handed to the run to which their
topic or client belongs.
"""

from __future__ import annotations

import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from script.real_brokers.install import Installation, take_ports
from script.real_brokers.plan import namespace_of
from script.support.system import free_port
from simulator.protocols.pulsar.scenario.model import PulsarScenario

# --- one child process that speaks JSON lines: requests, answers, events, and its end
#
# A request is `{"id": 7, "do": "topic.create", …}` on the child's standard input. Its answer is `{"id": 7,
# "ok": true, …}` or `{"id": 7, "ok": false, "error": "…"}` on its standard output, in any order. A line
# without an id is an event. The child's standard error goes to a log file. The child ends when its standard
# input ends, so none outlives a driver that crashes.


END_WAIT_S = 20
"""How long a child may take to close before it is killed."""

LOG_LINES_SHOWN = 8

Event = dict[str, Any]


class ProcessError(RuntimeError):
    """A request that failed, or a child that ended: the message contains the child's own error."""


class JsonProcess:
    """A child process with numbered requests; safe to use from several threads."""

    def __init__(self, name: str, on_event: Callable[[Event], None] | None = None) -> None:
        """`on_event` is called in the reading thread; without it, events are put into the queue `events`."""
        self.name = name
        self.events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._on_event = on_event or self.events.put
        self._child: subprocess.Popen[bytes] | None = None
        self._reader: threading.Thread | None = None
        self._log_path: Path | None = None
        self._lock = threading.Lock()
        self._last_id = 0
        self._waiting: dict[int, tuple[str, Future[Event]]] = {}

    @property
    def is_alive(self) -> bool:
        """Whether the child runs."""
        return self._child is not None and self._child.poll() is None

    @property
    def pid(self) -> int:
        """The id of the running child."""
        if self._child is None:
            raise ProcessError(f"{self.name} was never started")
        return self._child.pid

    def start(self, command: Sequence[str], log_path: Path) -> None:
        """Start the child; its standard error is appended to the file `log_path`.

        The child gets a session of its own, so that Ctrl-C reaches the driver alone, which then ends it.
        """
        if self.is_alive:
            raise ProcessError(f"{self.name} already runs; end it before it is started again")
        log_path.parent.mkdir(parents=True, exist_ok=True)
        self._log_path = log_path
        with log_path.open("ab") as log:
            self._child = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
        self._reader = threading.Thread(target=self._read, args=(self._child,), daemon=True)
        self._reader.start()

    def begin(self, do: str, /, **fields: Any) -> Future[Event]:
        """Send a request and return at once; the future has its answer, or raises `ProcessError`."""
        future: Future[Event] = Future()
        child = self._child
        if child is None or child.stdin is None:
            raise ProcessError(f"{self.name} does not run, so it cannot do {do}")
        with self._lock:
            self._last_id += 1
            request_id = self._last_id
            self._waiting[request_id] = (do, future)
            line = json.dumps({"id": request_id, "do": do, **fields}, separators=(",", ":"))
            try:
                child.stdin.write(line.encode() + b"\n")
                child.stdin.flush()
            except (OSError, ValueError):  # ValueError: the pipe was closed by `end`
                self._waiting.pop(request_id, None)
                error = ProcessError(f"{self.name} has ended, so it cannot do {do}{self._log_tail()}")
                raise error from None
        if not self.is_alive and not future.done():
            self._fail_waiting()
        return future

    def request(self, do: str, /, timeout_s: float = 60, **fields: Any) -> Event:
        """Send a request and return its answer; raises `ProcessError` with the child's error."""
        future = self.begin(do, **fields)
        try:
            return future.result(timeout_s)
        except FutureTimeoutError:
            raise ProcessError(f"{self.name} did not answer {do} within {timeout_s} s") from None

    def end(self, wait_s: float = END_WAIT_S) -> None:
        """End the child: close its standard input, wait, and kill it if it takes longer than `wait_s`."""
        child = self._child
        if child is None:
            return
        if child.stdin is not None:
            with self._lock:
                try:
                    child.stdin.close()
                except OSError:  # the child has ended with a request unread
                    self._child = child
        try:
            child.wait(wait_s)
        except subprocess.TimeoutExpired:
            child.kill()
        self._reap(child)

    def kill(self) -> None:
        """Kill the child with SIGKILL, as a crash of the process, and wait until it is gone."""
        if self._child is None:
            return
        self._child.kill()
        self._reap(self._child)

    def _reap(self, child: subprocess.Popen[bytes]) -> None:
        child.wait()
        if self._reader is not None and self._reader is not threading.current_thread():
            self._reader.join()
        if child.stdin is not None and not child.stdin.closed:
            try:
                child.stdin.close()
            except OSError:  # what was buffered for a killed child has no reader
                self._fail_waiting()

    def _read(self, child: subprocess.Popen[bytes]) -> None:
        """Read answers and events until the child closes its output; runs in its own thread."""
        if child.stdout is None:
            return
        with child.stdout:
            for line in child.stdout:
                self._receive(line)
        child.wait()
        self._fail_waiting()

    def _receive(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except ValueError:  # the last line of a killed child may be incomplete
            text = line.decode(errors="replace").strip()
            print(f"{self.name} wrote a line that is not JSON: {text}", file=sys.stderr)
            return
        if "id" not in message:
            self._on_event(message)
            return
        with self._lock:
            do, future = self._waiting.pop(message["id"], ("", None))
        if future is None:
            return  # its request ended with the process that was started before
        if message.get("ok"):
            future.set_result(message)
        else:
            future.set_exception(ProcessError(f"{self.name} could not do {do}: {message.get('error')}"))

    def _fail_waiting(self) -> None:
        with self._lock:
            unanswered, self._waiting = self._waiting, {}
        for do, future in unanswered.values():
            if not future.done():
                future.set_exception(ProcessError(f"{self.name} ended during {do}{self._log_tail()}"))

    def _log_tail(self) -> str:
        if self._log_path is None or not self._log_path.exists():
            return ""
        lines = self._log_path.read_text(errors="replace").splitlines()[-LOG_LINES_SHOWN:]
        return f"; the end of {self._log_path}:\n" + "\n".join(lines) if lines else ""


# --- one real cluster (`lab.BrokerProcess`), and all clients of the rig (`lab.ClientProcess`)
#
# A cluster is one Java process with a metadata store, one bookie and one broker. Its folder keeps its data
# when the process is killed, and starting it again on that folder is the restart after a crash.


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


class LabProcess:
    """What clusters and clients have in common: a process of the Java package `lab` that takes requests."""

    process: JsonProcess

    def request(self, do: str, /, timeout_s: float = 60, **fields: Any) -> Event:
        """Send a request and return its answer."""
        return self.process.request(do, timeout_s=timeout_s, **fields)

    def begin(self, do: str, /, **fields: Any) -> Future[Event]:
        """Send a request and return a future of its answer at once."""
        return self.process.begin(do, **fields)

    def close(self) -> None:
        """End the process: a broker and its bookie are closed in order, clients disconnect."""
        self.process.end()


class Cluster(LabProcess):
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

    def _receive(self, event: Event) -> None:
        event["cluster"] = self.name
        if self._on_event is None:
            self.process.events.put(event)
        else:
            self._on_event(event)


class Clients(LabProcess):
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


NAMES = ("west", "east")
TOPIC = "persistent://lab/pair/orders"
SUBSCRIPTION = "billing"
WAIT_S = 90
"""How long to wait for anything on a busy machine."""

FIRST_MESSAGE_AFTER_NS = 1_500_000_000
"""From the request to the first message, so that a snapshot completes before it."""


class Pair:
    """Two clusters, their clients and `seen`, the events so far in the order in which they were read.

    The smoke run and the test on request use it. A run of scenarios has more clusters, proxies and topics
    (`script.real_brokers.play`).
    """

    def __init__(self, folder: Path, installation: Installation) -> None:
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self.seen: list[Event] = []
        self.clusters = {
            name: Cluster(
                name,
                folder / name,
                Ports(free_port(), free_port(), free_port()),
                installation,
                on_event=self._events.put,
            )
            for name in NAMES
        }
        self.clients = Clients(folder, installation, self._events.put)

    def start(self) -> None:
        """Start everything, create the topic and wait until both replicators are connected."""
        self.clients.start()
        with ThreadPoolExecutor() as threads:
            list(threads.map(lambda cluster: cluster.start(), self.clusters.values()))
        west, east = self.clusters.values()
        west.connect(east)
        east.connect(west)
        for cluster in (west, east):
            cluster.request("namespace.create", name="lab/pair", clusters=list(NAMES))
            cluster.watch([TOPIC])
        for cluster in (west, east):
            cluster.request("topic.create", topic=TOPIC, partitions=0)
        for cluster, peer in ((west, east), (east, west)):
            cluster.request(
                "replicators.wait",
                timeout_s=2 * WAIT_S,
                topic=TOPIC,
                peers=[peer.name],
                timeout_ms=WAIT_S * 1000,
            )
            self.clients.request("client", cluster=cluster.name, url=cluster.service_url)

    def consume(self, consumer: str, cluster: str) -> None:
        """Connect a consumer of the replicated subscription."""
        self.clients.request(
            "consumer",
            timeout_s=WAIT_S,
            name=consumer,
            cluster=cluster,
            topic=TOPIC,
            subscription=SUBSCRIPTION,
            type="shared",
            replicated=True,
            initial="earliest",
        )

    def publish(self, count: int, every_ms: int) -> None:
        """Publish in west at regular instants, after the first snapshot."""
        self.until(
            lambda: any(one["e"] == "controller" and one["cluster"] == "west" for one in self.seen),
            "the snapshot controller in west",
        )
        self.clients.request(
            "producer",
            name="web",
            cluster="west",
            topic=TOPIC,
            start_ns=time.monotonic_ns() + FIRST_MESSAGE_AFTER_NS,
            every_ns=every_ms * 1_000_000,
            count=count,
            size_bytes=100,
        )

    def until(self, reached: Callable[[], bool], what: str) -> None:
        """Collect events until `reached`."""
        end = time.monotonic() + WAIT_S
        while not reached():
            try:
                self.seen.append(self._events.get(timeout=max(end - time.monotonic(), 0.001)))
            except queue.Empty:
                raise TimeoutError(
                    f"waited {WAIT_S} s for {what}, after {len(self.delivered())} deliveries"
                ) from None

    def delivered(self, consumer: str | None = None) -> list[int]:
        """The sequences of all deliveries, or of one consumer's, in order."""
        return [
            one["sequence"]
            for one in self.seen
            if one["e"] == "delivered" and consumer in (None, one["consumer"])
        ]

    def dump(self, cluster: str) -> list[dict[str, Any]]:
        """The entries of the topic in one cluster."""
        entries: list[dict[str, Any]] = self.clusters[cluster].request("dump", topic=TOPIC)["entries"]
        return entries

    def close(self) -> None:
        """End all processes."""
        self.clients.close()
        for cluster in self.clusters.values():
            cluster.close()


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
