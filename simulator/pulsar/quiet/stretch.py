"""The rows of a quiet stretch: what happens when, in the event engine's order, and what each row says.

Rules: rows are ordered by (instant, rank of the component, place in its event), as the calendar orders them; so each has its seq
before it is made, and can name the row that caused it. A part is one kind of row, one for each message, in order; its rows are an
array with a row a line.
"""

from __future__ import annotations

from itertools import accumulate

import numpy as np

from simulator.pulsar.acknowledging import About
from simulator.pulsar.quiet.groups import REASON
from simulator.pulsar.quiet.lane import Lane
from simulator.pulsar.quiet.wire import Wire
from simulator.trace.registry import CODE, NULL

PUBLISHED, STORED, RECEIPTED = CODE["message.published"], CODE["message.stored"], CODE["message.receipted"]
REPLICATED, DELIVERED, ACKNOWLEDGED = CODE["message.replicated"], CODE["message.delivered"], CODE["message.acknowledged"]
REGISTERED, PERSISTED, MOVED = CODE["message.registered"], CODE["cursor.persisted"], CODE["cursor.moved"]


class Stretch:
    """What a lane does before `horizon_us`. Counts say how far it comes: messages published, handed out (`begun`) and worked on (`done`)."""

    def __init__(self, lane: Lane, wires: list[Wire], busy_us: int | None, horizon_us: int) -> None:
        runtime, producer, topic = lane.producer.runtime, lane.producer, lane.topic
        self.lane = lane
        self.wires = wires
        self.horizon_us = horizon_us
        self.first_seq = runtime.seq
        count = int(lane.published_us.searchsorted(horizon_us))
        self.published_us = lane.published_us[:count]
        self.begun, self.done = (int(instants.searchsorted(horizon_us)) for instants in (lane.begun_us, lane.done_us))
        self.current = None if busy_us is None or busy_us >= horizon_us else lane.consumer.current  # in hand before, settled in the stretch
        self.acks_us = lane.done_us[: self.done] if self.current is None else np.concatenate(([busy_us], lane.done_us[: self.done]))
        ordinals = np.arange(count)
        self.messages = runtime.message_count + ordinals
        self.sequence_ids = producer.next_sequence_id + ordinals
        self.indices = topic.log.length + ordinals
        self.ledger, self.entries = topic.log.current.id, topic.log.current.entries + ordinals
        self._order()

    def _order(self) -> None:
        """The seq of every row."""
        lane, peers = self.lane, len(self.wires)
        ranks = sorted({lane.producer.rank, *(wire.replicator.rank for wire in self.wires), *([lane.consumer.rank] if lane.consumer else ())})
        places = max(peers + 4, 5)

        def keys(instants_us: np.ndarray, rank: int, place: int) -> np.ndarray:
            return instants_us * (len(ranks) * places) + (ranks.index(rank) * places + place)

        publishing = keys(self.published_us, lane.producer.rank, 0)
        parts = [(PUBLISHED, publishing), (STORED, publishing + 1), (RECEIPTED, publishing + 2)]
        parts += [(REPLICATED, publishing + 3 + number) for number in range(peers)]
        parts += [(STORED, keys(wire.arrivals_us, wire.replicator.rank, 0)) for wire in self.wires]
        if lane.consumer is not None:
            rank, groups, begun_us = lane.consumer.rank, lane.groups, lane.begun_us[: self.begun]
            at_once = begun_us == self.published_us[: self.begun]  # else when the message before is done with
            parts.append((DELIVERED, np.where(at_once, publishing[: self.begun] + 3 + peers, keys(begun_us, rank, 4))))
            parts.append((ACKNOWLEDGED, keys(self.acks_us, rank, 3)))
            parts.append((REGISTERED, keys(groups.sent_us[: groups.registered], rank, 0)))
            parts.append((PERSISTED, keys(groups.persisted_us, rank, 1)))
            parts.append((MOVED, keys(groups.moved_us, rank, 2)))
        every = np.concatenate([part for _code, part in parts])
        order = every.argsort(kind="stable")
        seqs = np.empty(len(order), dtype=np.int64)
        seqs[order] = np.arange(self.first_seq, self.first_seq + len(order))
        lengths = [len(part) for _code, part in parts]
        self.codes = np.repeat(np.array([code for code, _part in parts], dtype=np.uint8), lengths)[order]
        self.last_us = int(every[order[-1]]) // places // len(ranks)
        self.published, self.stored, self.receipted, *rest = [seqs[end - length : end] for length, end in zip(lengths, accumulate(lengths))]
        self.replicated, self.arrived = rest[:peers], rest[peers : 2 * peers]
        for wire, sent in zip(self.wires, self.replicated):
            wire.seqs = np.concatenate((wire.seqs, sent))
        self.delivered, self.acknowledged, self.registered, self.persisted, self.moved = rest[2 * peers :] or [seqs[:0]] * 5

    # --- what the rows say

    def rows(self) -> dict[int, np.ndarray]:
        """The rows of each type in order, one a line."""
        parts = [*self._publishing(), *self._arriving(), *(self._consuming() if self.lane.consumer is not None else ())]
        by_type: dict[int, list[tuple[np.ndarray, np.ndarray]]] = {}
        for seqs, rows in parts:
            by_type.setdefault(int(rows[0, 0]) if len(seqs) else NULL, []).append((seqs, rows))
        by_type.pop(NULL, None)
        return {code: _merged(several) for code, several in by_type.items()}

    def _publishing(self) -> list[tuple[np.ndarray, np.ndarray]]:
        producer, topic, at_us = self.lane.producer, self.lane.topic, self.published_us
        cluster, number, size_bytes = topic.cluster.number, topic.number, producer.spec.size_bytes
        who = (producer.number, self.sequence_ids)
        parts = [
            (self.published, _rows(PUBLISHED, at_us, NULL, cluster, number, *who, self.keys, size_bytes)),
            (self.stored, _rows(STORED, at_us, self.published, cluster, NULL, number, *who, self.ledger, self.entries, NULL, size_bytes)),
            (self.receipted, _rows(RECEIPTED, at_us, self.stored, cluster, number, *who)),
        ]
        for wire, seqs in zip(self.wires, self.replicated, strict=True):
            peer = wire.replicator.peer_number
            parts.append((seqs, _rows(REPLICATED, at_us, self.stored, cluster, peer, number, *who, self.ledger, self.entries, NULL)))
        return parts

    @property
    def keys(self) -> np.ndarray | int:
        """The messages' keys."""
        keys = self.lane.producer.spec.keys
        return self.sequence_ids % keys if keys else NULL

    def _arriving(self) -> list[tuple[np.ndarray, np.ndarray]]:
        parts = []
        for wire, seqs in zip(self.wires, self.arrived, strict=True):
            messages, peer, log = self.lane.producer.runtime.messages, wire.peer, wire.peer.log.current
            records, count = wire.records[: len(seqs)], len(seqs)
            who = (messages.values("producer", records), messages.values("sequence_id", records))
            where = (log.id, log.entries + np.arange(count), NULL, messages.values("size_bytes", records))
            parts.append((seqs, _rows(STORED, wire.arrivals_us, wire.seqs[:count], peer.cluster.number, self.lane.topic.cluster.number, peer.number, *who, *where)))
        return parts

    def _consuming(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """A message is worked on when the one before it has been acknowledged; an ack names the row that handed its message out."""
        lane, groups, begun, done = self.lane, self.lane.groups, self.begun, self.done
        stored, before, handed = self.stored[:begun], self.acknowledged, self.delivered[:done]
        if self.current is None:
            before = np.concatenate(([lane.consumer.last_seq], before))
        delivered = _rows(DELIVERED, lane.begun_us[:begun], np.maximum(stored, before[:begun]), *self.who, self.sequence_ids[:begun],
                          self.ledger, self.entries[:begun], NULL, 0, stored)  # fmt: skip
        about = delivered[:done, 3:12]
        if self.current is not None:
            handed, about = np.concatenate(([self.current[1]], handed)), np.concatenate(([self.current[3]], about))
        acknowledged = _rows(ACKNOWLEDGED, self.acks_us, handed, *about.T, lane.consumer.kinds["individual"])
        return [(self.delivered, delivered), (self.acknowledged, acknowledged), *(self._registering(about) if groups.sent else ())]

    def _registering(self, about: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """What the broker makes of the groups; `about` of each of the stretch's acks."""
        groups, cursor = self.lane.groups, self.who[:3]
        acks, count = self.acknowledged, groups.registered
        if groups.waiting:
            _indices, _batches, before, _messages, abouts = zip(*groups.waiting)
            acks, about = np.concatenate((before, acks)), np.concatenate((abouts, about))
        last = [int(self.registered[group.last - 1]) for group in groups.sent]
        reason = self.lane.producer.runtime.name(REASON)
        persisted = [(PERSISTED, group.at_us, seq, *cursor, *group.persisted) for seq, group in zip(last, groups.sent) if group.persisted]
        moved = [(MOVED, group.at_us, seq, *cursor, *group.moved, reason) for seq, group in zip(last, groups.sent) if group.moved]
        registered = _rows(REGISTERED, groups.sent_us[:count], acks[:count], *about[:count].T)
        return [(self.registered, registered), (self.persisted, np.array(persisted)), (self.moved, np.array(moved))]

    @property
    def who(self) -> tuple[int, int, int, int, int]:
        """With what `acknowledging.About` begins: cluster, topic, subscription, client, producer."""
        lane = self.lane
        return lane.topic.cluster.number, lane.topic.number, lane.session.subscription.number, lane.consumer.number, lane.producer.number

    def handed(self, first: int) -> list[tuple[int, int, About]]:
        """(index, message, what its rows say) of each message from the stretch's `first` on."""
        who, ledger = self.who, self.ledger
        columns = (column[first:].tolist() for column in (self.indices, self.messages, self.sequence_ids, self.entries))
        return [(index, message, (*who, sequence_id, ledger, entry, NULL)) for index, message, sequence_id, entry in zip(*columns)]


def _rows(code: int, at_us: np.ndarray, cause: np.ndarray | int, *fields: np.ndarray | int) -> np.ndarray:
    """(type, at_us, cause_seq, *fields) of each message, one a line."""
    rows = np.empty((len(at_us), 3 + len(fields)), dtype=np.int64)
    for place, field in enumerate((code, at_us, cause, *fields)):
        rows[:, place] = field
    return rows


def _merged(parts: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Rows of one type from several parts, in order of their seqs."""
    if len(parts) == 1:
        return parts[0][1]
    seqs = np.concatenate([seqs for seqs, _rows in parts])
    return np.concatenate([rows for _seqs, rows in parts])[seqs.argsort(kind="stable")]
