"""The data that counting uses: a run's rows and scenario, and logs and cursors, each made once.

Rules: names are numbers of the trace's name table. -1 is a name that no row used. The scenario has what rows
do not record: configured latencies, replication lists and settings from before the run. A position is packed
as `ledger << 32 | (entry + 1)`, so positions of one log compare as integers and entry -1 is the place before
the first. A message is a dense number made from (producer, sequence id). Rows of a table are in the order of
`seq`. "Before an instant" always means before a row, never before a microsecond.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from simulator.protocols.pulsar.events import BY_NAME
from simulator.trace.registry import NAME_COLUMNS, NULL, EventType

if TYPE_CHECKING:
    from simulator.trace.trace import Trace


# --- the data that counting uses: a run's rows and scenario, and logs and cursors, each made once
#
# Rules: names are numbers of the trace's name table. -1 is a name that no row used. The scenario has what
# rows do not record: configured latencies, replication lists and settings from before the run.


FEATURE = "enableReplicatedSubscriptions"
BY_MAP = ("migration", "roll-back")
"""Modes of a failover in which clients follow the LookupService's map."""
_PARTITION = "-partition-"

if TYPE_CHECKING:
    from simulator.protocols.pulsar.verdicts.windows import Window


@dataclass(frozen=True, slots=True)
class End:
    """When a cluster's part in a failover ended.

    It is the crash after which it had not restarted, else the failover itself.
    """

    seq: int
    at_us: int
    crashed: bool


class Facts:
    """Rows and scenario of one run."""

    def __init__(self, history: History, scenario: Any) -> None:
        self.history = history
        self.scenario = scenario
        self._logs: dict[tuple[int, int], Log] = {}
        self._cursors: dict[tuple[int, int, int], Cursor] = {}

    # --- names

    def name(self, number: int) -> str:
        """The word of a name number."""
        return self.history.names[int(number)]

    @cached_property
    def clusters(self) -> list[int]:
        """The clusters that rows mention, in order of names."""
        numbers = [self.history.number(name) for name in sorted(self.scenario.clusters)]
        return [number for number in numbers if number >= 0]

    def topics_of(self, subscription: int) -> list[int]:
        """The subscription's topic, or its partitions, as rows name them."""
        created = np.unique(
            self.history.table("subscription.created", subscription=subscription).topic
        ).tolist()
        spec = self.scenario.subscriptions.get(self.name(subscription))
        bases = [self.base_of(topic) for topic in created] if spec is None else [spec.topic]
        stored = np.unique(self.history.table("message.stored").topic).tolist()
        return [topic for topic in sorted({*stored, *created}) if self.base_of(topic) in bases]

    def subscriptions(self) -> list[int]:
        """Every subscription that rows mention, in order of names.

        These are the subscriptions of the scenario and those that a command created.
        """
        rows = [
            self.history.table(event).subscription for event in ("subscription.created", "message.delivered")
        ]
        return sorted(np.unique(np.concatenate(rows)).tolist(), key=self.name)

    def base_of(self, topic: int) -> str:
        """The topic's name in the scenario: without its partition."""
        name = self.name(topic)
        base, mark, partition = name.rpartition(_PARTITION)
        return base if mark and partition.isdigit() and name not in self.scenario.topics else name

    # --- logs and cursors

    def log(self, cluster: int, topic: int) -> Log:
        key = (cluster, topic)
        if key not in self._logs:
            self._logs[key] = Log(self.history, cluster, topic)
        return self._logs[key]

    def cursor(self, subscription: int, cluster: int, topic: int) -> Cursor:
        key = (subscription, cluster, topic)
        if key not in self._cursors:
            self._cursors[key] = Cursor(self.history, self.log(cluster, topic), subscription, cluster, topic)
        return self._cursors[key]

    @cached_property
    def receipted_seq(self) -> np.ndarray:
        """By message the seq at which it was first acknowledged to its producer."""
        return self.first("message.receipted")

    def first(self, event: str, **equal: int) -> np.ndarray:
        """By message the seq of its first row of a type, NEVER when it has none."""
        rows = self.history.table(event, **equal)
        return first_seq(rows.message, rows.seq, self.history.message_count)

    # --- clusters and configuration

    def end_of(self, cluster: int, opened_seq: int) -> End:
        """min(failover, crash): the crash after which the cluster had not restarted at the failover."""
        history = self.history
        rows = [
            (int(seq), event)
            for event in ("cluster.crashed", "cluster.lost", "cluster.restarted")
            for seq in history.table(event, cluster=cluster).upto(opened_seq).seq
        ]
        crash = None
        for seq, event in sorted(rows):
            crash = None if event == "cluster.restarted" else seq if crash is None else crash
        seq = opened_seq if crash is None else crash
        return End(seq, history.at_us(seq), crash is not None)

    def end_in(self, window: Window, cluster: int, topic: int) -> End:
        """The end of a cluster's part in one topic.

        Where clients follow the LookupService's map they stay until the topic is unloaded, which comes after
        the failover: then it is the last such unload of the window.
        """
        end = self.end_of(cluster, window.opened_seq)
        if end.crashed or cluster == window.target or self.name(window.mode) not in BY_MAP:
            return end
        unloads = self.history.table("topic.unloaded", cluster=cluster, topic=topic).between(
            window.opened_seq, window.closed_seq
        )
        reasons = [self.history.number(reason) for reason in ("migration", "crash")]
        left = unloads.seq[np.isin(unloads.reason, reasons)]
        return End(int(left[-1]), self.history.at_us(int(left[-1])), False) if len(left) else end

    def migrates_with_sync(self, topic: int, before_seq: int) -> bool:
        """Whether a migration of the topic's tenant with acknowledgement-state sync was started before."""
        tenant = self.history.number(self.scenario.topics[self.base_of(topic)].tenant)
        strategy = self.history.number("acknowledgement-sync")
        return (
            len(self.history.table("migration.started", tenant=tenant, reason=strategy).upto(before_seq)) > 0
        )

    def was_down(self, cluster: int, first_us: int, last_us: int) -> int | None:
        """The crash row because of which the cluster was down at some instant of the span.

        None when it was up throughout.
        """
        crash: int | None = None
        rows = [
            (row["seq"], row["at_us"], event)
            for event in ("cluster.crashed", "cluster.lost", "cluster.restarted")
            for row in self.history.table(event, cluster=cluster).dicts()
        ]
        for seq, at_us, event in sorted(rows):
            if at_us > last_us:
                break
            if event == "cluster.restarted":
                crash = crash if at_us > first_us else None
            else:
                crash = seq
        return crash

    def latency_us(self, source: int, target: int) -> int:
        """The configured nominal latency of a link."""
        link = self.scenario.links.get((self.name(source), self.name(target)))
        return 0 if link is None else link.latency.nominal_us

    def bandwidth_limited(self, source: int, target: int) -> bool:
        """Whether entries queue on the link for its bandwidth."""
        link = self.scenario.links.get((self.name(source), self.name(target)))
        return link is not None and link.bandwidth_bytes_per_s is not None

    def replication_list(self, cluster: int, topic: int, seq: int) -> list[int]:
        """The clusters of the topic's replication list as `cluster` had it at `seq`, in order of names.

        The cluster itself is included.
        """
        listed = {self.history.number(name) for name in self.scenario.topics[self.base_of(topic)].clusters}
        for row in self._replicator_rows(cluster, topic):
            if row["seq"] <= seq:
                (listed.add if row["created"] else listed.discard)(row["peer"])
        return sorted((number for number in {*listed, cluster} if number >= 0), key=self.name)

    def _replicator_rows(self, cluster: int, topic: int) -> list[dict[str, int]]:
        rows = [
            row | {"created": event == "replicator.created"}
            for event in ("replicator.created", "replicator.removed")
            for row in self.history.table(event, cluster=cluster, topic=topic).dicts()
        ]
        return sorted(rows, key=lambda row: row["seq"])

    def replicator_at(
        self, source: int, target: int, topic: int, seq: int
    ) -> tuple[bool, dict[str, int] | None]:
        """Whether a replication cursor source -> target existed at `seq`, and the row that shows it.

        The row created or removed the cursor; None when there is no such row.
        """
        rows = [
            row for row in self._replicator_rows(source, topic) if row["peer"] == target and row["seq"] <= seq
        ]
        return (bool(rows[-1]["created"]), rows[-1]) if rows else (False, None)

    def feature_off(self, cluster: int, seq: int) -> int | None:
        """The row since which replicated subscriptions were off in the cluster; None when they were on.

        Row 0, the start of the run, when the configuration switches them off.
        """
        spec = self.scenario.clusters[self.name(cluster)]
        row = None if {**self.scenario.settings, **spec.settings}.get(FEATURE, True) else 0
        changes = self.history.table(
            "setting.changed", cluster=cluster, reason=self.history.number(FEATURE)
        ).upto(seq)
        for changed in changes.dicts():
            value = str(self.history.row(changed["seq"]).get("detail", ""))
            row = changed["seq"] if value.strip().lower() == "false" else None
        return row

    def flag(self, subscription: int, cluster: int, topic: int, seq: int) -> tuple[bool, int | None]:
        """Whether the subscription was replicated in the cluster, and the row that decided it."""
        where = {"cluster": cluster, "topic": topic, "subscription": subscription}
        rows: list[tuple[int, bool]] = []
        for event in ("subscription.created", "subscription.replication-switched", "subscription.deleted"):
            table: Table = self.history.table(event, **where).upto(seq)
            rows += [(row["seq"], row.get("count") == 1) for row in table.dicts()]
        rows.sort()
        return (rows[-1][1], rows[-1][0]) if rows else (False, None)


# --- vectorised look-ups in rows: the latest before an instant, the first of each, numbers of rows
#
# Rules: arrays in, arrays out, -1 for "none". Messages are below 2^28, seqs below 2^34.


_SEQ_BITS = 34
"""Bits of a seq in a combined key: 17 thousand million rows, thousands of times the bound of a lab."""


class LatestBefore:
    """An index of rows by (thing, seq), to find the latest row of a thing before an instant.

    A thing is a message or a copy.
    """

    def __init__(self, thing: np.ndarray, seq: np.ndarray) -> None:
        self.order = np.lexsort((seq, thing))
        self._keys = (thing[self.order] << _SEQ_BITS) | seq[self.order]

    def place(self, thing: np.ndarray, before_seq: np.ndarray | int) -> np.ndarray:
        """Places in `order` of the latest row of each thing before the given seq; -1 when there is none."""
        if not len(self._keys):
            return np.full(len(thing), -1, dtype=np.int64)
        places = np.searchsorted(self._keys, (thing << _SEQ_BITS) | before_seq, side="left") - 1
        return np.where((places >= 0) & (self._keys[places] >> _SEQ_BITS == thing), places, -1)

    def row(self, thing: np.ndarray, before_seq: np.ndarray | int) -> np.ndarray:
        """Row numbers of the latest row of each thing before the given seq; -1 when there is none."""
        places = self.place(thing, before_seq)
        return np.where(places >= 0, self.order[places], -1) if len(self.order) else places


def first_seq(message: np.ndarray, seq: np.ndarray, message_count: int) -> np.ndarray:
    """By message number the seq of its first row, NEVER when it has none."""
    first = np.full(message_count, NEVER, dtype=np.int64)
    first[message[::-1]] = seq[::-1]
    return first


def last_seq(message: np.ndarray, seq: np.ndarray, message_count: int) -> np.ndarray:
    """By message number the seq of its last row, -1 when it has none."""
    last = np.full(message_count, -1, dtype=np.int64)
    last[message] = seq
    return last


def first_reaching(values: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """For each wanted value the index of the first of `values` that is at least as large; -1 when none is."""
    if not len(values):
        return np.full(len(wanted), -1, dtype=np.int64)
    places = np.searchsorted(np.maximum.accumulate(values), wanted, side="left")
    return np.where(places < len(values), places, -1)


def within_groups_before(group: np.ndarray, value: np.ndarray) -> np.ndarray:
    """For each row the highest `value` of the earlier rows of its group; -1 for the first row.

    Values are 0 or more.
    """
    if not len(group):
        return np.empty(0, dtype=np.int64)
    order = np.argsort(group, kind="stable")
    rank = np.cumsum(np.concatenate(([0], np.diff(group[order]) != 0)))
    step = int(value.max()) + 2
    running = np.maximum.accumulate(rank * step + value[order] + 1)
    before = np.concatenate(([0], running[:-1])) - rank * step - 1
    highest = np.empty(len(group), dtype=np.int64)
    highest[order] = np.maximum(before, -1)
    return highest


def count_later_and_smaller(values: np.ndarray, first: np.ndarray, limit: np.ndarray) -> np.ndarray:
    """For each query how many of `values[first:]` are below `limit`: a wavelet matrix, one pass per bit."""
    total = len(values)
    if not total or not len(first):
        return np.zeros(len(first), dtype=np.int64)
    ranks = np.argsort(np.argsort(values, kind="stable"), kind="stable")
    below = np.searchsorted(np.sort(values), limit, side="left")
    low, high = first.astype(np.int64), np.full(len(first), total, dtype=np.int64)
    found = np.zeros(len(first), dtype=np.int64)
    for bit in range(int(total).bit_length() - 1, -1, -1):
        ones = (ranks >> bit) & 1
        zeros_before = np.concatenate(([0], np.cumsum(1 - ones)))
        zeros = int(zeros_before[-1])
        low_zeros, high_zeros = zeros_before[low], zeros_before[high]
        upper = ((below >> bit) & 1).astype(bool)
        found += np.where(upper, high_zeros - low_zeros, 0)
        low = np.where(upper, zeros + low - low_zeros, low_zeros)
        high = np.where(upper, zeros + high - high_zeros, high_zeros)
        ranks = np.concatenate((ranks[ones == 0], ranks[ones == 1]))
    return found


# --- typed views of the trace for counting: one table per event type, read in one pass
#
# Rules: this module only reads, it judges nothing. A position is packed as `ledger << 32 | (entry + 1)`, so
# positions of one log compare as integers and entry -1 is the place before the first. A message is a dense
# number made from (producer, sequence id). Rows of a table are in the order of `seq`. "Before an instant"
# always means before a row, never before a microsecond.


NEVER = 1 << 62
"""A seq later than every row."""

_ENTRY_BITS = 32
_NAMES = frozenset(NAME_COLUMNS)
_UNREAD = frozenset(("batch_index", "size_bytes", "detail"))
_WHO = ("cluster", "topic", "subscription")
_NEEDED: dict[str, tuple[str, ...]] = {
    # types with a row for each message keep only the columns that are read, beside seq and message
    "message.published": ("cluster", "key"),
    "message.receipted": (),
    "message.stored": ("at_us", "cluster", "peer", "topic", "position"),
    "message.delivered": ("at_us", *_WHO, "client", "position"),
    "message.acknowledged": ("at_us", *_WHO, "position"),
    "message.registered": (*_WHO, "position"),
    "message.dropped": (*_WHO, "peer"),
}
_PAIRS = {"position": ("ledger", "entry"), "to_position": ("to_ledger", "to_entry")}

TYPES: tuple[str, ...] = (
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


class Share(NamedTuple):
    """The messages of every producer whose sequence id is `number`, modulo `of`."""

    number: int = 0
    of: int = 1


EVERY_MESSAGE = Share()


@dataclass(slots=True)
class Whole:
    """What a share of a run's messages does not show, with names as texts.

    `heads`: by (cluster, topic) and instant the log's last position when the instant was over.
    `limits`: by (subscription, cluster, topic) and recovery the last position whose ack it brought back.
    """

    heads: dict[tuple[str, ...], dict[int, int]] = field(default_factory=dict)
    limits: dict[tuple[str, ...], dict[int, int]] = field(default_factory=dict)


class History:
    """The rows before `upto_seq` of a trace, by type, and the numbering of messages.

    With `share`, the trace holds the control rows of a run and the rows of one share of its messages, and
    `whole` has what that share does not show.
    """

    def __init__(
        self,
        trace: Trace,
        upto_seq: int | None = None,
        left_out: tuple[str, ...] = (),
        share: Share = EVERY_MESSAGE,
        whole: Whole | None = None,
    ) -> None:
        """`left_out` are subscriptions whose rows are not read: an audience's name covers many."""
        self.upto_seq = len(trace) if upto_seq is None else min(upto_seq, len(trace))
        self.share, self.whole = share, whole
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

    def named(self, *numbers: int) -> tuple[str, ...]:
        """The words of some name numbers."""
        return tuple(self.names[number] for number in numbers)

    def removed(self, cluster: int, topic: int) -> dict[int, int]:
        """By ledger of a log the row that removed it; rows of its messages follow that row."""
        rows = self.table("ledger.trimmed", cluster=cluster, topic=topic)
        return dict(zip(rows.ledger[::-1].tolist(), rows.seq[::-1].tolist(), strict=True))

    def identity(self, message: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Producers (name numbers) and sequence ids of message numbers."""
        which = np.searchsorted(self._first, message, side="right") - 1
        return self._producers[which], (message - self._first[which]) * self.share.of + self.share.number

    def _number_messages(self) -> None:
        tables = [table for table in self._tables.values() if "identity" in table.columns]
        highest: dict[int, int] = {}
        for table in tables:
            for producer, last in _highest(table.identity):
                highest[producer] = max(last // self.share.of, highest.get(producer, 0))
        self._producers = np.array(sorted(highest), dtype=np.int64)
        counts = np.array([highest[producer] + 1 for producer in sorted(highest)], dtype=np.int64)
        self._first = np.concatenate(([0], np.cumsum(counts)))[:-1].astype(np.int64)
        self.message_count = int(counts.sum())
        offset = np.zeros(len(self.names) + 1, dtype=np.int64)
        offset[self._producers] = self._first
        for table in tables:
            identity = table.columns.pop("identity")
            sequence_id = identity & ((1 << _ENTRY_BITS) - 1)
            table.columns["message"] = offset[identity >> _ENTRY_BITS] + sequence_id // self.share.of


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
    types = [BY_NAME[name] for name in TYPES]
    wanted = sorted(
        {"type", "at_us"} | {field for event in types for field in event.fields if field not in _UNREAD}
    )
    parts: dict[str, list[dict[str, np.ndarray]]] = {name: [] for name in TYPES}
    for seqs, columns in trace.parts(upto_seq, wanted):
        if left_out:
            columns["type"][np.isin(columns["subscription"], left_out)] = len(trace.vocabulary.types)
        order = np.argsort(columns["type"].astype(np.int16), kind="stable")
        codes = columns["type"][order]
        for event in types:
            start, stop = np.searchsorted(codes, (event.code, event.code + 1))
            if stop > start or not parts[event.name]:
                parts[event.name].append(_typed(event, columns, order[start:stop], seqs))
    return {name: _in_order(chunks) for name, chunks in parts.items()}


def _in_order(chunks: list[dict[str, np.ndarray]]) -> Table:
    """The rows of one type by seq. A trace file that another program wrote may have them in any order."""
    table = Table({column: np.concatenate([part[column] for part in chunks]) for column in chunks[0]})
    return table if (np.diff(table.seq) > 0).all() else table.take(np.argsort(table.seq))


def _typed(
    event: EventType, columns: dict[str, np.ndarray], rows: np.ndarray, seqs: np.ndarray
) -> dict[str, np.ndarray]:
    """The columns of one type in one chunk: pairs packed, names as 32-bit numbers (-1: none)."""
    needed = _NEEDED.get(event.name)
    typed = {"seq": seqs[rows]}
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


_MESSAGE_BITS = 28


class Log:
    """Copies of one topic partition in one cluster, a column for each property.

    The columns are `message`, `position`, `seq`, `at_us`, `native` (published in this cluster) and
    `gone_seq`.

    One topic's log in one cluster, from the trace: its copies of messages, and when they were removed.

    Rules: a copy is one stored message (an entry holds a copy of each message of its batch), numbered by its
    row. A resend stored a second time is another copy. A copy is gone when its ledger was deleted or its
    cluster lost for good.
    """

    def __init__(self, history: History, cluster: int, topic: int) -> None:
        stored = history.table("message.stored", cluster=cluster, topic=topic)
        self.message, self.position = stored.message, stored.position
        self.seq, self.at_us = stored.seq, stored.at_us
        self.native = stored.peer == -1
        self._number_copies()
        self.gone_seq = self._gone(history, cluster, topic)
        self._appends = [
            stored,
            *(
                history.table(name, cluster=cluster, topic=topic)
                for name in ("marker.written", "marker.stored")
            ),
        ]
        self._heads = (
            None if history.whole is None else history.whole.heads.get(history.named(cluster, topic), {})
        )

    def _number_copies(self) -> None:
        self._entries = np.unique(self.position)
        keys = (np.searchsorted(self._entries, self.position) << _MESSAGE_BITS) | self.message
        self._copy_order = np.argsort(keys, kind="stable")
        self._copy_keys = keys[self._copy_order]
        self.message_order = np.argsort(self.message, kind="stable")
        self.messages_ordered = self.message[self.message_order]

    def copy_of(self, message: np.ndarray, position: np.ndarray) -> np.ndarray:
        """The copy of each message at each position; -1 when the log has none."""
        if not len(self._entries) or not len(message):
            return np.full(len(message), -1, dtype=np.int64)
        rank = np.minimum(np.searchsorted(self._entries, position), len(self._entries) - 1)
        keys = (rank << _MESSAGE_BITS) | message
        places = np.minimum(np.searchsorted(self._copy_keys, keys), len(self._copy_keys) - 1)
        found = (self._entries[rank] == position) & (self._copy_keys[places] == keys)
        return np.where(found, self._copy_order[places], -1)

    def copies(self, message: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """All copies of the messages, those of one message in the order of positions.

        Returns two columns: the place in `message`, and the copy.
        """
        start = np.searchsorted(self.messages_ordered, message, side="left")
        counts = np.searchsorted(self.messages_ordered, message, side="right") - start
        which = np.repeat(np.arange(len(message)), counts)
        offset = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
        return which, self.message_order[start[which] + offset] if len(which) else which

    def _gone(self, history: History, cluster: int, topic: int) -> np.ndarray:
        gone_by_ledger = history.removed(cluster, topic)
        gone = np.full(len(self.seq), NEVER, dtype=np.int64)
        if gone_by_ledger:
            known = np.array(sorted(gone_by_ledger), dtype=np.int64)
            seqs = np.array([gone_by_ledger[ledger] for ledger in known.tolist()], dtype=np.int64)
            places = np.minimum(np.searchsorted(known, ledger_of(self.position)), len(known) - 1)
            gone = np.where(known[places] == ledger_of(self.position), seqs[places], NEVER)
        lost = history.table("cluster.lost", cluster=cluster).seq
        self.lost_seq = int(lost[0]) if len(lost) else NEVER
        return np.minimum(gone, self.lost_seq)

    @cached_property
    def _ends(self) -> tuple[np.ndarray, np.ndarray]:
        """The instant of each append, markers included, and the last position then."""
        at_us = np.concatenate([table.at_us for table in self._appends])
        position = np.concatenate([table.position for table in self._appends])
        order = np.lexsort((position, at_us))
        return at_us[order], np.maximum.accumulate(position[order])

    def last_position(self, at_us: np.ndarray) -> np.ndarray:
        """The position of the last entry when each instant was over; NULL while the log was empty."""
        if self._heads is not None:
            return np.array([self._heads.get(instant, NULL) for instant in at_us.tolist()], dtype=np.int64)
        ends_us, ends = self._ends
        places = np.searchsorted(ends_us, at_us, side="right") - 1
        if not len(ends):
            return np.full(len(places), NULL, dtype=np.int64)
        return np.where(places >= 0, ends[places], NULL)

    def held(self, seq: int) -> np.ndarray:
        """Mask of the copies that the log held at `seq`."""
        return (self.seq <= seq) & (self.gone_seq > seq)


ABSENT = NULL
"""The mark-delete of a cursor that does not exist: below every position."""


class Acks:
    """Individual acks of a cursor: copy, position, row, and the row that cleared each, NEVER if none did."""

    def __init__(self, copy: np.ndarray, position: np.ndarray, seq: np.ndarray) -> None:
        self.copy, self.position, self.seq = copy, position, seq
        self.until = np.full(len(seq), NEVER, dtype=np.int64)

    def restore(self, kept: np.ndarray, seq: int) -> None:
        """Add acks that a reset had cleared, and that a crash before the cursor was written restored."""
        count = int(kept.sum())
        self.copy = np.concatenate((self.copy, self.copy[kept]))
        self.position = np.concatenate((self.position, self.position[kept]))
        self.seq = np.concatenate((self.seq, np.full(count, seq)))
        self.until = np.concatenate((self.until, np.full(count, NEVER)))


def acks_of(history: History, log: Log, where: dict[str, int]) -> Acks:
    """The individual acks of a cursor, none of them forgotten yet."""
    registered = history.table("message.registered", **where)
    copy = log.copy_of(registered.message, registered.position)
    known = copy >= 0
    return Acks(copy[known], registered.position[known], registered.seq[known])


class Cursor:
    """One subscription, one cluster, one topic partition. `step_*` are the rows that set its mark-delete.

    What a subscription's cursor in one cluster covered at any instant, from its rows alone.

    Rules: a copy is covered when it is at or below the mark-delete, or was acknowledged individually and not
    lost since. A reset clears all individual acks. A recovery falls back to what the last `cursor.persisted`
    row before it held (the least positions, when the broker persisted fewer than there were). A deleted
    subscription covers nothing. A row counts at its own seq.
    """

    def __init__(self, history: History, log: Log, subscription: int, cluster: int, topic: int) -> None:
        where = {"cluster": cluster, "topic": topic, "subscription": subscription}
        self._rows = {
            name: history.table(name, **where)
            for name in (
                "subscription.created",
                "subscription.deleted",
                "cursor.moved",
                "cursor.recovered",
                "cursor.persisted",
                "update.applied",
            )
        }
        self.created = self._rows["subscription.created"]
        self._reset = history.number("reset")
        self._filtered = history.table("marker.filtered", **where)
        self._lay_steps()
        limits = None
        if history.whole is not None:
            limits = history.whole.limits.get(history.named(subscription, cluster, topic), {})
        self.acks = acks_of(history, log, where)
        self.forget(self.acks, limits)
        self._index_acks()

    # --- the mark-delete

    def _lay_steps(self) -> None:
        rows = self._rows
        parts = [
            (self.created, self.created.position),
            (rows["cursor.moved"], rows["cursor.moved"].to_position),
            (rows["cursor.recovered"], rows["cursor.recovered"].position),
            (rows["update.applied"], rows["update.applied"].to_position),
            (
                rows["subscription.deleted"],
                np.full(len(rows["subscription.deleted"]), ABSENT, dtype=np.int64),
            ),
        ]
        seqs = np.concatenate([table.seq for table, _ in parts])
        values = np.concatenate([value for _, value in parts])
        order = np.argsort(seqs)
        self.step_seq, self.step_mark = seqs[order], values[order]
        # An Update never moves a mark-delete back. If individual acks adjoin its position, a cursor.moved row
        # follows.
        for place in np.flatnonzero(np.isin(self.step_seq, rows["update.applied"].seq)):
            if place:
                self.step_mark[place] = max(self.step_mark[place], self.step_mark[place - 1])
        self._highest = np.maximum.accumulate(self.step_mark)
        self._drops = np.flatnonzero(np.diff(self.step_mark) < 0) + 1

    def _step(self, seq: np.ndarray | int) -> np.ndarray:
        return np.searchsorted(self.step_seq, seq, side="right") - 1

    def mark_at(self, seq: np.ndarray | int) -> np.ndarray:
        """The mark-delete at each seq, ABSENT while there is no cursor."""
        if not len(self.step_seq):
            return np.full(np.shape(seq), ABSENT, dtype=np.int64)
        step = self._step(seq)
        return np.where(step >= 0, self.step_mark[step], ABSENT)

    def exists_at(self, seq: int) -> bool:
        """Whether the subscription existed."""
        return bool(self.mark_at(seq) != ABSENT)

    def step_row(self, seq: int) -> int:
        """The seq of the row that set the mark-delete in force at `seq`; NULL when none had."""
        step = int(self._step(seq))
        return int(self.step_seq[step]) if step >= 0 else NULL

    # --- individual acks

    def forget(self, acks: Acks, limits: dict[int, int] | None) -> dict[int, int]:
        """Set since when each individual ack was forgotten, and add those that a crash restored.

        `limits`: by recovery the last position whose ack it brought back. If it is None, these are all acks
        of the cursor, and the limits follow from them. Returns the limits.
        """
        found: dict[int, int] = {}
        for seq, event, row in self._lost_acks():
            kept = np.zeros(len(acks.until), dtype=bool)
            if event == "cursor.recovered" and (held_seq := self._held_seq(seq)) is not None:
                kept = (acks.seq <= held_seq) & (acks.until > held_seq) & (acks.position > row["position"])
                if limits is None:
                    found[seq] = self._limit(acks.position[kept], held_seq, row)
                kept &= acks.position <= (found if limits is None else limits).get(seq, NEVER)
            living = (acks.seq < seq) & (acks.until > seq)
            acks.until[living & ~kept] = seq
            acks.restore(kept & ~living, seq)
        return found

    def _limit(self, position: np.ndarray, held_seq: int, row: dict[str, int]) -> int:
        """The last of the positions that a recovery restored, the lowest ones; NEVER if it restored all."""
        rows = self._filtered
        markers = rows.position[(rows.seq <= held_seq) & (rows.position > row["position"])]
        entries = np.unique(np.concatenate((position, markers)))
        if len(entries) <= row["count"]:
            return NEVER
        return int(entries[row["count"] - 1]) if row["count"] > 0 else ABSENT

    def _held_seq(self, recovered_seq: int) -> int | None:
        """The row that persisted what a recovery restored; None when the cursor was not persisted before."""
        persisted, opened = (self._rows[name].seq for name in ("cursor.persisted", "subscription.created"))
        place, opening = (int(np.searchsorted(seqs, recovered_seq)) - 1 for seqs in (persisted, opened))
        if place < 0 or (opening >= 0 and opened[opening] > persisted[place]):
            return None
        return int(persisted[place])

    def restorable(self, acks: Acks) -> np.ndarray:
        """Mask of the acks that a recovery may have restored. None of them was forgotten yet."""
        mask = np.zeros(len(acks.seq), dtype=bool)
        for seq, event, row in self._lost_acks():
            if event == "cursor.recovered" and (held_seq := self._held_seq(seq)) is not None:
                mask |= (acks.seq <= held_seq) & (acks.position > row["position"])
        return mask

    def _index_acks(self) -> None:
        """Index the acks by copy and row."""
        acks = self.acks
        self._registered_copy, self._registered_seq, self._until = acks.copy, acks.seq, acks.until
        self._index = LatestBefore(self._registered_copy, self._registered_seq)
        copies, until = self._registered_copy[self._index.order], self._until[self._index.order]
        rank = np.cumsum(np.concatenate(([0], np.diff(copies) != 0)))[: len(copies)]
        # The furthest `until` of the registrations so far of the same copy: a later one may be forgotten
        # sooner.
        places = np.searchsorted(distinct := np.unique(until), until) + rank * (len(distinct) + 1)
        self._valid_until = (
            distinct[np.maximum.accumulate(places) - rank * (len(distinct) + 1)] if len(until) else until
        )

    def _lost_acks(self) -> list[tuple[int, str, dict[str, int]]]:
        """Rows after which individual acks are gone, in order."""
        moved = self._rows["cursor.moved"]
        events = [
            ("cursor.moved", moved.take(moved.reason == self._reset)),
            ("cursor.recovered", self._rows["cursor.recovered"]),
            ("subscription.deleted", self._rows["subscription.deleted"]),
        ]
        return sorted((row["seq"], event, row) for event, table in events for row in table.dicts())

    @property
    def forgetting_seqs(self) -> np.ndarray:
        """Rows after which individual acks may be gone, or the mark-delete lower, in order."""
        return np.array([seq for seq, _, _ in self._lost_acks()], dtype=np.int64)

    @property
    def backward_seqs(self) -> np.ndarray:
        """Rows with which the mark-delete went back."""
        return self.step_seq[self._drops]

    @property
    def recreated(self) -> np.ndarray:
        """Rows that opened the cursor, or with which an operator moved it."""
        moved = self._rows["cursor.moved"]
        return np.sort(np.concatenate((self.created.seq, moved.seq[moved.reason == self._reset])))

    def registered(self, copy: np.ndarray, seq: np.ndarray | int) -> np.ndarray:
        """Whether each copy's individual ack was held at each seq."""
        places = self._index.place(copy, np.asarray(seq) + 1)
        return (
            (places >= 0) & (self._valid_until[places] > seq)
            if len(self._valid_until)
            else np.zeros(len(copy), dtype=bool)
        )

    def last_registration(self, copy: np.ndarray, seq: np.ndarray | int) -> tuple[np.ndarray, np.ndarray]:
        """The latest registration of each copy at or before `seq`, and the row that cleared it.

        The row is NEVER when none did; NULL, NULL without a registration.
        """
        rows = self._index.row(copy, np.asarray(seq) + 1)
        if not len(self._until):
            nothing = np.full(len(copy), NULL, dtype=np.int64)
            return nothing, nothing
        return np.where(rows >= 0, self._registered_seq[rows], NULL), np.where(
            rows >= 0, self._until[rows], NULL
        )

    # --- both together

    def covers(self, copy: np.ndarray, position: np.ndarray, seq: np.ndarray | int) -> np.ndarray:
        """Whether the cursor covered each copy at each seq."""
        mark = self.mark_at(seq)
        return (mark != ABSENT) & ((mark >= position) | self.registered(copy, seq))

    def went_back(
        self, copy: np.ndarray, position: np.ndarray, seq: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The row that last uncovered each copy by `seq`, and the row that had covered it.

        Both are NULL for a copy that was never uncovered.
        """
        uncovered = np.full(len(copy), NULL, dtype=np.int64)
        covered = np.full(len(copy), NULL, dtype=np.int64)
        for drop in self._drops:
            fallen = (
                (self.step_seq[drop] <= seq)
                & (self.step_mark[drop] < position)
                & (position <= self.step_mark[drop - 1])
            )
            uncovered[fallen], covered[fallen] = self.step_seq[drop], self.step_seq[drop - 1]
        registered, forgotten = self.last_registration(copy, seq)
        later = (registered != NULL) & (forgotten <= seq) & (forgotten > uncovered)
        return np.where(later, forgotten, uncovered), np.where(later, registered, covered)

    def covered_since(self, position: np.ndarray, seq: int) -> np.ndarray:
        """The row since which the mark-delete was at or above each position without a break until `seq`.

        NEVER when it is not.
        """
        last = int(self._step(seq))
        if last < 0:
            return np.full(len(position), NEVER, dtype=np.int64)
        lowest = np.minimum.accumulate(self.step_mark[last::-1])[::-1]
        places = np.searchsorted(lowest, position, side="left")
        return np.where(places <= last, self.step_seq[np.minimum(places, last)], NEVER)

    def first_passed(self, position: np.ndarray, seq: np.ndarray) -> np.ndarray:
        """The first row at or after each seq with which the mark-delete was at or above each position.

        NEVER when none did.
        """
        places = first_reaching(self.step_mark, position)
        return (
            np.where(places >= 0, np.maximum(self.step_seq[np.maximum(places, 0)], seq), NEVER)
            if len(self.step_seq)
            else np.full(len(position), NEVER)
        )

    def passed_between(self, position: np.ndarray, start: int, end: int) -> np.ndarray:
        """The first row after `start` and before `end` with which the mark-delete reached each position.

        NEVER for none. The mark-delete must not go back between the two.
        """
        first, last = (
            np.searchsorted(self.step_seq, start, side="right"),
            np.searchsorted(self.step_seq, end, side="left"),
        )
        seqs = np.append(self.step_seq[first:last], NEVER)
        return seqs[np.searchsorted(self.step_mark[first:last], position, side="left")]

    def registered_between(self, copy: np.ndarray, start: int, end: int) -> np.ndarray:
        """The first row after `start` and before `end` that acknowledged each copy individually.

        NEVER for none.
        """
        between = (self._registered_seq > start) & (self._registered_seq < end)
        found = np.full(int(copy.max(initial=-1)) + 1, NEVER, dtype=np.int64)
        known = between & (self._registered_copy < len(found))
        np.minimum.at(found, self._registered_copy[known], self._registered_seq[known])
        return found[copy]
