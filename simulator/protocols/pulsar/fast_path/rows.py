"""The rows of a batched stretch, by column."""

from __future__ import annotations

from itertools import repeat

import numpy as np

from simulator.kernel.named_tuples import new_tuple
from simulator.protocols.pulsar.broker.session import ReceivedMessage
from simulator.protocols.pulsar.client.delivery import Delivery
from simulator.protocols.pulsar.client.message_keys import MessageKey
from simulator.protocols.pulsar.client.waiting_acks import AboutColumns, AckColumns
from simulator.protocols.pulsar.events import CODE
from simulator.protocols.pulsar.fast_path.groups import REASON
from simulator.protocols.pulsar.fast_path.order import Seqs
from simulator.protocols.pulsar.fast_path.stretch import Stretch
from simulator.protocols.pulsar.fast_path.work import ACKNOWLEDGED, HELD, NEGATIVE, Outcome
from simulator.trace.registry import NULL
from simulator.trace.row_columns import RowColumns, alike, rows_by_column

PUBLISHED, STORED, RECEIPTED = CODE["message.published"], CODE["message.stored"], CODE["message.receipted"]
REPLICATED, DELIVERED = CODE["message.replicated"], CODE["message.delivered"]
REGISTERED, PERSISTED, MOVED = CODE["message.registered"], CODE["cursor.persisted"], CODE["cursor.moved"]


def rows_of(stretch: Stretch, seqs: Seqs, consumed: Consumed | None) -> list[RowColumns]:
    """All rows of a stretch."""
    peer_events = rows_by_column(
        (seq, row) for one in stretch.peer_events for seq, row in enumerate(one.rows, one.seq)
    )
    return [
        *_publishing(stretch, seqs),
        *_arriving(stretch, seqs),
        *([] if consumed is None else consumed.rows()),
        *peer_events,
    ]


def _publishing(stretch: Stretch, seqs: Seqs) -> list[RowColumns]:
    producer, topic, at_us = stretch.flow.producer, stretch.flow.topic, stretch.published_us
    cluster, number, size_bytes = topic.cluster.number, topic.number, producer.spec.size_bytes
    who, where = (producer.number, stretch.sequence_ids), (stretch.ledger, stretch.entries, NULL)
    rows = [
        RowColumns(PUBLISHED, seqs.published, (at_us, NULL, cluster, number, *who, stretch.keys, size_bytes)),
        RowColumns(
            STORED, seqs.stored, (at_us, seqs.published, cluster, NULL, number, *who, *where, size_bytes)
        ),
        RowColumns(RECEIPTED, seqs.receipted, (at_us, seqs.stored, cluster, number, *who)),
    ]
    for wire, sent in zip(stretch.wires, seqs.replicated, strict=True):
        rows.append(
            RowColumns(
                REPLICATED,
                sent,
                (at_us, seqs.stored, cluster, wire.replicator.peer_number, number, *who, *where),
            )
        )
    return rows


def _arriving(stretch: Stretch, seqs: Seqs) -> list[RowColumns]:
    rows = []
    for wire, stored in zip(stretch.wires, seqs.arrived, strict=True):
        messages, peer, arrived = stretch.flow.producer.runtime.messages, wire.peer, wire.messages
        records, causes, at_us = wire.records[arrived], wire.seqs[arrived], wire.arrivals_us[arrived]
        who = (alike(messages.values("producer", records)), messages.values("sequence_id", records))
        where = (
            peer.log.ledgers[-1].id,
            wire.entries[arrived],
            NULL,
            alike(wire.size_bytes(arrived)),
        )
        rows.append(
            RowColumns(
                STORED,
                stored[arrived],
                (
                    at_us,
                    causes,
                    peer.cluster.number,
                    stretch.flow.topic.cluster.number,
                    peer.number,
                    *who,
                    *where,
                ),
            )
        )
    return rows


class Consumed:
    """The messages dispatched in a stretch, and the results of their processing.

    By arrival: `causes`, the row that sent it. `about`, the columns that its rows share. `delivered`, the row
    that delivered it. `settled`, the row that acknowledged, held or negatively acknowledged it.
    `acknowledged` are the acknowledged arrivals. `outcomes`, with their seqs, are the other results.
    """

    def __init__(self, stretch: Stretch, seqs: Seqs) -> None:
        flow, work = stretch.flow, stretch.flow.work
        self.stretch = stretch
        self.seqs = seqs
        self.work = work
        count = len(stretch.published_us) + len(stretch.redelivered_places)
        self.causes, self.stored = np.empty((2, count), dtype=np.int64)
        self.causes[stretch.published_places] = self.stored[stretch.published_places] = seqs.stored
        self.about = self._about(count)
        for place, event in zip(stretch.redelivered_places.tolist(), stretch.returned):
            _epoch, delivery, self.causes[place] = stretch.own[event].argument
            self.stored[place] = flow.topic.stored_seqs.values[delivery.key.index]
        self.delivered, self.settled = np.full((2, count), NULL)
        self.delivered[seqs.begun] = seqs.delivered
        self.settled[seqs.done] = seqs.settled
        self.acknowledged = seqs.done
        self.outcomes: list[tuple[int, Outcome]] = list(zip(seqs.outcome_seqs.tolist(), stretch.outcomes))
        if not work.plain:
            assert isinstance(seqs.done, np.ndarray), "a slice only where all are acknowledged"
            plain = work.kinds[seqs.done] == ACKNOWLEDGED
            self.acknowledged = seqs.done[plain]
            self.outcomes = sorted(
                [*self.outcomes, *map(self._aside, seqs.done[~plain].tolist())],
                key=lambda outcome: outcome[0],
            )
        self._all_acks: tuple[int, AckColumns] | None = None

    def _about(self, count: int) -> AboutColumns:
        stretch, flow = self.stretch, self.work.flow
        about = AboutColumns(
            flow.topic.cluster.number,
            flow.topic.number,
            flow.subscription.number,
            flow.consumers[0].number,
            flow.producer.number,
            stretch.sequence_ids,
            stretch.ledger,
            stretch.entries,
            NULL,
        )
        if len(flow.sessions) > 1:
            clients = [consumer.number for consumer in flow.consumers]
            about = about._replace(client=np.resize(np.array(clients, dtype=np.int64), count))
        if not stretch.returned:
            return about
        known = np.empty((4, count), dtype=np.int64)
        for column, values in zip(known, about[4:8]):
            column[stretch.published_places] = values
        for place, event in zip(stretch.redelivered_places.tolist(), stretch.returned):
            known[:, place] = stretch.own[event].argument[1].about[4:8]
        producer, sequence_id, ledger, entry = known
        return about._replace(producer=producer, sequence_id=sequence_id, ledger=ledger, entry=entry)

    def _aside(self, place: int) -> tuple[int, Outcome]:
        """The outcome of an arrival that was not acknowledged."""
        at_us, kind, held_us, seq = (
            int(values[place])
            for values in (self.work.done_us, self.work.kinds, self.work.held_us, self.settled)
        )
        return seq, Outcome(
            at_us, NULL, place % len(self.work.flow.sessions), self.delivery(place), kind, held_us
        )

    # --- the rows

    def rows(self) -> list[RowColumns]:
        """All of its rows."""
        return [self._delivering(), *self._settling(), *(self._registering() if self.stretch.groups else ())]

    def _delivering(self) -> RowColumns:
        """The rows of deliveries: a cause is the row that sent the message, or the consumer's last one.

        It is the later of both.
        """
        begun, work, consumers = self.seqs.begun, self.work, self.work.flow.consumers
        before = np.concatenate(([consumer.last_seq for consumer in consumers], self.settled))[
            : len(self.causes)
        ]
        # the last one may be of an event in the event queue, where a consumer was idle then
        if self.stretch.outcomes:
            for place in (
                *range(min(len(consumers), len(before))),
                *self.stretch.redelivered_places.tolist(),
            ):
                mine = place % len(consumers)
                before[place] = max(
                    [
                        before[place],
                        *(
                            seq
                            for seq, outcome in self.outcomes
                            if outcome.turn == mine and seq < self.delivered[place]
                        ),
                    ]
                )
        causes = np.maximum(self.causes, before)[begun]
        redeliveries = work.redeliveries[begun] if len(self.stretch.redelivered_places) else 0
        fields = (work.begun_us[begun], causes, *self.about.chosen(begun), redeliveries, self.stored[begun])
        return RowColumns(DELIVERED, self.seqs.delivered, fields)

    def _settling(self) -> list[RowColumns]:
        """The rows acknowledged, held or negatively acked: their cause is the message's delivery."""
        work, done, individual = (
            self.work,
            self.acknowledged,
            self.work.flow.consumers[0].individual,
        )
        single = []
        for seq, outcome in self.outcomes:
            more = {ACKNOWLEDGED: (individual,), HELD: (outcome.held_us,), NEGATIVE: ()}[outcome.kind]
            single.append(
                (seq, (outcome.kind, outcome.at_us, outcome.delivery.seq, *outcome.delivery.about, *more))
            )
        fields = (work.done_us[done], self.delivered[done], *self.about.chosen(done), individual)
        return [RowColumns(ACKNOWLEDGED, self.settled[done], fields), *rows_by_column(single)]

    def _registering(self) -> list[RowColumns]:
        """The rows that the broker writes for the groups."""
        groups = self.stretch.groups
        acks = self.acks(np.concatenate([group.acks for group in groups]))
        counts = [len(group.acks) for group in groups]
        ends = [seq + count for seq, count in zip(self.seqs.registered, counts)]
        at_us, lasts = (
            np.repeat(values, counts)
            for values in ([group.at_us for group in groups], np.array(ends) - np.cumsum(counts))
        )
        registered = lasts + np.arange(len(acks.seqs))
        flow = self.work.flow
        cursor = flow.topic.cluster.number, flow.topic.number, flow.subscription.number
        reason = flow.producer.runtime.name(REASON)
        single: list[tuple[int, tuple[int, ...]]] = [
            (end, (PERSISTED, group.at_us, end - 1, *cursor, *group.persisted))
            for end, group in zip(ends, groups)
            if group.persisted
        ]
        single += [
            (end + bool(group.persisted), (MOVED, group.at_us, end - 1, *cursor, *group.moved, reason))
            for end, group in zip(ends, groups)
            if group.moved
        ]
        return [RowColumns(REGISTERED, registered, (at_us, acks.seqs, *acks.about)), *rows_by_column(single)]

    # --- objects of the event engine

    def received(self, place: int) -> ReceivedMessage:
        """An arrival in the receiver queue."""
        work = self.work
        session = work.flow.sessions[place % len(work.flow.sessions)]
        index, message, redelivery, cause = (
            int(values[place]) for values in (work.indices, work.messages, work.redeliveries, self.causes)
        )
        return new_tuple(ReceivedMessage, (session, index, message, NULL, redelivery, cause))

    def acks(self, places: np.ndarray) -> AckColumns:
        """Acks by their places in `groups`."""
        if self._all_acks is None:
            self._all_acks = self._acks_in_order()
        first, acks = self._all_acks
        begin, end = int(places[0]), int(places[-1]) + 1
        following = end - begin == len(places) and (len(places) < 3 or bool((places[1:] > places[:-1]).all()))
        return acks.chosen(slice(begin - first, end - first) if following else places - first)

    def _acks_in_order(self) -> tuple[int, AckColumns]:
        """The acks in the order of their places, and the place of the first one.

        Those pending before the stretch are included only where groups are sent.
        """
        stretch, work, groups, count = self.stretch, self.work, self.work.flow.groups, len(self.causes)
        several = [
            *groups.waiting,
            AckColumns(work.indices[:count], self.settled, work.messages[:count], self.about),
        ]
        if work.outcomes:
            seqs = [
                *self.seqs.outcome_seqs.tolist(),
                *repeat(NULL, len(work.outcomes) - len(stretch.outcomes)),
            ]
            acks = [
                (
                    outcome.delivery.key.index,
                    NULL,
                    seq,
                    outcome.delivery.received.message,
                    outcome.delivery.about,
                )
                for seq, outcome in zip(seqs, work.outcomes)
            ]
            several.insert(-1, AckColumns.of(acks))
        return 0 if groups.waiting else groups.outcomes_from, AckColumns.joined(several)

    def delivery(self, place: int) -> Delivery:
        """An arrival delivered to the application."""
        received = self.received(place)
        key = new_tuple(MessageKey, (self.work.flow.topic.place, received.index, NULL))
        return new_tuple(Delivery, (received, int(self.delivered[place]), key, self.about.one(place)))
