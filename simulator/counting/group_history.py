"""What became of each stream of a group, read from the rows: who had it when, what leaders knew of it, what was delivered and acknowledged.

Rules: nothing is judged here. A position after the last message of a closed stream is `END`. Rows come in order of seq.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from simulator.trace.registry import BY_NAME, NULL
from simulator.trace.trace import BLOCK_ROWS, Trace

END = 1 << 40
_TYPES = (
    "message.stored", "message.delivered", "message.acknowledged", "group.declared", "group.destroyed", "session.subscribed", "borrower.changed", "lease.changed",
    "chunk.fetched", "progress.told", "progress.saved", "progress.persisted", "progress.loaded", "stream.found", "assignment.changed", "leader.elected", "stream.opened", "message.published",
)  # fmt: skip


class Step(NamedTuple):
    """A leader's or a session's word on a stream: up to `position`, said by `who` (leader, or session and borrower)."""

    seq: int
    position: int
    who: Any


class Delivery(NamedTuple):
    seq: int
    at_us: int
    client: int
    chunk_seq: int


class Acknowledgement(NamedTuple):
    seq: int
    client: int


@dataclass(slots=True)
class Lease:
    """A stretch of reading: from its grant until it was released, or its borrower was gone."""

    seq: int
    at_us: int
    client: int
    borrower: int
    leader: int
    position: int
    granted_seq: int  # the leader's decision
    end_us: int | None = None


@dataclass(slots=True)
class StreamHistory:
    """One stream as one group had it."""

    found_us: int | None = None
    done_us: int | None = None
    leases: list[Lease] = field(default_factory=list)
    told: list[Step] = field(default_factory=list)
    saved: list[Step] = field(default_factory=list)
    persisted: list[Step] = field(default_factory=list)
    position: int = 0  # as the latest leader knows it
    taken: list[tuple[int, int, int]] = field(default_factory=list)  # (client, first offset, offset after the last) of each chunk
    chunks: dict[int, Lease | None] = field(default_factory=dict)  # by the row of a chunk: under which lease; None: sent again by a session that came back
    decisions: dict[tuple[int, int], int] = field(default_factory=dict)  # (client, borrower) -> seq of the latest decision to grant
    delivered: dict[int, list[Delivery]] = field(default_factory=dict)  # by offset
    acknowledged: dict[int, list[Acknowledgement]] = field(default_factory=dict)


@dataclass(slots=True)
class GroupHistory:
    """One group: streams by name number, sessions that subscribed, leaders in order."""

    name: str
    filter: str
    start_us: int
    streams: dict[int, StreamHistory] = field(default_factory=dict)
    sessions: dict[int, None] = field(default_factory=dict)
    leaders: list[int] = field(default_factory=list)

    def stream(self, number: int) -> StreamHistory:
        return self.streams.setdefault(number, StreamHistory())


@dataclass(slots=True)
class Stored:
    """The messages of a stream in storage: by offset publisher, number, row, instant."""

    topic: str
    messages: list[tuple[int, int, int, int]] = field(default_factory=list)


class Histories:
    """Every group's history in the rows before `upto_seq`."""

    def __init__(self, trace: Trace, upto_seq: int | None = None) -> None:
        self.upto_seq = len(trace) if upto_seq is None else min(upto_seq, len(trace))
        self.names = trace.names
        self.groups: dict[int, GroupHistory] = {}
        self.stored: dict[int, Stored] = {}
        self.clients: dict[tuple[int, int], int] = {}  # message -> the MQTT client that published it
        self.end_us = trace.at_us(self.upto_seq - 1) if self.upto_seq else 0
        for seq, name, row in _rows(trace, self.upto_seq):
            getattr(self, "_" + name.replace(".", "_").replace("-", "_"))(seq, row)

    def _group(self, row: dict[str, int]) -> GroupHistory:
        return self.groups[row["subscription"]]

    def _message_published(self, seq: int, row: dict[str, int]) -> None:
        self.clients[row["producer"], row["sequence_id"]] = row["key"]

    def _message_stored(self, seq: int, row: dict[str, int]) -> None:
        stored = self.stored[row["topic"]]
        stored.messages.append((row["producer"], row["sequence_id"], seq, row["at_us"]))

    def _stream_opened(self, seq: int, row: dict[str, int]) -> None:
        self.stored[row["topic"]] = Stored(self.names[row["topic"]].split("/", 2)[2])

    def _message_delivered(self, seq: int, row: dict[str, int]) -> None:
        if row["subscription"] in self.groups:
            stream = self._group(row).stream(row["topic"])
            stream.delivered.setdefault(row["entry"], []).append(Delivery(seq, row["at_us"], row["client"], row["cause_seq"]))

    def _message_acknowledged(self, seq: int, row: dict[str, int]) -> None:
        if row["subscription"] in self.groups:
            stream = self._group(row).stream(row["topic"])
            stream.acknowledged.setdefault(row["entry"], []).append(Acknowledgement(seq, row["client"]))

    def _group_declared(self, seq: int, row: dict[str, int]) -> None:
        name, asked = self.names[row["subscription"]], self.names[row["detail"]]
        wanted = asked.split("/", 1)[1] if asked.startswith("$queue/") else asked.split("/", 2)[2]
        if row["subscription"] not in self.groups:
            self.groups[row["subscription"]] = GroupHistory(name, wanted, row["duration_us"])

    def _group_destroyed(self, seq: int, row: dict[str, int]) -> None:
        for stream in self._group(row).streams.values():
            stream.done_us = row["at_us"] if stream.done_us is None else stream.done_us

    def _session_subscribed(self, seq: int, row: dict[str, int]) -> None:
        if row["subscription"] in self.groups:
            self._group(row).sessions[row["client"]] = None

    def _leader_elected(self, seq: int, row: dict[str, int]) -> None:
        self._group(row).leaders.append(row["count"])

    def _stream_found(self, seq: int, row: dict[str, int]) -> None:
        stream = self._group(row).stream(row["topic"])
        stream.found_us = row["at_us"] if stream.found_us is None else stream.found_us
        stream.done_us = None
        stream.position = row["entry"]
        stream.saved.append(Step(seq, row["entry"], row["count"]))  # a stream that is found again begins anew

    def _progress_loaded(self, seq: int, row: dict[str, int]) -> None:
        self._group(row).stream(row["topic"]).position = _position(row["entry"])

    def _assignment_changed(self, seq: int, row: dict[str, int]) -> None:
        stream = self._group(row).stream(row["topic"])
        if self.names[row["reason"]] == "granting":
            stream.decisions[row["client"], row["count"]] = seq

    def _lease_changed(self, seq: int, row: dict[str, int]) -> None:
        stream = self._group(row).stream(row["topic"])
        who = (row["client"], row["count"])
        if self.names[row["reason"]] == "granted":
            stream.leases.append(Lease(seq, row["at_us"], *who, row["ledger"], _position(row["entry"]), stream.decisions.get(who, seq)))
            return
        _release(stream, who, row["at_us"])

    def _borrower_changed(self, seq: int, row: dict[str, int]) -> None:
        if row["subscription"] in self.groups and self.names[row["reason"]] in ("gone", "unsubscribing"):
            for stream in self._group(row).streams.values():
                _release(stream, (row["client"], row["count"]), row["at_us"])

    def _chunk_fetched(self, seq: int, row: dict[str, int]) -> None:
        if row["subscription"] in self.groups:
            stream, who = self._group(row).stream(row["topic"]), (row["client"], row["count"])
            again = self.names[row["reason"]] == "again"
            stream.taken.append((row["client"], row["entry"], row["to_entry"]))
            stream.chunks[seq] = None if again else next(one for one in reversed(stream.leases) if (one.client, one.borrower) == who)

    def _progress_told(self, seq: int, row: dict[str, int]) -> None:
        self._group(row).stream(row["topic"]).told.append(Step(seq, _position(row["entry"]), row["client"]))

    def _progress_saved(self, seq: int, row: dict[str, int]) -> None:
        stream = self._group(row).stream(row["topic"])
        stream.position = _position(row["to_entry"])
        stream.saved.append(Step(seq, stream.position, row["count"]))
        if stream.position == END:
            stream.done_us = row["at_us"]

    def _progress_persisted(self, seq: int, row: dict[str, int]) -> None:
        self._group(row).stream(row["topic"]).persisted.append(Step(seq, _position(row["entry"]), row["count"]))


def _release(stream: StreamHistory, who: tuple[int, int], at_us: int) -> None:
    for lease in reversed(stream.leases):
        if (lease.client, lease.borrower) == who:
            if lease.end_us is None:
                lease.end_us = at_us
            return


def _position(entry: int) -> int:
    return END if entry == NULL else entry


def _rows(trace: Trace, upto_seq: int) -> Iterator[tuple[int, str, dict[str, int]]]:
    """(seq, type, fields) of the rows that matter, in order."""
    types = {BY_NAME[name].code: BY_NAME[name] for name in _TYPES}
    wanted = sorted({"type", "at_us", "cause_seq"} | {field for event in types.values() for field in event.fields})
    for first in range(0, upto_seq, BLOCK_ROWS):
        columns = {name: column.tolist() for name, column in trace.columns(first, min(first + BLOCK_ROWS, upto_seq), names=wanted).items()}
        for place, code in enumerate(columns["type"]):
            event = types.get(code)
            if event is not None:
                row = {field: columns[field][place] for field in event.fields}
                row["at_us"], row["cause_seq"] = columns["at_us"][place], columns["cause_seq"][place]
                yield first + place, event.name, row
