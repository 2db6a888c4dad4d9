"""What the rows of a quiet stretch say. A part is rows of one kind with their seqs, a row a line: (type, at_us, cause_seq, *fields)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from simulator.pulsar.quiet.groups import REASON
from simulator.pulsar.quiet.stretch import Stretch
from simulator.pulsar.quiet.work import ACKNOWLEDGED, HELD, NEGATIVE, Act
from simulator.trace.registry import CODE, NULL

if TYPE_CHECKING:
    from simulator.pulsar.acknowledging import Ack, Handed, Key
    from simulator.pulsar.consumer import Item

PUBLISHED, STORED, RECEIPTED = CODE["message.published"], CODE["message.stored"], CODE["message.receipted"]
REPLICATED, DELIVERED = CODE["message.replicated"], CODE["message.delivered"]
REGISTERED, PERSISTED, MOVED = CODE["message.registered"], CODE["cursor.persisted"], CODE["cursor.moved"]

Part = tuple[np.ndarray, np.ndarray]


def rows_of(stretch: Stretch, consumed: Consumed | None) -> tuple[np.ndarray, dict[int, np.ndarray]]:
    """All rows of a stretch: their type codes in order, and of each type the rows in order."""
    parts = [*_publishing(stretch), *_arriving(stretch), *([] if consumed is None else consumed.parts())]
    parts += _single([(seq, row) for one in stretch.passing for seq, row in enumerate(one.rows, one.seq)])
    by_type: dict[int, list[Part]] = {}
    codes = np.empty(stretch.row_count, dtype=np.uint8)
    for seqs, rows in parts:
        if len(seqs):
            code = int(rows[0, 0])
            codes[seqs - stretch.first_seq] = code
            by_type.setdefault(code, []).append((seqs, rows))
    return codes, {code: _in_order(several) for code, several in by_type.items()}


def _publishing(stretch: Stretch) -> list[Part]:
    producer, topic, at_us = stretch.lane.producer, stretch.lane.topic, stretch.published_us
    cluster, number, size_bytes = topic.cluster.number, topic.number, producer.spec.size_bytes
    who, where = (producer.number, stretch.sequence_ids), (stretch.ledger, stretch.entries, NULL)
    parts = [
        (stretch.published, _rows(PUBLISHED, at_us, NULL, cluster, number, *who, stretch.keys, size_bytes)),
        (stretch.stored, _rows(STORED, at_us, stretch.published, cluster, NULL, number, *who, *where, size_bytes)),
        (stretch.receipted, _rows(RECEIPTED, at_us, stretch.stored, cluster, number, *who)),
    ]
    for wire, seqs in zip(stretch.wires, stretch.replicated, strict=True):
        parts.append((seqs, _rows(REPLICATED, at_us, stretch.stored, cluster, wire.replicator.peer_number, number, *who, *where)))
    return parts


def _arriving(stretch: Stretch) -> list[Part]:
    parts = []
    for wire, seqs in zip(stretch.wires, stretch.arrived, strict=True):
        messages, peer, arrived = stretch.lane.producer.runtime.messages, wire.peer, wire.messages
        records, causes, at_us = wire.records[arrived], wire.seqs[arrived], wire.arrivals_us[arrived]
        who = (messages.values("producer", records), messages.values("sequence_id", records))
        where = (peer.log.current.id, wire.entries[arrived], NULL, messages.values("size_bytes", records))
        parts.append((seqs[arrived], _rows(STORED, at_us, causes, peer.cluster.number, stretch.lane.topic.cluster.number, peer.number, *who, *where)))
    return parts


class Consumed:
    """What was handed out in a stretch, and what became of it. By arrival: `causes`, the row that sent it; `about`, what its rows say alike; `delivered`, the row
    that handed it out; `settled`, the one that dealt with it. `acknowledged` are the arrivals that were; `acts`, with their seqs, what else was done."""

    def __init__(self, stretch: Stretch) -> None:
        lane, work = stretch.lane, stretch.lane.work
        self.stretch = stretch
        self.work = work
        count = len(stretch.published_us) + len(stretch.again)
        self.causes, self.stored = np.empty((2, count), dtype=np.int64)
        self.causes[stretch.fresh] = self.stored[stretch.fresh] = stretch.stored
        self.about = np.empty((count, 9), dtype=np.int64)
        self.about[:] = lane.topic.cluster.number, lane.topic.number, lane.subscription.number, 0, lane.producer.number, 0, stretch.ledger, 0, NULL
        for turn, session in enumerate(lane.sessions):
            self.about[work.places(turn), 3] = session.consumer.number
        self.about[stretch.fresh, 5], self.about[stretch.fresh, 7] = stretch.sequence_ids, stretch.entries
        for place, event in zip(stretch.again.tolist(), stretch.returned):
            _epoch, (_item, _delivered, key, about), self.causes[place] = stretch.own[event].argument
            self.about[place, 4:8] = about[4:8]
            self.stored[place] = lane.topic.stored_seqs.values[key[1]]
        self.delivered, self.settled = np.full((2, count), NULL)
        self.delivered[stretch.begun] = stretch.delivered
        self.settled[stretch.done] = stretch.settled
        self.acknowledged = stretch.done
        self.acts: list[tuple[int, Act]] = list(zip(stretch.acted.tolist(), stretch.acts))
        if not work.plain:
            plain = work.kinds[stretch.done] == ACKNOWLEDGED
            self.acknowledged = stretch.done[plain]
            self.acts = sorted([*self.acts, *map(self._aside, stretch.done[~plain].tolist())], key=lambda act: act[0])

    def _aside(self, place: int) -> tuple[int, Act]:
        """What became of an arrival that was not acknowledged."""
        at_us, kind, held_us, seq = (int(values[place]) for values in (self.work.done_us, self.work.kinds, self.work.held_us, self.settled))
        return seq, Act(at_us, NULL, place % len(self.work.lane.sessions), self.handed(place), kind, held_us)

    # --- the rows

    def parts(self) -> list[Part]:
        """All of its rows."""
        return [self._delivering(), *self._settling(), *(self._registering() if self.stretch.groups else ())]

    def _delivering(self) -> Part:
        """A message names the row that sent it, or the consumer's last one, if that is later."""
        begun, work, sessions = self.stretch.begun, self.work, self.work.lane.sessions
        before = np.concatenate(([session.consumer.last_seq for session in sessions], self.settled))[: len(self.causes)]
        if self.stretch.acts:  # the last one may be of an event of the calendar, where a consumer was idle then
            for place in (*range(min(len(sessions), len(before))), *self.stretch.again.tolist()):
                mine = place % len(sessions)
                before[place] = max([before[place], *(seq for seq, act in self.acts if act.turn == mine and seq < self.delivered[place])])
        causes = np.maximum(self.causes, before)[begun]
        return self.stretch.delivered, _rows(DELIVERED, work.begun_us[begun], causes, work.redeliveries[begun], self.stored[begun], about=self.about[begun])

    def _settling(self) -> list[Part]:
        """Acknowledged, held or given back: each names the row that handed its message out."""
        work, done, individual = self.work, self.acknowledged, self.work.lane.sessions[0].consumer.kinds["individual"]
        single = []
        for seq, act in self.acts:
            more = {ACKNOWLEDGED: (individual,), HELD: (act.held_us,), NEGATIVE: ()}[act.kind]
            single.append((seq, (act.kind, act.at_us, act.handed[1], *act.handed[3], *more)))
        return [(self.settled[done], _rows(ACKNOWLEDGED, work.done_us[done], self.delivered[done], individual, about=self.about[done])), *_single(single)]

    def _registering(self) -> list[Part]:
        """What the broker makes of the groups."""
        stretch, groups, waiting = self.stretch, self.stretch.groups, [ack for acks in self.work.lane.groups.waiting for ack in acks]
        acks = np.concatenate([group.acks for group in groups])
        places = acks - self.work.lane.groups.arrivals_from
        seqs, about = (values[np.maximum(places, 0)] for values in (self.settled, self.about))
        early = places < 0
        if early.any():
            known = [(ack[2], *ack[4]) for ack in waiting] + [(seq, *act.handed[3]) for seq, act in zip(stretch.acted.tolist(), stretch.acts)]
            before = np.array(known, dtype=np.int64)[acks[early]]
            seqs[early], about[early] = before[:, 0], before[:, 1:]
        counts = [len(group.acks) for group in groups]
        ends = [seq + count for seq, count in zip(stretch.registered, counts)]
        at_us, lasts = (np.repeat(values, counts) for values in ([group.at_us for group in groups], np.array(ends) - np.cumsum(counts)))
        registered = lasts + np.arange(len(acks))
        cursor = about[0, :3].tolist()
        reason = self.work.lane.producer.runtime.name(REASON)
        single = [(end, (PERSISTED, group.at_us, end - 1, *cursor, *group.persisted)) for end, group in zip(ends, groups) if group.persisted]
        single += [(end + bool(group.persisted), (MOVED, group.at_us, end - 1, *cursor, *group.moved, reason)) for end, group in zip(ends, groups) if group.moved]
        return [(registered, _rows(REGISTERED, at_us, seqs, about=about)), *_single(single)]

    # --- as the engine keeps it

    def item(self, place: int) -> Item:
        """An arrival in the receiver queue."""
        work = self.work
        session = work.lane.sessions[place % len(work.lane.sessions)]
        index, message, redelivery, cause = (int(values[place]) for values in (work.indices, work.messages, work.redeliveries, self.causes))
        return session, index, message, NULL, redelivery, cause

    def acks(self, places: np.ndarray) -> list[tuple[Key, Ack]]:
        """The acks of arrivals as they wait for their group."""
        topic, work = self.work.lane.topic.place, self.work
        columns = (values[places].tolist() for values in (work.indices, self.settled, work.messages, self.about))
        return [((topic, index, NULL), (index, NULL, seq, message, tuple(about))) for index, seq, message, about in zip(*columns)]

    def handed(self, place: int) -> Handed:
        """An arrival in the application's hands."""
        item = self.item(place)
        return item, int(self.delivered[place]), (self.work.lane.topic.place, item[1], NULL), tuple(self.about[place].tolist())


def _rows(code: int, at_us: np.ndarray, cause: np.ndarray | int, *fields: np.ndarray | int, about: np.ndarray | None = None) -> np.ndarray:
    """Rows of one type; what they say `about` their messages stands before the other fields."""
    first = 3 if about is None else 3 + about.shape[1]
    rows = np.empty((len(at_us), first + len(fields)), dtype=np.int64)
    rows[:, 0], rows[:, 1], rows[:, 2] = code, at_us, cause
    if about is not None:
        rows[:, 3:first] = about
    for place, field in enumerate(fields, first):
        rows[:, place] = field
    return rows


def _single(rows: list[tuple[int, tuple[int, ...]]]) -> list[Part]:
    """Parts of single rows with their seqs."""
    by_type: dict[int, list[tuple[int, tuple[int, ...]]]] = {}
    for seq, row in rows:
        by_type.setdefault(row[0], []).append((seq, row))
    return [tuple(map(np.array, zip(*several))) for several in by_type.values()]


def _in_order(parts: list[Part]) -> np.ndarray:
    """Rows of one type from several parts, in order of their seqs."""
    if len(parts) == 1:
        return parts[0][1]
    seqs = np.concatenate([seqs for seqs, _rows in parts])
    return np.concatenate([rows for _seqs, rows in parts])[seqs.argsort(kind="stable")]
