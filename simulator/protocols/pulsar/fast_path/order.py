"""The order of all events in a batched stretch, and with it every row's seq, as in the event engine.

Rules: at one instant a component's events of the event queue are first, in its order, then the end of a
group, then the end of processing. An event writes its rows in a fixed order, so the seq of each is known
before it is made, and can be named as another's cause. A message is dispatched by the event of its arrival.
Where its consumer is busy then, the end of that processing dispatches it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from simulator.protocols.pulsar.fast_path.agenda import Agenda
from simulator.protocols.pulsar.fast_path.survey import ACKS_SENT, PROCESSED, REDELIVERY_REQUESTED

if TYPE_CHECKING:
    from simulator.protocols.pulsar.fast_path.peer_events import PeerEvent
    from simulator.protocols.pulsar.fast_path.stretch import Stretch

_NONE = np.empty(0, dtype=np.int64)


class Seqs(NamedTuple):
    """Seqs of rows by kind.

    The published messages have `published`, `stored`, `receipted` and by wire `replicated`, the arrivals by
    wire `arrived`. The arrivals `begun` have in their order `delivered`, those `done` `settled`. The
    stretch's outcomes have `outcome_seqs`, its groups' first rows `registered`.
    """

    published: np.ndarray
    stored: np.ndarray
    receipted: np.ndarray
    replicated: list[np.ndarray]
    arrived: list[np.ndarray]
    begun: np.ndarray | slice = _NONE
    delivered: np.ndarray = _NONE
    done: np.ndarray | slice = _NONE
    settled: np.ndarray = _NONE
    outcome_seqs: np.ndarray = _NONE
    registered: tuple[int, ...] = ()


class Order:
    """A stretch's events, by kind as numbers of the agenda.

    They are `own`, `publishing`, by wire `arriving`, `sending` of groups without a timer in the event queue,
    `ticking`, and `working`, the end of processing the arrivals `done`. `dispatching` are those that dispatch
    the arrivals `begun`, each with its last row.

    Events of peers have no rows before they have run (`has_run`). `seqs` is computed when all have.
    """

    __slots__ = (
        "stretch",
        "row_count",
        "last_us",
        "_agenda",
        "_first_seqs",
        "_own",
        "_publishing",
        "_arriving",
        "_sending",
        "_ticking",
        "_working",
        "_dispatching",
        "_offsets",
    )

    def __init__(self, stretch: Stretch) -> None:
        flow, wires, groups = stretch.flow, stretch.wires, stretch.groups
        self.stretch = stretch
        consumers, ticks = (
            [consumer.rank for consumer in flow.consumers],
            [one for one in stretch.peer_events if one.index is None],
        )
        agenda = self._agenda = Agenda(
            [
                flow.producer.rank,
                *(wire.replicator.rank for wire in wires),
                *consumers,
                *(tick.rank for tick in ticks),
            ]
        )
        timed = {(group.at_us, group.turn): group.rows for group in groups if group.timed}
        untimed = [group for group in groups if not group.timed]
        written = [
            timed[event.at_us, event.turn]
            if event.method == ACKS_SENT
            else int(event.method != REDELIVERY_REQUESTED)
            for event in stretch.own
        ]
        self._own = agenda.add(
            [event.at_us for event in stretch.own], [event.rank for event in stretch.own], written
        )
        self._publishing = agenda.add(stretch.published_us, flow.producer.rank, 3 + len(wires))
        self._arriving = [
            agenda.add(wire.arrivals_us, wire.replicator.rank, wire.rows[: len(wire.arrivals_us)])
            for wire in wires
        ]
        self._sending = agenda.add(
            [group.at_us for group in untimed],
            [group.rank for group in untimed],
            [group.rows for group in untimed],
        )
        ticking = agenda.add(
            [tick.at_us for tick in ticks],
            [tick.rank for tick in ticks],
            [len(tick.rows) for tick in ticks],
        ).tolist()
        self._ticking = dict(zip(ticks, ticking, strict=True))
        self._working = np.empty_like(stretch.done)
        for turn, rank in enumerate(consumers):
            mine = slice(None) if len(consumers) == 1 else stretch.done % len(consumers) == turn
            self._working[mine] = agenda.add(flow.work.done_us[stretch.done[mine]], rank, 1)
        agenda.sort()
        if consumers:
            self._dispatching = self._dispatching_events()
            self._offsets = agenda.rows[self._dispatching]
            agenda.rows[self._dispatching] += 1
        self._first_seqs, self.row_count = agenda.seqs(flow.producer.runtime.seq)
        self.last_us = agenda.last_us

    def _dispatching_events(self) -> np.ndarray:
        stretch, place, nothing = self.stretch, self._agenda.place, -1
        turns = len(stretch.flow.sessions)
        coming = np.empty(len(self._publishing) + len(stretch.redelivered_places), dtype=np.int64)
        coming[stretch.published_places], coming[stretch.redelivered_places] = (
            self._publishing,
            self._own[stretch.returned],
        )
        ended = np.full(turns + len(stretch.flow.work), nothing)  # by arrival the end of the previous work
        ended[stretch.done + turns] = self._working
        for outcome in stretch.outcomes:
            if stretch.own[outcome.event].method == PROCESSED:
                ended[outcome.turn] = self._own[outcome.event]
        coming, ended = coming[stretch.begun], ended[stretch.begun]
        return np.where((ended == nothing) | (place[ended] < place[coming]), coming, ended)

    # --- events of peers

    def bring(self, one: PeerEvent) -> None:
        """Store at the peer the arrivals before an event."""
        wire, arriving, place = self.stretch.wires[one.wire], self._arriving[one.wire], self._agenda.place
        upto = int(place[arriving].searchsorted(place[self._event_of(one)]))
        size_bytes = int(wire.size_bytes(slice(wire.stored, upto)).sum())
        wire.store(upto, self._first_seqs[arriving[wire.stored : upto]], size_bytes, one.at_us)

    def _event_of(self, one: PeerEvent) -> int:
        if one.index is None:
            return self._ticking[one]
        wire = self.stretch.wires[one.wire]
        return int(self._arriving[one.wire][wire.indices[: wire.before].searchsorted(one.index)])

    def seq_of(self, one: PeerEvent) -> int:
        """The seq of the first row that it writes."""
        return int(self._first_seqs[self._event_of(one)])

    def has_run(self, one: PeerEvent) -> None:
        """Renumber the rows after those of an event that has run."""
        place, count = self._agenda.place, len(one.rows)
        self._first_seqs[place > place[self._event_of(one)]] += count
        self.row_count += count
        if one.index is not None:
            wire = self.stretch.wires[one.wire]
            wire.rows[wire.stored] = count
            wire.stored += 1

    # --- numbers

    def seqs(self) -> Seqs:
        """The seq of every row."""
        stretch, first_seqs = self.stretch, self._first_seqs
        published = first_seqs[self._publishing]
        replicated = [published + 3 + number for number in range(len(stretch.wires))]
        carried = (
            published,
            published + 1,
            published + 2,
            replicated,
            [first_seqs[events] for events in self._arriving],
        )
        if not stretch.flow.sessions:
            return Seqs(*carried)
        begun, done, delivered, settled = (
            stretch.begun,
            stretch.done,
            first_seqs[self._dispatching] + self._offsets,
            first_seqs[self._working],
        )
        if len(stretch.flow.sessions) > 1:
            begun, delivered = _by_seq(begun, delivered)
            done, settled = _by_seq(done, settled)
        outcome_seqs = first_seqs[self._own[[outcome.event for outcome in stretch.outcomes]]]
        rest = settled, outcome_seqs, self._registered()
        if len(stretch.flow.sessions) == 1 and stretch.flow.work.plain:
            return Seqs(*carried, slice(0, len(begun)), delivered, slice(0, len(done)), *rest)
        return Seqs(*carried, begun, delivered, done, *rest)

    def _registered(self) -> tuple[int, ...]:
        stretch, sending = self.stretch, iter(self._sending.tolist())
        timers = {
            (event.at_us, event.turn): number
            for number, event in zip(self._own.tolist(), stretch.own)
            if event.method == ACKS_SENT
        }
        return tuple(
            int(self._first_seqs[timers[group.at_us, group.turn] if group.timed else next(sending)])
            for group in stretch.groups
        )


def _by_seq(places: np.ndarray, seqs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    order = seqs.argsort()
    return places[order], seqs[order]
