"""Events at a peer during a batched stretch: a marker arrives, or its snapshot controller ticks.

Rules: the marker is of the flow's log. Such an event changes nothing in the flow, so a stretch continues over
it. The event engine runs it in order, when the peer has stored all earlier arrivals. The rows that it writes
are set aside until those of the stretch are made. An event that it schedules ends the stretch. Where it
certainly requests a response, the stretch is planned to end with that. It is run only where it cannot
schedule an event at its own instant, and cannot open or delete a ledger.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.kernel.clock import Event
from simulator.protocols.pulsar.markers.entries import REQUEST, UPDATE
from simulator.protocols.pulsar.replication.replicator import Replicator
from simulator.protocols.pulsar.snapshots.controller import SnapshotController

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.protocols.pulsar.fast_path.flow import Flow

ENTRIES_MAX = 8
"""An upper bound of the entries that one such event appends to the peer's log."""
ENTRY_BYTES_MAX = 1024
ROWS_MAX = 64
"""An upper bound of the rows that one writes."""
_NEVER = 1 << 62


class PeerEvent:
    """An event of the event queue at the flow's peer `wire`.

    `answered_us`: when its effects have arrived, if that is determined. `rows`: the rows that it wrote, with
    seqs from `seq` on, once it has run.
    """

    __slots__ = ("at_us", "rank", "target", "method", "argument", "wire", "answered_us", "seq", "rows")

    def __init__(self, event: Event, wire: int, answered_us: int) -> None:
        self.at_us, self.rank, _order, self.target, self.method, self.argument = event
        self.wire = wire
        self.answered_us = answered_us
        self.seq = 0
        self.rows: list[tuple[int, ...]] = []

    def run(self) -> None:
        """Run the event."""
        self.method(self.target, self.argument)

    @property
    def index(self) -> int | None:
        """The entry that arrives; None for a tick."""
        return self.argument[1] if self.method is Replicator.arrive else None


class PeerEvents:
    """Selects the events that can run during a stretch."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.found: list[tuple[int, int, int, PeerEvent]] = []
        self._wires = {
            replicator.rank: wire
            for wire, (replicator, peer) in enumerate(flow.replicators)
            if _can_run_during_stretch(peer)
        }
        self._ticking = {
            controller.rank: wire
            for wire in self._wires.values()
            if (controller := flow.replicators[wire][1].controller) is not None
        }

    def take_marker(self, event: Event) -> bool:
        """Add a marker's arrival if it can run during the stretch; returns whether it can."""
        wire = self._wires.get(event[1])
        if wire is None:
            return False
        replicator, peer = self.flow.replicators[wire]
        marker = replicator.runtime.markers[-self.flow.topic.log.records[event[5][1]] - 1]
        if marker.type == UPDATE and marker.subscription not in peer.subscriptions:
            return False  # creating one may start the peer's controller at once
        self._take(event, wire, marker.type == REQUEST)
        return True

    def take_tick(self, event: Event) -> bool:
        """Add the tick of a peer's controller if it can run during the stretch; returns whether it can.

        No message that is yet to be sent may arrive before it.
        """
        wire = self._ticking.get(event[1])
        if wire is None:
            return False
        replicator, peer = self.flow.replicators[wire]
        if (
            event[4] is not SnapshotController.tick
            or event[3] is not peer.controller
            or event[0]
            >= max(replicator.runtime.now_us + replicator.link.least_us, replicator.last_arrival_us)
        ):
            return False
        self._take(event, wire, True)
        return True

    def _take(self, event: Event, wire: int, asks: bool) -> None:
        back_us = self.flow.replicators[wire][0].back.constant_us
        self.found.append(
            (
                *event[:3],
                PeerEvent(event, wire, event[0] + back_us if asks and back_us is not None else _NEVER),
            )
        )

    def before(self, horizon_us: int) -> tuple[list[PeerEvent], int]:
        """The events before the horizon, in order, and the horizon, reduced to the first response to them."""
        peer_events = []
        for at_us, _rank, _order, one in sorted(self.found, key=lambda found: found[:3]):
            if at_us >= horizon_us:
                break
            peer_events.append(one)
            horizon_us = min(horizon_us, one.answered_us)
        return peer_events, horizon_us


def _can_run_during_stretch(peer: Topic) -> bool:
    """Whether no arrival there can start its controller, cause a response at once, or delete a ledger."""
    controller = peer.controller
    ticks = controller is not None and controller.ticking
    return (
        ticks
        and len(peer.log.ledgers) == 1
        and all(replicator.link.least_us for replicator in peer.replicators.values())
    )
