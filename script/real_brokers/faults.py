"""Commands about clusters and links, which concern all runs of a batch at once.

Rules: each is performed once, at the same instant for all runs, and every run keeps that instant as its own.
A restart takes effect when the broker is ready. Commands after it keep their distance to it, so they are
later by the time that the restart took, and so is the end of the runs.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from script.real_brokers.live_run import DOWN, Run
from script.real_brokers.plan import US_NS, commands_in_order
from script.real_brokers.rig import Stopping
from simulator.scenarios.model import CommandSpec
from simulator.scenarios.names import parse_link


class Faults:
    """The shared commands of a batch; `late_ns` is what restarts have taken so far."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self.runs, self.rig = runs, runs[0].rig
        self.late_ns = 0
        self.error: BaseException | None = None
        shared = runs[0].plan.shared
        self.done = {number: threading.Event() for number in shared}
        self._thread = threading.Thread(target=self._guarded, daemon=True)

    def start(self) -> None:
        """Begin to perform the commands at their instants."""
        self._thread.start()

    def wait_for(self, number: int) -> None:
        """Wait until a shared command has taken effect."""
        while not self.done[number].wait(0.5):
            if self.error is not None or self.rig.stopping.is_set():
                raise Stopping

    def join(self) -> None:
        """Wait for the last command; raises its error."""
        self._thread.join()
        if self.error is not None:
            raise self.error

    def _guarded(self) -> None:
        try:
            for number, spec in commands_in_order(self.runs[0].plan):
                if number in self.done:
                    self.rig.sleep_until(self.runs[0].at_ns(spec.at_us) + self.late_ns)
                    self._perform(number, spec)
                    self.done[number].set()
        except BaseException as error:  # handed to the thread that joins
            self.error = error

    def _perform(self, number: int, spec: CommandSpec) -> None:
        planned_ns = self.runs[0].at_ns(spec.at_us) + self.late_ns
        at_ns = time.monotonic_ns()
        if spec.do == "cluster.crash":
            at_ns = self._crash(spec.arguments["cluster"], spec.arguments["clients"])
        elif spec.do == "cluster.restart":
            at_ns = self._restart(spec.arguments["cluster"])
            self.late_ns += at_ns - planned_ns
        else:
            fields = {"latency_us": spec.arguments["latency_us"]} if spec.do == "link.slow" else {}
            self.rig.link(spec.do.removeprefix("link."), parse_link(spec.arguments["link"]), **fields)
        for run in self.runs:
            run.effects_us[number] = max(0, (at_ns - run.zero_ns) // US_NS)
            run.note("command", at_ns, do=spec.do, arguments=spec.arguments, ok=True)

    def _crash(self, name: str, clients: bool) -> int:
        """Kill the cluster, and with it the clients of its region; returns the instant."""
        for run in self.runs:
            for client in run.clients_in(name) if clients else []:
                run.end_client(client, "kill", DOWN)
        return self.rig.crash(name)

    def _restart(self, name: str) -> int:
        """Restart the cluster and the clients that died with it; returns when it was ready."""
        at_ns = self.rig.restart(name)
        for run in self.runs:
            for client in run.consumers.values():
                if client.cluster == name and client.state == DOWN:
                    run.start_consumer(client, name)
            for client in run.producers.values():
                if client.cluster == name and client.state == DOWN:
                    run.continue_producer(client, name)
        return at_ns
