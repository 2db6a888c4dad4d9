"""A simulated EMQX: the shared state and its processes.

They are sessions, publishers, registries of leaders, leaders, and the network between them.

Rules: one per world; `system.build` makes it.
"""

from __future__ import annotations

from simulator.protocols.emqx.cluster_state import ClusterState
from simulator.protocols.emqx.leader_process import LeaderProcess
from simulator.protocols.emqx.network import Network
from simulator.protocols.emqx.protocol import Flight
from simulator.protocols.emqx.publisher import Publisher
from simulator.protocols.emqx.registry import Registry
from simulator.protocols.emqx.session import Session
from simulator.scenarios.model import Scenario
from simulator.trace.trace import Trace


class Emqx(ClusterState):
    """The processes of a simulated EMQX; it passes each message to its target."""

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
