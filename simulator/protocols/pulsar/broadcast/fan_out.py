"""Serves audiences in columns: all dispatches before any other event are one batch.

Rules: an event of the clock's queue is due when the next dispatch leaves or the next member is connected at
any broker. It then processes whole instants up to the next event of anything else, the end of the run, or a
bound on rows. It sorts them into one order and writes their rows. In a window only audiences change, so the
place where it is cut changes no row.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from simulator.protocols.pulsar.events import CODE
from simulator.protocols.pulsar.ranks import FAN_OUT, rank
from simulator.protocols.pulsar.storage import retention
from simulator.trace.registry import NULL
from simulator.trace.trace import RowColumns

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broadcast.audience import Audience
    from simulator.protocols.pulsar.broadcast.broker import Broker
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.protocols.pulsar.pulsar import Pulsar


# --- the rows of dispatches and connections of audiences, made as columns
#
# Rules: an item is one message of one dispatch, or one connection. Items have the order key (instant,
# broker, order of making). The rows of an item have a fixed order: one row for a connection, for a message
# `message.dispatched`, `.delivered`, `.acknowledged`, `.registered`. A batched entry is dispatched whole:
# its messages' `message.dispatched` rows are first, as in the ordinary engine. The causes are also the
# ordinary engine's.


CONNECTED, DISPATCHED = CODE["consumer.connected"], CODE["message.dispatched"]
DELIVERED, ACKNOWLEDGED, REGISTERED = (
    CODE["message.delivered"],
    CODE["message.acknowledged"],
    CODE["message.registered"],
)
MESSAGE_ROWS = (DISPATCHED, DELIVERED, ACKNOWLEDGED, REGISTERED)

(
    AT,
    BROKER,
    CLUSTER,
    TOPIC,
    SUBSCRIPTION,
    CLIENT,
    PRODUCER,
    SEQUENCE,
    LEDGER,
    ENTRY,
    PLACE,
    BATCH,
    SIZE,
    SERVICE,
    CAUSE,
    STORED,
) = range(16)
"""Columns of an item.

PLACE is the message's place in its entry, BATCH how many the entry holds, 0 for a connection.
"""

ROWS_EACH = len(MESSAGE_ROWS)
"""Rows of one message that is delivered to one member."""


def connection_items(audience: Audience, broker: int, first: int, instants: np.ndarray) -> np.ndarray:
    """Items of members `first`… that are connected at these instants; shape (members, 16)."""
    items = np.zeros((len(instants), 16), dtype=np.int64)
    _write_clients(items, audience, broker, first + np.arange(len(instants)), instants)
    return items


def _write_clients(
    items: np.ndarray, audience: Audience, broker: int, members: np.ndarray | int, instants: np.ndarray
) -> None:
    items[:, AT] = instants
    items[:, BROKER] = broker
    items[:, CLUSTER] = audience.topic.cluster.number
    items[:, TOPIC] = audience.topic.number
    items[:, SUBSCRIPTION] = audience.number
    items[:, CLIENT] = audience.first_client + members


def dispatch_items(run: Run, broker: int, instants: np.ndarray) -> np.ndarray:
    """Items of the next dispatches of a run, which leave at these instants; shape (messages, 16)."""
    audience, count = run.audience, len(instants)
    if len(run.entries) == 1:
        items = _of_entry(run, 0, count)
        repeats, members = len(items) // count, run.first + run.done + np.arange(count)
        _write_clients(items, audience, broker, np.repeat(members, repeats), np.repeat(instants, repeats))
        return items
    parts = []
    for place, at_us in zip(range(run.done, run.done + count), instants.tolist(), strict=True):
        part = _of_entry(run, place, 1)
        _write_clients(part, audience, broker, run.first, np.full(len(part), at_us))
        parts.append(part)
    return np.concatenate(parts)


def _of_entry(run: Run, place: int, count: int) -> np.ndarray:
    """Items of `count` dispatches of one entry, without member and instant."""
    audience, index = run.audience, run.entries[place]
    topic, messages = audience.topic, audience.runtime.messages
    first = topic.log.records[index]
    batch = messages.batch[first]
    items = np.zeros((batch, 16), dtype=np.int64)
    items[:, PRODUCER] = messages.producer[first]
    items[:, SEQUENCE] = messages.sequence_id[first : first + batch]
    items[:, LEDGER], items[:, ENTRY] = topic.log.position(index)
    items[:, PLACE] = np.arange(batch)
    items[:, BATCH] = batch
    items[0, SIZE], items[0, SERVICE] = audience.entry_bytes(index), run.service_us[place]
    items[:, CAUSE] = run.cause
    items[:, STORED] = topic.stored_seqs[index]
    return np.tile(items, (count, 1))


def messages_of(run: Run, count: int) -> int:
    """How many messages its next dispatches hold."""
    batch, records = run.audience.runtime.messages.batch, run.audience.topic.log.records
    if len(run.entries) == 1:
        return count * batch[records[run.entries[0]]]
    return sum(batch[records[index]] for index in run.entries[run.done : run.done + count])


def write(runtime: Pulsar, items: np.ndarray, audiences: list[Audience]) -> None:
    """Sort the items and write their rows. `audiences` are those that may be among them."""
    items = items[np.lexsort((items[:, BROKER], items[:, AT]))]
    made = items[:, BATCH] > 0
    widths = np.where(made, ROWS_EACH, 1)
    starts = np.cumsum(widths) - widths + runtime.seq
    parts: list[RowColumns] = []
    joined, sent = items[~made], items[made]
    if len(joined):
        _remember(joined, starts[~made], audiences)
        parts.append(_rows(CONNECTED, starts[~made], joined, NULL, (SUBSCRIPTION, CLIENT)))
    if len(sent):
        places = _places(sent, starts[made])
        _fill_in_causes(sent, audiences)
        parts += _message_rows(runtime, sent, *places)
    runtime.emit_rows(int(widths.sum()), parts)


def _places(sent: np.ndarray, begins: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Seqs of the `message.dispatched` and `message.delivered` rows; the other two follow the latter."""
    entry = begins - ROWS_EACH * sent[:, PLACE]
    return entry + sent[:, PLACE], entry + sent[:, BATCH] + 3 * sent[:, PLACE]


def _message_rows(
    runtime: Pulsar, sent: np.ndarray, dispatched: np.ndarray, delivered: np.ndarray
) -> list[RowColumns]:
    first = sent[:, PLACE] == 0
    batch_index = np.where(sent[:, BATCH] == 1, NULL, sent[:, PLACE])
    who = (SUBSCRIPTION, CLIENT, PRODUCER, SEQUENCE, LEDGER, ENTRY)
    # the second message of an entry waits until the first is acknowledged
    before = np.where(first, dispatched, delivered - 2)
    return [
        _rows(
            DISPATCHED, dispatched, sent, sent[:, CAUSE], who, batch_index, sent[:, SIZE], sent[:, SERVICE]
        ),
        _rows(DELIVERED, delivered, sent, before, who, batch_index, 0, sent[:, STORED]),
        _rows(ACKNOWLEDGED, delivered + 1, sent, delivered, who, batch_index, runtime.name("individual")),
        _rows(REGISTERED, delivered + 2, sent, delivered + 1, who, batch_index),
    ]


def _rows(
    code: int,
    seqs: np.ndarray,
    items: np.ndarray,
    cause: np.ndarray | int,
    columns: tuple[int, ...],
    *more: np.ndarray | int,
) -> RowColumns:
    """(at_us, cause_seq, cluster, topic, *columns, *more) of each item."""
    return RowColumns(
        code,
        seqs,
        (
            items[:, AT],
            cause,
            items[:, CLUSTER],
            items[:, TOPIC],
            *(items[:, column] for column in columns),
            *more,
        ),
    )


def _of(audience: Audience, items: np.ndarray) -> np.ndarray:
    """Indices of the items that are of an audience."""
    return np.flatnonzero(
        (items[:, SUBSCRIPTION] == audience.number) & (items[:, TOPIC] == audience.topic.number)
    )


def _remember(joined: np.ndarray, seqs: np.ndarray, audiences: list[Audience]) -> None:
    """Keep the seq of each member's connection: the cause of its catch-up rows."""
    for audience in audiences:
        here = _of(audience, joined)
        audience.connected_seqs[joined[here, CLIENT] - audience.first_client] = seqs[here]


def _fill_in_causes(sent: np.ndarray, audiences: list[Audience]) -> None:
    """Set the causes of catch-up rows to the member's connection."""
    unknown = np.flatnonzero(sent[:, CAUSE] == UNKNOWN)
    for audience in audiences if len(unknown) else ():
        here = unknown[_of(audience, sent[unknown])]
        sent[here, CAUSE] = audience.connected_seqs[sent[here, CLIENT] - audience.first_client]


# --- the pending work of a broker for an audience, kept as a few numbers, not an object per dispatch
#
# Rules: a run is one entry for a range of members, or several entries for one member that catches up. Its
# dispatches follow each other without a gap from `start_us` on. `done` of them have left. A block of
# clients is connected one after another in the same way.


UNKNOWN = -1
"""Cause of a run that a connection began.

The true cause is the seq of the member's own `consumer.connected` row, which is assigned later.
"""


class Run:
    """Dispatches of `entries` (log indices) to members `first` to `first + members - 1`.

    It has one entry or one member.
    """

    __slots__ = (
        "audience",
        "entries",
        "first",
        "members",
        "service_us",
        "start_us",
        "done",
        "order",
        "cause",
        "_offsets_us",
    )

    def __init__(
        self,
        audience: Audience,
        entries: tuple[int, ...],
        first: int,
        members: int,
        service_us: tuple[int, ...],
        cause: int,
    ) -> None:
        assert len(entries) == 1 or members == 1, (
            "a run is one entry for many members, or many entries for one"
        )
        self.audience = audience
        self.entries = entries
        self.first = first
        self.members = members
        self.service_us = service_us  # of each entry
        self.cause = cause
        self.start_us = self.order = self.done = 0
        self._offsets_us = (
            None if len(entries) == 1 else np.array([0, *accumulate(service_us)], dtype=np.int64)
        )

    @property
    def topic(self) -> Topic:
        return self.audience.topic

    @property
    def total(self) -> int:
        """How many dispatches it is."""
        return self.members * len(self.entries)

    def offset_us(self, count: int) -> int:
        """How long its first `count` dispatches take."""
        return count * self.service_us[0] if self._offsets_us is None else int(self._offsets_us[count])

    @property
    def begins_us(self) -> int:
        """When the next dispatch begins."""
        return self.start_us + self.offset_us(self.done)

    @property
    def next_us(self) -> int:
        """When the next dispatch leaves."""
        return self.start_us + self.offset_us(self.done + 1)

    @property
    def end_us(self) -> int:
        return self.start_us + self.offset_us(self.total)

    def over_us(self, place: int) -> int:
        """When all members have the entry at this place."""
        return self.end_us if self._offsets_us is None else self.start_us + self.offset_us(place + 1)

    def leaving(self, before_us: int) -> int:
        """How many more dispatches leave before an instant."""
        left_us = before_us - 1 - self.start_us
        if left_us < 0:
            return 0
        if self._offsets_us is not None:
            return max(0, int(np.searchsorted(self._offsets_us, left_us, side="right")) - 1 - self.done)
        service_us = self.service_us[0]
        return max(0, min(self.total, left_us // service_us if service_us else self.total) - self.done)

    def leave_instants(self, count: int) -> np.ndarray:
        """When each of the next `count` dispatches leaves, us."""
        numbers = np.arange(self.done + 1, self.done + count + 1, dtype=np.int64)
        return self.start_us + (
            numbers * self.service_us[0] if self._offsets_us is None else self._offsets_us[numbers]
        )

    def begin_at(self, at_us: int) -> Run:
        """Move the next dispatch's beginning to an instant, and the later ones accordingly."""
        self.start_us = at_us - self.offset_us(self.done)
        return self


class ConnectingBlock:
    """The members of an audience, connected one after another from `start_us` on.

    Each takes `step_us`, which is more than 0.
    """

    __slots__ = ("client", "start_us", "step_us", "done")

    def __init__(self, client: Audience, start_us: int, step_us: int) -> None:
        self.client = client
        self.start_us = start_us
        self.step_us = step_us
        self.done = 0

    @property
    def topic(self) -> Topic:
        return self.client.topic

    @property
    def next_us(self) -> int:
        """When the next member is connected."""
        return self.start_us + (self.done + 1) * self.step_us

    @property
    def end_us(self) -> int:
        return self.start_us + self.client.size * self.step_us

    def leaving(self, before_us: int) -> int:
        """How many more members are connected before an instant."""
        left_us = before_us - 1 - self.start_us
        if left_us < 0:
            return 0
        return max(0, min(self.client.size, left_us // self.step_us) - self.done)

    def instants(self, count: int) -> np.ndarray:
        """When each of the next `count` members is connected, us."""
        return self.start_us + np.arange(self.done + 1, self.done + count + 1, dtype=np.int64) * self.step_us


ROWS_AT_ONCE = 4_096
"""Approximate number of rows that a window makes, some milliseconds of work.

A run with audiences must not delay the others. An instant with more rows is not cut.
"""


class FanOut:
    """Serves all audiences of a run."""

    def __init__(self, runtime: Pulsar) -> None:
        self.runtime = runtime
        self.rank = rank(FAN_OUT, 0)
        self.audiences: list[Audience] = []
        self.brokers: list[Broker] = []  # those of clusters with audiences, by name
        self.due_us: int | None = None
        self.epoch = 0  # counts scheduled events: an earlier one is stale
        self.flowing = False

    def add(self, audience: Audience) -> None:
        """Serve an existing topic's audience."""
        self.audiences.append(audience)
        for broker in audience.topic.cluster.brokers:
            if broker not in self.brokers:
                self.brokers = sorted((*self.brokers, broker), key=lambda one: one.name)

    def wake(self) -> None:
        """Schedule the event of the next dispatch or connection."""
        if self.flowing:
            return
        instants = [
            queue[0].next_us
            for broker in self.brokers
            for queue in (broker.runs, broker.admissions.blocks)
            if queue
        ]
        next_us = max(min(instants), self.runtime.now_us) if instants else None
        if next_us is not None and (self.due_us is None or next_us < self.due_us):
            self.due_us = next_us
            self.epoch += 1
            self.runtime.schedule(next_us, self.rank, self.flow, self.epoch)

    def flow(self, epoch: int) -> int | None:
        """Run every dispatch and connection that is due; returns how many queue events that replaces."""
        if epoch != self.epoch:
            return None
        self.due_us, self.flowing = None, True
        horizon_us = self._horizon_us()
        slowest = [
            (audience, audience.slowest())
            for audience in self.audiences
            if len(audience.topic.log.ledgers) > 1
        ]
        bordering = [
            (audience, before, audience.border.position(before)[0])
            for audience, before in slowest
            if before is not None
        ]
        parts = self._take(horizon_us)
        if parts:
            items = np.concatenate(parts)
            write(self.runtime, items, self.audiences)
            self.runtime.now_us = int(items[:, AT].max())
            for audience, before, ledger in bordering:
                after = audience.slowest()
                assert after is not None, "it had a slowest member before"
                retention.trim_if_switched(audience.topic, ledger, before, after, self.runtime.seq - 1)
        self.flowing = False
        self.wake()
        return sum(len(part) for part in parts) // _DISPATCHES_PER_EVENT or 1

    def connect_at_once(self, audience: Audience) -> None:
        """Connect every member now."""
        instants = np.full(audience.size, self.runtime.now_us)
        items = connection_items(audience, 0, 0, instants)
        audience.connect(audience.size, instants)
        write(self.runtime, items, [audience])

    # --- how far a batch reaches

    def _horizon_us(self) -> int:
        """The end of the batch: the first instant that is not in it."""
        runtime = self.runtime
        now_us, limit_us = runtime.now_us, runtime.limit_us + 1
        horizon_us = max(
            now_us + 1, limit_us if runtime.next_at_us is None else min(limit_us, runtime.next_at_us)
        )
        horizon_us = min(horizon_us, self._first_needy_us(horizon_us), self._first_border_us(horizon_us))
        while horizon_us > now_us + 1 and (count := self._rows_before(horizon_us)) > 2 * ROWS_AT_ONCE:
            horizon_us = now_us + max(1, (horizon_us - now_us) * ROWS_AT_ONCE // count)
        left = None if runtime.rows_max is None else max(1, runtime.rows_max - runtime.seq)
        return (
            horizon_us
            if left is None or self._rows_before(horizon_us) < left
            else self._end_of_full_instant(left, horizon_us)
        )

    def _end_of_full_instant(self, left: int, horizon_us: int) -> int:
        """The horizon right after the instant of the last row that is still allowed."""
        low, high = self.runtime.now_us + 1, horizon_us
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if self._rows_before(middle) >= left else (middle + 1, high)
        return high

    def _rows_before(self, horizon_us: int) -> int:
        """Number of rows of dispatches and connections before an instant."""
        found = 0
        for broker in self.brokers:
            for block in broker.admissions.blocks:
                if not (count := block.leaving(horizon_us)):
                    break
                found += count
            for run in broker.runs:
                if not (count := run.leaving(horizon_us)):
                    break
                found += ROWS_EACH * messages_of(run, count)
        return found

    def _first_needy_us(self, horizon_us: int) -> int:
        """Just after the first connection of a member with a backlog: its run is computed only then."""
        for broker in self.brokers:
            for block in broker.admissions.blocks:
                count = block.leaving(horizon_us)
                if not count:
                    break
                needy = block.client.first_needy(block.done, count)
                if needy is not None:
                    horizon_us = min(horizon_us, block.start_us + (needy + 1) * block.step_us + 1)
        return horizon_us

    def _first_border_us(self, horizon_us: int) -> int:
        """Just after the first entry that moves its receivers into another ledger.

        From then on the ledger before it may be deleted.
        """
        for broker in self.brokers:
            for run in broker.runs:
                if not run.leaving(horizon_us):
                    break
                crossing_us = [
                    over_us for place in _crossings(run) if (over_us := run.over_us(place)) >= run.next_us
                ]
                horizon_us = min([horizon_us, *(over_us + 1 for over_us in crossing_us)])
        return horizon_us

    # --- taking items

    def _take(self, horizon_us: int) -> list[np.ndarray]:
        """The items of everything that leaves before the horizon.

        Connections of a broker are before its dispatches.
        """
        parts = []
        for number, broker in enumerate(self.brokers):
            while broker.admissions.blocks and (count := broker.admissions.blocks[0].leaving(horizon_us)):
                block = broker.admissions.blocks[0]
                instants = block.instants(count)
                parts.append(connection_items(block.client, number, block.done, instants))
                block.client.connect(count, instants)
                broker.admissions.admitted(count)
            while broker.runs and (count := broker.runs[0].leaving(horizon_us)):
                run = broker.runs[0]
                instants = run.leave_instants(count)
                parts.append(dispatch_items(run, number, instants))
                run.audience.took(run, count, instants)
                broker.took(run, count)
        return parts


_DISPATCHES_PER_EVENT = 16
"""A dispatch in columns takes about a sixteenth of the time of an event of the queue."""


def _crossings(run: Run) -> list[int]:
    """Places in a run's entries whose entry is the first with data in its ledger.

    The first kept ledger does not count.
    """
    entries, log = run.entries, run.topic.log
    borders = [ledger.first_index for ledger in log.ledgers[1:]]
    entered = bisect_right(borders, entries[0])  # how many of these ledgers begin at or before the run
    places = [place for border in borders[entered:] if (place := bisect_left(entries, border)) < len(entries)]
    if entered and not (log.records.view(borders[entered - 1], entries[0]) >= 0).any():
        places.insert(0, 0)
    return places
