"""Messages between processes: in order on one node, possibly lost, duplicated or late between nodes.

Rules: every remote message is a separate cast, so two of them have no order and a loss is not detected
(`emqx_ds_shared_sub_proto`). Every message has a number, to which all its random draws belong. Commands can
lose, delay or duplicate the next message of a kind. In 5.9 and 5.10 no message reaches a leader at another
node: `send_to_leader` casts it to the borrower's own node, which casts it to itself again, without end
(emqx#18143, option `remoteLeaders`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from simulator.protocols.emqx.cluster_state import ClusterState
from simulator.protocols.emqx.events import AboutSent
from simulator.protocols.emqx.protocol import END, Address, Flight, Message
from simulator.trace.registry import NULL

if TYPE_CHECKING:
    from simulator.protocols.emqx.system import Emqx

WIRE_RANK = 2
LATE_FACTOR = 3
"""The factor of the latency of a message that a link's `reordering` selects."""


class Order(NamedTuple):
    """A requested fault of a message: it applies to the next match after `skip` others; None matches all."""

    fate: str  # lose | delay | duplicate
    kind: str
    session: str | None
    group: str | None
    by_us: int
    stream: str | None = None
    skip: int = 0


class Network:
    """The messages in flight between nodes, by number, and the requested faults."""

    __slots__ = ("system", "processes", "count", "flights", "orders")

    def __init__(self, system: ClusterState, processes: Emqx) -> None:
        self.system, self.processes = system, processes
        self.count = 0
        self.flights: dict[int, Flight] = {}
        self.orders: list[Order] = []

    def send(self, source: str, target: Address, message: Message, cause: int) -> None:
        """Send a message from a process on node `source` to its target."""
        system = self.system
        number = self.count
        self.count += 1
        rows, about = system.rows, self._about(source, target.node, number, message)
        seq = rows.protocol_sent(cause, about=about, size_bytes=NULL)
        order = self._order_for(message)
        delay_us, copies = self._delay_us(source, target.node, number), 1
        if order is not None and order.fate == "delay":
            delay_us = None if delay_us is None else delay_us + order.by_us
            seq = rows.protocol_delayed(seq, about=about, duration_us=order.by_us)
        lost = (
            "command"
            if order is not None and order.fate == "lose"
            else "own-node"
            if target.process == "leader" and target.node != source and system.fault("remoteLeaders")
            else self._lost(source, target.node, number)
        )
        if lost is not None:
            rows.protocol_lost(seq, about=about, detail=lost)
            return
        link = system.links.get((source, target.node))
        if (order is not None and order.fate == "duplicate") or (
            link is not None
            and system.chance(f"duplicate/{source}/{target.node}", number, link.duplication_millionths)
        ):
            copies = 2
            seq = rows.protocol_duplicated(seq, about=about, size_bytes=NULL)
        later_us = order.by_us if order is not None and order.fate == "duplicate" else delay_us
        for copy in range(copies):
            self._put(
                Flight(
                    2 * number + copy,
                    message,
                    source,
                    target,
                    system.now_us,
                    system.now_us + delay_us + copy * later_us,
                    seq,
                )
            )

    def _put(self, flight: Flight) -> None:
        if flight.source != flight.target.node:
            self.flights[flight.number] = flight
        self.system.schedule(flight.due_us, WIRE_RANK, self.arrive, flight)

    def _delay_us(self, source: str, target: str, number: int) -> int:
        link = self.system.links.get((source, target))
        if link is None:
            return 0  # one node
        latency_us = link.latency_us(number)
        return latency_us * (
            LATE_FACTOR
            if self.system.chance(f"reordering/{source}/{target}", number, link.reordering_millionths)
            else 1
        )

    def _lost(self, source: str, target: str, number: int) -> str | None:
        link = self.system.links.get((source, target))
        if link is None:
            return None
        if not link.up:
            return "link-cut"
        return "loss" if self.system.chance(f"loss/{source}/{target}", number, link.loss_millionths) else None

    def _order_for(self, message: Message) -> Order | None:
        for place, order in enumerate(self.orders):
            if (
                order.kind == message.kind
                and order.session in (None, message.borrower[0])
                and order.group in (None, message.group)
                and order.stream in (None, message.stream)
            ):
                if not order.skip:
                    return self.orders.pop(place)
                self.orders[place] = order._replace(skip=order.skip - 1)
        return None

    def arrive(self, flight: Flight) -> None:
        """Deliver a message, unless its link is cut, its node is down or its process has ended."""
        system, target = self.system, flight.target
        self.flights.pop(flight.number, None)
        link = system.links.get((flight.source, target.node))
        rows, seq, number, message = system.rows, flight.seq, flight.number >> 1, flight.message
        lost = (
            "link-cut"
            if link is not None and not link.up
            else "node-down"
            if not system.nodes[target.node].up
            else None
        )
        if lost is None:
            if link is not None:
                about = self._about(target.node, flight.source, number, message)
                seq = rows.protocol_arrived(seq, about=about, size_bytes=NULL)
            if self.processes.deliver(flight, seq):
                return
            lost = "no-such-process"
        rows.protocol_lost(seq, about=self._about(flight.source, target.node, number, message), detail=lost)

    def _about(self, node: str, peer: str, number: int, message: Message) -> AboutSent:
        """The columns of a row about a message, at `node`."""
        name = self.system.name
        report = message.progress[0] if len(message.progress) == 1 else None
        return (
            name(node),
            name(peer),
            name(message.group),
            name(message.borrower[0]),
            name(message.stream),
            number,
            name(message.kind),
            NULL if report is None or report.position == END else report.position,
        )
