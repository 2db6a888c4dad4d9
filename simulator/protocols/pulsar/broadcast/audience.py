"""An audience: very many similar subscriptions of one topic, each with one consumer, kept as columns.

Rules: member i is an Exclusive subscription with its own cursor. Its client receives and acknowledges each
message at once, so permits never run out. A message is delivered, acknowledged and registered at the instant
at which it leaves the broker. A cursor is persisted as it moves. Members connect in order, so the connected
ones are always the first n, and all of them have been sent every entry below `handed`. Markers are skipped
without a row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from simulator.log.cursors import Border
from simulator.protocols.pulsar.broadcast.fan_out import UNKNOWN, Run
from simulator.protocols.pulsar.client import backoff
from simulator.protocols.pulsar.events import CODE
from simulator.protocols.pulsar.ranks import CONSUMER, rank
from simulator.trace.registry import NULL
from simulator.trace.trace import RowColumns

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broadcast.broker import Broker
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.protocols.pulsar.scenario.model import AudienceSpec

WAITING, RUNNING, STOPPED = "waiting", "running", "stopped"
_AFTER_CONSUMERS = 10_000
"""Ordinal among the consumers: a scenario has fewer."""


class Audience:
    """One audience on one topic or partition.

    `marks` are the members' mark-deletes, as indices in the topic's log.
    """

    def __init__(self, topic: Topic, spec: AudienceSpec) -> None:
        runtime = topic.runtime
        self.runtime = runtime
        self.topic = topic
        self.spec = spec
        self.name = spec.name
        self.size = spec.subscriptions
        self.number = runtime.name(spec.name)
        self.first_client = runtime.name(member_name(spec.name, 0))
        self.rank = rank(
            CONSUMER,
            _AFTER_CONSUMERS + sorted(runtime.scenario.audiences).index(spec.name),
            topic.partition + 1,
        )
        self.state = WAITING
        self.epoch = 0  # counts region failures: an earlier timer is stale
        self.reconnects = False  # its clients request a connection now or after their backoff
        self.retries = 0  # number of failed requests
        self.opened = self.connected = 0  # members that have a cursor, that are connected
        self.handed = 0
        self.border = Border(topic.log)  # of the slowest member
        self.last_data = -1  # the last entry below `handed` that is no marker
        self.marks = np.full(self.size, -1, dtype=np.int64)
        self.connected_seqs = np.full(self.size, UNKNOWN, dtype=np.int64)
        # of the last delivery, -1 before the first
        self.latencies_us = np.full(self.size, -1, dtype=np.int64)
        self.delivered = self.repeated = self.lost_to_retention = 0  # messages
        self.reached: np.ndarray | None = None  # the highest marks of all, once cursors have been set back
        # how long connecting every member took, when it was last completed
        self.connected_all_us: int | None = None
        self.requested_us = 0

    # --- lifecycle

    def start(self, _argument: None) -> None:
        """The scenario's `start`: every member's client requests to connect."""
        self.state = RUNNING
        self.ask(self.epoch)

    def stop(self, _argument: None) -> None:
        """The scenario's `stop`: every client closes."""
        self.state = STOPPED
        self._cut_off("closed", NULL)
        if self.topic.broker is not None:
            self.topic.broker.forget_audience(self)

    def ask(self, epoch: int) -> None:
        """Request the topic's broker to connect every member."""
        if epoch != self.epoch or self.state != RUNNING:
            return
        self.reconnects = False
        if self.topic.loaded:
            self.retries = 0
            self.requested_us = self.runtime.now_us
            self._broker.admissions.ask_all(self)
        else:
            self._back_off()

    def _back_off(self) -> None:
        """Every member retries later; those already in backoff keep their time."""
        if self.state == RUNNING and not self.reconnects:
            self._ask_at(self.runtime.now_us + backoff.wait_us(self.retries))
            self.retries += 1

    def _ask_at(self, at_us: int) -> None:
        self.reconnects = True
        self.runtime.schedule(at_us, self.rank, self.ask, self.epoch)

    def topic_loaded(self) -> None:
        """The topic is loaded again: members connect with their region.

        Those that lost only the topic connect after their backoff. No cursor is ahead of the last entry of
        the topic (only a shadow can have fewer entries than before). Entries acknowledged beyond it are
        delivered again.
        """
        self._set_back(self.topic.log.length)
        if self.state == RUNNING and not self.reconnects:
            self._ask_at(self.runtime.now_us)

    def topic_unloaded(self, reason: str, cause: int) -> None:
        """The topic has left its broker: members that were connected or queued for it retry."""
        self._cut_off(reason, cause)
        self._back_off()

    def region_down(self) -> None:
        """The clients are down with their region: their retries are cancelled."""
        self.epoch += 1
        self.reconnects, self.retries = False, 0

    def topic_deleted(self) -> None:
        """Every subscription was deleted with the topic: members that connect later get new ones."""
        self.opened, self.reached = 0, None

    def _set_back(self, length: int) -> None:
        marks = self.marks[: self.opened]
        if (marks >= length).any():
            before = self.marks if self.reached is None else np.maximum(self.marks, self.reached)
            self.reached = before.copy()
            np.minimum(marks, length - 1, out=marks)
        self.handed = min(self.handed, length)
        while self.last_data >= self.handed or (
            self.last_data >= 0 and self.topic.log.records[self.last_data] < 0
        ):
            self.last_data -= 1

    def _cut_off(self, reason: str, cause: int) -> None:
        """Every member is disconnected, with a row for each."""
        count, self.connected = self.connected, 0
        if count:
            code = CODE["consumer.disconnected"]
            ordinals, members = np.arange(count), (self.topic.cluster.number, self.topic.number, self.number)
            fields = (
                self.runtime.now_us,
                cause,
                *members,
                self.first_client + ordinals,
                self.runtime.name(reason),
            )
            self.runtime.emit_rows(count, [RowColumns(code, self.runtime.seq + ordinals, fields)])

    # --- reading

    def read(self, cause: int) -> None:
        """Send every new entry to all connected members; an entry that cannot be read yet delays the rest."""
        log, reads = self.topic.log, self.topic.reads
        for index in range(max(self.handed, log.first_kept), log.length):
            if self.connected and reads is not None and not reads.take_for(index, self.connected):
                return
            if log.records[index] >= 0:
                self.last_data = index
                if self.connected:
                    self._broker.fan_out(
                        Run(self, (index,), 0, self.connected, self._service_us((index,)), cause)
                    )
            self.handed = index + 1
        if self.connected and reads is not None:
            reads.reached_end()

    @property
    def _broker(self) -> Broker:
        broker = self.topic.broker
        assert broker is not None, "an audience is at a declared broker"
        return broker

    def _service_us(self, entries: tuple[int, ...]) -> tuple[int, ...]:
        broker = self._broker
        return tuple(broker.service_us(self.entry_bytes(index)) for index in entries)

    def entry_bytes(self, index: int) -> int:
        """Size of an entry, all messages of a batch."""
        messages, record = self.runtime.messages, self.topic.log.records[index]
        return messages.size_bytes[record] * messages.batch[record]

    def first_needy(self, first: int, count: int) -> int | None:
        """The first of the next members to connect that will have entries to catch up on, or None."""
        if self.last_data < self.topic.log.first_kept:
            return None
        known = min(max(self.opened - first, 0), count)
        behind = np.flatnonzero(self.marks[first : first + known] < self.last_data)
        if len(behind):
            return first + int(behind[0])
        return first + known if known < count and self.spec.initial_position == "Earliest" else None

    def connect(self, count: int, instants: np.ndarray) -> None:
        """The next members connect at these instants; those that are behind are sent the missing entries."""
        self.read(NULL)
        first, last, log = self.connected, self.connected + count, self.topic.log
        if last > self.opened:
            begin = self.handed - 1 if self.spec.initial_position == "Latest" else log.first_kept - 1
            self.marks[max(first, self.opened) : last] = begin
            self.opened = last
            self.border.put_before_first(begin)
        self.connected = last
        if last == self.size:
            self.connected_all_us = int(instants[-1]) - self.requested_us
        for member in (first + np.flatnonzero(self.marks[first:last] < self.last_data)).tolist():
            begin = max(int(self.marks[member]) + 1, log.first_kept)
            entries = self._readable(begin)
            if entries:
                self._broker.fan_out(
                    Run(self, entries, member, 1, self._service_us(entries), UNKNOWN),
                    int(instants[member - first]),
                )

    def _readable(self, begin: int) -> tuple[int, ...]:
        """Entries with data from `begin` on that were sent to other members, read again for one member."""
        log, reads = self.topic.log, self.topic.reads
        if reads is not None:
            for index in range(begin, self.handed):
                reads.take_for(index, 1)
        return tuple((begin + np.flatnonzero(log.records.view(begin, self.handed) >= 0)).tolist())

    def pushed(self, first_index: int) -> None:
        """The ledgers below an entry are deleted (a shadow's source has trimmed).

        Messages that a member had not been sent and had never received are lost to it.
        """
        passed = self.marks[: self.opened].copy()
        passed[: self.connected] = max(self.handed, 0) - 1
        if self.reached is not None:
            passed = np.maximum(passed, self.reached[: self.opened])
        for mark, members in zip(
            *np.unique(passed[passed < first_index - 1], return_counts=True), strict=True
        ):
            self.lost_to_retention += self._messages(int(mark) + 1, first_index) * int(members)
        away = slice(self.connected, self.opened)
        self.marks[away] = np.maximum(self.marks[away], first_index - 1)
        self.handed = max(self.handed, first_index)
        self.border.move(first_index - 1, self.topic.log.ledgers[0].id)

    def ledger_opened(self) -> None:
        """A new ledger was opened: slowest cursors at the end of the previous one move to it."""
        slowest = self.slowest()
        if slowest is not None and (ledger := self.border.next_ledger(slowest)) is not None:
            self.border.move(slowest, ledger)

    def _messages(self, first: int, last: int) -> int:
        """Messages of the entries `first` to `last - 1`."""
        records = self.topic.log.records.view(first, last)
        return sum(self.runtime.messages.batch[record] for record in records[records >= 0].tolist())

    def took(self, run: Run, count: int, instants: np.ndarray) -> None:
        """The next dispatches of a run have left: cursors move."""
        published_us, batch = self.runtime.messages.published_us, self.runtime.messages.batch
        records = [self.topic.log.records[index] for index in run.entries]
        if len(run.entries) == 1:
            members = slice(run.first + run.done, run.first + run.done + count)
            if self.reached is not None:
                self.repeated += (
                    int(np.count_nonzero(self.reached[members] >= run.entries[0])) * batch[records[0]]
                )
            self.marks[members] = run.entries[0]
            self.latencies_us[members] = instants - published_us[records[0]]
            self.delivered += count * batch[records[0]]
        else:
            left = records[run.done : run.done + count]
            if self.reached is not None:
                reached = int(self.reached[run.first])
                self.repeated += sum(
                    batch[record]
                    for index, record in zip(run.entries[run.done : run.done + count], left, strict=True)
                    if index <= reached
                )
            self.marks[run.first] = run.entries[run.done + count - 1]
            self.latencies_us[run.first] = instants[-1] - published_us[left[-1]]
            self.delivered += sum(batch[record] for record in left)

    # --- queries

    def slowest(self) -> int | None:
        """The oldest mark-delete, moved over the markers after it; None before the first cursor exists."""
        if not self.opened:
            return None
        log, slowest = self.topic.log, int(self.marks[: self.opened].min())
        while slowest + 1 < log.length and (slowest + 1 < log.first_kept or log.records[slowest + 1] < 0):
            slowest += 1
        return slowest

    def backlog(self) -> int:
        """Entries that its cursors have not passed, all members together."""
        length = self.topic.log.length
        return int((length - 1 - np.maximum(self.marks[: self.opened], self.topic.log.first_kept - 1)).sum())


def add_audiences(topic: Topic) -> None:
    """Give a new topic (or partition) the audiences that the scenario declares for it."""
    runtime = topic.runtime
    for name in sorted(runtime.scenario.audiences):
        spec = runtime.scenario.audiences[name]
        if (spec.topic, spec.cluster) == (topic.base, topic.cluster.name):
            audience = topic.audiences[name] = Audience(topic, spec)
            runtime.fan_out.add(audience)
            runtime.schedule(max(spec.start_us, runtime.now_us), audience.rank, audience.start)
            if spec.stop_us is not None:
                runtime.schedule(max(spec.stop_us, runtime.now_us), audience.rank, audience.stop)


def member_name(audience: str, member: int) -> str:
    """A member's name: they are numbered from 1."""
    return f"{audience}-{member + 1}"
