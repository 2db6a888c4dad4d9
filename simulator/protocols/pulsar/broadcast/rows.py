"""The rows of dispatches and connections of audiences, made as columns.

Rules: an item is one message of one dispatch, or one connection. Items have the order key (instant, broker,
order of making). The rows of an item have a fixed order: one row for a connection, for a message
`message.dispatched`, `.delivered`, `.acknowledged`, `.registered`. A batched entry is dispatched whole: its
messages' `message.dispatched` rows are first, as in the ordinary engine. The causes are also the ordinary
engine's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from simulator.protocols.pulsar.broadcast.runs import UNKNOWN
from simulator.protocols.pulsar.events import CODE
from simulator.trace.registry import NULL
from simulator.trace.row_columns import RowColumns

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broadcast.audience import Audience
    from simulator.protocols.pulsar.broadcast.runs import Run
    from simulator.protocols.pulsar.pulsar import Pulsar

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
