"""Typed views of the trace for counting: one table per event type, read in one pass.

Rules: this module only reads, it judges nothing. A position is packed as `ledger << 32 | (entry + 1)`, so
positions of one log compare as integers and entry -1 is the place before the first. A message is a dense
number made from (producer, sequence id). Rows of a table are in the order of `seq`. "Before an instant"
always means before a row, never before a microsecond.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from simulator.protocols.pulsar.events import BY_NAME
from simulator.trace.registry import NAME_COLUMNS, NULL, EventType

if TYPE_CHECKING:
    from simulator.trace.trace import Trace

NEVER = 1 << 62
"""A seq later than every row."""

_CHUNK_ROWS = 65_536
"""Rows read at once: one of the trace's blocks, so that columns need no joining; more cost more a row."""

_ENTRY_BITS = 32
_NAMES = frozenset(NAME_COLUMNS)
_UNREAD = frozenset(("batch_index", "size_bytes", "detail"))
_WHO = ("cluster", "topic", "subscription")
_NEEDED: dict[str, tuple[str, ...]] = {
    # types with a row for each message keep only the columns that are read, beside seq and message
    "message.published": ("key",),
    "message.receipted": (),
    "message.stored": ("at_us", "cluster", "peer", "topic", "position"),
    "message.delivered": ("at_us", *_WHO, "client", "position"),
    "message.acknowledged": ("at_us", *_WHO, "position"),
    "message.registered": (*_WHO, "position"),
    "message.dropped": (*_WHO, "peer"),
}
_PAIRS = {"position": ("ledger", "entry"), "to_position": ("to_ledger", "to_entry")}

_TYPES: tuple[str, ...] = (
    "cluster.crashed",
    "cluster.restarted",
    "cluster.lost",
    "link.cut",
    "link.healed",
    "link.slowed",
    "setting.changed",
    "ledger.trimmed",
    "message.published",
    "message.stored",
    "message.deduplicated",
    "message.receipted",
    "message.not-replicated",
    "message.delivered",
    "message.acknowledged",
    "message.registered",
    "message.dropped",
    "message.expired",
    "message.skipped",
    "message.evicted",
    "message.removed",
    "marker.written",
    "marker.sent",
    "marker.stored",
    "marker.handled",
    "marker.lost",
    "marker.delayed",
    "marker.dropped",
    "marker.filtered",
    "snapshot.requested",
    "snapshot.refused",
    "snapshot.completed",
    "snapshot.position",
    "snapshot.timed-out",
    "snapshot.cached",
    "snapshot.evicted",
    "snapshot.used",
    "update.written",
    "update.position",
    "update.applied",
    "update.refused",
    "subscription.created",
    "subscription.deleted",
    "subscription.replication-switched",
    "cursor.moved",
    "cursor.persisted",
    "cursor.recovered",
    "consumer.connected",
    "replicator.created",
    "replicator.removed",
    "failover.started",
    "acknowledgements.sent",
    "acknowledgements.applied",
    "acknowledgements.lost",
    "topic.unloaded",
    "migration.started",
)


def pack(ledger: np.ndarray, entry: np.ndarray) -> np.ndarray:
    """Positions as integers that compare as (ledger, entry); NULL stays NULL."""
    return np.where(ledger == NULL, NULL, (ledger << _ENTRY_BITS) + entry + 1)


def ledger_of(position: np.ndarray) -> np.ndarray:
    """The ledger of packed positions."""
    return position >> _ENTRY_BITS


class Table:
    """Rows of one event type.

    Columns are attributes: `seq`, `at_us`, the type's own, `position`, `to_position`, `message`.
    """

    def __init__(self, columns: dict[str, np.ndarray]) -> None:
        self.columns = columns

    def __getattr__(self, name: str) -> np.ndarray:
        try:
            return self.columns[name]
        except KeyError:
            raise AttributeError(
                f"this table has no column {name}: it has {', '.join(self.columns)}"
            ) from None

    def __len__(self) -> int:
        return len(self.columns["seq"])

    def take(self, rows: np.ndarray | slice) -> Table:
        """The rows of a mask, of indices or of a slice."""
        return Table({name: values[rows] for name, values in self.columns.items()})

    def where(self, **equal: int) -> Table:
        """The rows whose columns have these values."""
        chosen = np.ones(len(self), dtype=bool)
        for name, value in equal.items():
            chosen &= self.columns[name] == value
        return self if chosen.all() else self.take(chosen)

    def upto(self, seq: int) -> Table:
        """The rows at or before `seq`."""
        return self.take(slice(0, int(np.searchsorted(self.seq, seq, side="right"))))

    def between(self, after_seq: int, before_seq: int) -> Table:
        """The rows after one row and before another, both excluded."""
        first = int(np.searchsorted(self.seq, after_seq, side="right"))
        return self.take(slice(first, max(first, int(np.searchsorted(self.seq, before_seq, side="left")))))

    def dicts(self) -> list[dict[str, int]]:
        """Rows as dicts of plain integers: for the control plane, where rows are few."""
        names = list(self.columns)
        return [
            dict(zip(names, values, strict=True))
            for values in zip(*(column.tolist() for column in self.columns.values()), strict=True)
        ]


class History:
    """The rows before `upto_seq` of a trace, by type, and the numbering of messages."""

    def __init__(self, trace: Trace, upto_seq: int | None = None, left_out: tuple[str, ...] = ()) -> None:
        """`left_out` are subscriptions whose rows are not read: an audience's name covers many."""
        self.upto_seq = len(trace) if upto_seq is None else min(upto_seq, len(trace))
        self.names = trace.names
        self._trace = trace
        numbers = [trace.number(name) for name in left_out]
        self._tables = _read(trace, self.upto_seq, [number for number in numbers if number is not None])
        self._slices: dict[tuple, Table] = {}
        self._number_messages()

    def number(self, name: str) -> int:
        """The number of a name; -1, which no row has, when the trace never used it."""
        number = self._trace.number(name)
        return -1 if number is None else number

    def at_us(self, seq: int) -> int:
        """The instant of a row."""
        return self._trace.at_us(seq)

    def row(self, seq: int) -> dict:
        """One row as the trace gives it, names as strings."""
        return self._trace.row(seq)

    def table(self, event: str, **equal: int) -> Table:
        """The rows of a type whose columns have these values; the result is cached."""
        if not equal:
            return self._tables[event]
        key = (event, *sorted(equal.items()))
        if key not in self._slices:
            self._slices[key] = self._tables[event].where(**equal)
        return self._slices[key]

    def identity(self, message: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Producers (name numbers) and sequence ids of message numbers."""
        which = np.searchsorted(self._first, message, side="right") - 1
        return self._producers[which], message - self._first[which]

    def _number_messages(self) -> None:
        tables = [table for table in self._tables.values() if "identity" in table.columns]
        highest: dict[int, int] = {}
        for table in tables:
            for producer, last in _highest(table.identity):
                highest[producer] = max(last, highest.get(producer, 0))
        self._producers = np.array(sorted(highest), dtype=np.int64)
        counts = np.array([highest[producer] + 1 for producer in sorted(highest)], dtype=np.int64)
        self._first = np.concatenate(([0], np.cumsum(counts)))[:-1].astype(np.int64)
        self.message_count = int(counts.sum())
        offset = np.zeros(len(self.names) + 1, dtype=np.int64)
        offset[self._producers] = self._first
        for table in tables:
            identity = table.columns.pop("identity")
            table.columns["message"] = offset[identity >> _ENTRY_BITS] + (identity & ((1 << _ENTRY_BITS) - 1))


def _highest(identity: np.ndarray) -> list[tuple[int, int]]:
    """The highest sequence id of each producer among packed identities."""
    if not len(identity):
        return []
    producers = identity >> _ENTRY_BITS
    last = np.full(int(producers.max()) + 1, -1, dtype=np.int64)
    np.maximum.at(last, producers, identity & ((1 << _ENTRY_BITS) - 1))
    return [(int(producer), int(last[producer])) for producer in np.flatnonzero(last >= 0)]


def _read(trace: Trace, upto_seq: int, left_out: list[int]) -> dict[str, Table]:
    """One table per type, packed columns only, without the rows of the subscriptions left out."""
    types = [BY_NAME[name] for name in _TYPES]
    wanted = sorted(
        {"type", "at_us"} | {field for event in types for field in event.fields if field not in _UNREAD}
    )
    parts: dict[str, list[dict[str, np.ndarray]]] = {name: [] for name in _TYPES}
    for first in range(0, max(upto_seq, 1), _CHUNK_ROWS):
        columns = trace.columns(first, min(first + _CHUNK_ROWS, upto_seq), names=wanted)
        if left_out:
            columns["type"][np.isin(columns["subscription"], left_out)] = len(trace.vocabulary.types)
        order = np.argsort(columns["type"].astype(np.int16), kind="stable")
        codes = columns["type"][order]
        for event in types:
            start, stop = np.searchsorted(codes, (event.code, event.code + 1))
            if stop > start or not parts[event.name]:
                parts[event.name].append(_typed(event, columns, order[start:stop], first))
    return {
        name: Table({column: np.concatenate([part[column] for part in chunks]) for column in chunks[0]})
        for name, chunks in parts.items()
    }


def _typed(
    event: EventType, columns: dict[str, np.ndarray], rows: np.ndarray, first: int
) -> dict[str, np.ndarray]:
    """The columns of one type in one chunk: pairs packed, names as 32-bit numbers (-1: none)."""
    needed = _NEEDED.get(event.name)
    typed = {"seq": rows + first}
    packed: set[str] = set()
    for name, (ledger, entry) in _PAIRS.items():
        if entry in event.fields:
            packed |= {ledger, entry}
            if needed is None or name in needed:
                typed[name] = pack(columns[ledger][rows], columns[entry][rows])
    if "producer" in event.fields:
        packed |= {"producer", "sequence_id"}
        typed["identity"] = (columns["producer"][rows] << _ENTRY_BITS) + columns["sequence_id"][rows]
    for name in ("at_us", *event.fields):
        if name in packed or name in _UNREAD or (needed is not None and name not in needed):
            continue
        values = columns[name][rows]
        typed[name] = np.where(values == NULL, -1, values).astype(np.int32) if name in _NAMES else values
    return typed
