"""A quiet stretch: what happens in it, in which order, and the seq of every row, as the event engine would give them.

Rules: at one instant a component's events of the calendar come first, in its order, then the end of a group, then the end of a work. An
event writes its rows in a fixed order, so the seq of each is known before it is made, and can be named as another's cause. A message is handed
out by the event with which it arrives, or, where its consumer is at work then, by the end of that work.
"""

from __future__ import annotations

import numpy as np

from simulator.pulsar.quiet.agenda import Agenda
from simulator.pulsar.quiet.groups import Group, Groups
from simulator.pulsar.quiet.lane import Lane
from simulator.pulsar.quiet.passing import Passing
from simulator.pulsar.quiet.survey import FLUSHED, PROCESSED, RETURNED, Survey
from simulator.pulsar.quiet.wire import Wire
from simulator.trace.registry import NULL

_NOBODY = np.empty(0, dtype=np.int64)


class Stretch:
    """What a lane does before `horizon_us`. It publishes at `published_us` `messages` with `sequence_ids` and `keys`, as `entries` of a
    `ledger`. `own` are the survey's events, `passing` those of peers, `acts` what is done at those. By their places among the arrivals: `fresh` and `again`, what was published
    and what came back (at the events `returned`); `begun`, handed out (by consumer
    so many: `taken`), and `done`, worked on, in order.

    Seqs: `published`, `stored`, `receipted`, by wire `replicated` and `arrived`, of `begun` `delivered`, of `done` `settled`, of `acts`
    `acted`, of the groups' first rows `registered`."""

    def __init__(self, lane: Lane, survey: Survey, wires: list[Wire], horizon_us: int) -> None:
        work = lane.work
        self.lane = lane
        self.survey = survey
        self.wires = wires
        self.horizon_us = horizon_us
        self.first_seq = lane.producer.runtime.seq
        self.published_us = lane.published_us[: int(lane.published_us.searchsorted(horizon_us))]
        self.passing = [one for one in survey.passing if one.at_us < horizon_us]
        self.own = [event for event in survey.own if event.at_us < horizon_us]
        self.groups: list[Group] = [] if lane.groups is None else lane.groups.sent
        self.acts = [] if work is None else [act for act in work.acts if act.at_us < horizon_us]
        self.returned = [place for place, event in enumerate(self.own) if event.method == RETURNED]
        self.begun = self.done = self.fresh = self.again = self.delivered = _NOBODY
        if work is not None:
            self.begun, self.done = ((instants_us < horizon_us).nonzero()[0] for instants_us in (work.begun_us, work.done_us))
            self.again = work.again[: len(self.returned)]
            self.fresh = work.fresh[: len(self.published_us)] if self.returned else slice(0, len(self.published_us))
        topic, ordinals, keys = lane.topic, np.arange(len(self.published_us)), lane.producer.spec.keys
        self.messages = lane.producer.runtime.message_count + ordinals
        self.sequence_ids = lane.producer.next_sequence_id + ordinals
        self.keys = self.sequence_ids % keys if keys else NULL
        self.ledger, self.entries = topic.log.current.id, topic.log.current.entries + ordinals
        self._order()

    def _order(self) -> None:
        """All events in order, and the seq of each one's first row; those that pass have none before they are done."""
        lane, wires = self.lane, self.wires
        consumers, ticks = [session.consumer.rank for session in lane.sessions], [one for one in self.passing if one.index is None]
        agenda = self._agenda = Agenda([lane.producer.rank, *(wire.replicator.rank for wire in wires), *consumers, *(tick.rank for tick in ticks)])
        timed = {(group.at_us, group.turn): group.rows for group in self.groups if group.timed}
        asked = [group for group in self.groups if not group.timed]
        written = [timed[event.at_us, event.turn] if event.method == FLUSHED else int(event.method != RETURNED) for event in self.own]
        self._own = agenda.add([event.at_us for event in self.own], [event.rank for event in self.own], written)
        self._publishing = agenda.add(self.published_us, lane.producer.rank, 3 + len(wires))
        self._arriving = [agenda.add(wire.arrivals_us, wire.replicator.rank, wire.rows[: len(wire.arrivals_us)]) for wire in wires]
        self._sending = agenda.add([group.at_us for group in asked], [group.rank for group in asked], [group.rows for group in asked])
        ticking = agenda.add([tick.at_us for tick in ticks], [tick.rank for tick in ticks], [len(tick.rows or ()) for tick in ticks]).tolist()
        self._ticking = dict(zip(ticks, ticking, strict=True))
        self._working = np.empty_like(self.done)
        for turn, rank in enumerate(consumers):
            mine = slice(None) if len(consumers) == 1 else self.done % len(consumers) == turn
            self._working[mine] = agenda.add(lane.work.done_us[self.done[mine]], rank, 1)
        agenda.sort()
        if consumers:
            self._handing = self._handed_out(agenda, self._own, self._publishing, self._working)
            self._offsets = agenda.rows[self._handing]
            agenda.rows[self._handing] += 1
        self._seqs, self.row_count = agenda.seqs(self.first_seq)
        self.last_us = agenda.last_us

    # --- what passes

    def bring(self, one: Passing) -> None:
        """The peer has what arrives before."""
        wire, arriving = self.wires[one.wire], self._arriving[one.wire]
        upto = int(self._agenda.place[arriving].searchsorted(self._agenda.place[self._event_of(one)]))
        size_bytes = int(self.lane.producer.runtime.messages.values("size_bytes", wire.records[wire.stored : upto]).sum())
        wire.store(upto, self._seqs[arriving[wire.stored : upto]], size_bytes, one.at_us)

    def _event_of(self, one: Passing) -> int:
        if one.index is None:
            return self._ticking[one]
        wire = self.wires[one.wire]
        return int(self._arriving[one.wire][wire.indices[: wire.before].searchsorted(one.index)])

    def seq_of(self, one: Passing) -> int:
        """The seq of the first row that it writes."""
        return int(self._seqs[self._event_of(one)])

    def passed(self, one: Passing) -> None:
        """It is done: what comes after its rows moves back."""
        event, count = self._event_of(one), len(one.rows)
        self._seqs[self._agenda.place > self._agenda.place[event]] += count
        self.row_count += count
        if one.index is not None:
            wire = self.wires[one.wire]
            wire.rows[wire.stored] = count
            wire.stored += 1

    def until(self, horizon_us: int) -> Stretch:
        """The same up to an earlier instant, after what has passed."""
        lane, count = self.lane, int(self.published_us.searchsorted(horizon_us))
        if lane.sessions:
            lane.groups = Groups(lane.work)
            lane.groups.foresee(horizon_us)
        for wire in self.wires:
            wire.cut(horizon_us, count)
        return Stretch(lane, self.survey, self.wires, horizon_us)

    # --- numbers

    def number(self) -> None:
        """The seq of every row."""
        lane, wires, seqs = self.lane, self.wires, self._seqs
        self.published = seqs[self._publishing]
        self.stored, self.receipted = self.published + 1, self.published + 2
        self.replicated = [self.published + 3 + number for number in range(len(wires))]
        self.arrived = [seqs[events] for events in self._arriving]
        for wire, sent in zip(wires, self.replicated):
            wire.seqs = np.concatenate((wire.seqs, sent))
        if lane.sessions:
            turns, sending = len(lane.sessions), iter(self._sending.tolist())
            self.delivered, self.settled = seqs[self._handing] + self._offsets, seqs[self._working]
            self.taken = np.bincount(self.begun % turns, minlength=turns).tolist()
            if turns > 1:
                self.begun, self.delivered = _by_seq(self.begun, self.delivered)
                self.done, self.settled = _by_seq(self.done, self.settled)
            elif lane.work.plain:
                self.begun, self.done = slice(0, len(self.begun)), slice(0, len(self.done))
            self.acted = seqs[self._own[[act.event for act in self.acts]]]
            timers = {(event.at_us, event.turn): place for place, event in enumerate(self.own) if event.method == FLUSHED}
            self.registered = [int(seqs[timers[group.at_us, group.turn] if group.timed else next(sending)]) for group in self.groups]

    def _handed_out(self, agenda: Agenda, own: np.ndarray, publishing: np.ndarray, working: np.ndarray) -> np.ndarray:
        """The events that hand out messages, by `begun`."""
        turns, nothing = len(self.lane.sessions), -1
        coming = np.empty(len(publishing) + len(self.again), dtype=np.int64)
        coming[self.fresh], coming[self.again] = publishing, own[self.returned]
        ended = np.full(turns + len(self.lane.work), nothing)  # by arrival the end of the work before it
        ended[self.done + turns] = working
        for act in self.acts:
            if self.own[act.event].method == PROCESSED:
                ended[act.turn] = own[act.event]
        coming, ended = coming[self.begun], ended[self.begun]
        return np.where((ended == nothing) | (agenda.place[ended] < agenda.place[coming]), coming, ended)


def _by_seq(places: np.ndarray, seqs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    order = seqs.argsort()
    return places[order], seqs[order]
