"""The groups of acks that are sent in a batched stretch, and their effects on the cursor.

Rules: each consumer's acks are sent in the order in which the application made them: those pending at the
beginning of the stretch, then those of the stretch. A group is part of a stretch while its only effects are
rows and a cursor. The stretch ends before a group with which a snapshot can be used, a ledger may be deleted,
or the cursor is written for the first time. It also ends where an ack is made at the instant at which a group
is sent, because only the event queue determines their order.
"""

from __future__ import annotations

from itertools import groupby, pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from simulator.protocols.pulsar.client.ack_group import ACK_GROUP_SIZE_MAX
from simulator.protocols.pulsar.fast_path.work import ACKNOWLEDGED, NEVER
from simulator.protocols.pulsar.storage.retention import switches_ledger

if TYPE_CHECKING:
    from simulator.log.cursors import Cursor
    from simulator.protocols.pulsar.client.waiting_acks import AckColumns
    from simulator.protocols.pulsar.fast_path.work import Work

REASON = "acknowledgement"


class Group(NamedTuple):
    """Acks of a consumer, `acks`, that are registered at `at_us`.

    `timed`: whether their timer was in the event queue. `persisted`, if the cursor is written: its position
    and number of individually deleted entries. `moved`, if the mark-delete moves: its positions before and
    after.
    """

    at_us: int
    rank: int
    turn: int
    timed: bool
    acks: np.ndarray
    persisted: tuple[int, int, int] | None = None
    moved: tuple[int, int, int, int] | None = None

    @property
    def rows(self) -> int:
        """How many rows it writes."""
        return len(self.acks) + (self.persisted is not None) + (self.moved is not None)


class Groups:
    """The groups in the order of sending, `sent`.

    An ack is identified by its place: first the pending ones (`counts`, by consumer; `waiting`, if a group is
    sent), then from `outcomes_from` those of `work.outcomes`, then from `arrivals_from` those of arrivals.
    `made` are a consumer's acks that were not pending, in order, `made_us` when they are made. `cursor` is
    the cursor after the last group. `flush_us` is when it is written at the latest, if the stretch requests
    that.
    """

    __slots__ = (
        "work",
        "counts",
        "waiting",
        "outcomes_from",
        "arrivals_from",
        "made",
        "made_us",
        "sent",
        "cursor",
        "flush_us",
        "_usable_from",
        "_indices",
    )

    def __init__(self, work: Work) -> None:
        self.work = work
        subscription = work.flow.subscription
        self.counts = [len(consumer.acks.waiting) for consumer in work.flow.consumers]
        self.waiting: list[AckColumns] = []
        self.made: list[np.ndarray] = []
        self.made_us: list[np.ndarray] = []
        self.sent: list[Group] = []
        self.cursor: Cursor = subscription.cursor
        self.flush_us: int | None = None
        self._usable_from = min((snapshot.index for snapshot in subscription.snapshots.kept), default=NEVER)
        self.outcomes_from = sum(self.counts)
        self.arrivals_from = self.outcomes_from + len(work.outcomes)

    def plan(self, horizon_us: int) -> int:
        """Compute the groups that are sent before `horizon_us`.

        Returns the first instant, at most that, at which a group has other effects than rows and a cursor.
        """
        groups: list[Group] = []
        for turn in range(len(self.work.flow.sessions)):
            horizon_us = self._gather(turn, horizon_us, groups)
        groups = sorted((group for group in groups if group.at_us < horizon_us), key=lambda group: group[:2])
        if groups and not self._plain():
            return groups[0].at_us
        if groups:
            self.waiting = [consumer.acks.waiting.columns() for consumer in self.work.flow.consumers]
            indices = np.array([outcome.delivery.key.index for outcome in self.work.outcomes], dtype=np.int64)
            self._indices = np.concatenate(
                (*(acks.indices for acks in self.waiting), indices, self.work.indices)
            )
        for at_us, together in groupby(groups, key=lambda group: group.at_us):
            if at_us >= horizon_us:
                break
            count = len(self.sent)
            if not count:
                self.cursor = self.cursor.copy()
            if not all(map(self._send, together)):
                self._send_only(groups[:count])
                return at_us
            horizon_us = min(horizon_us, self.flush_us or horizon_us)
        return horizon_us

    def _send_only(self, groups: list[Group]) -> None:
        """Restrict the groups to these: later acks have moved the cursor already."""
        cursor = self.work.flow.subscription.cursor
        self.sent, self.flush_us, self.cursor = [], None, cursor.copy() if groups else cursor
        for group in groups:
            self._send(group)

    def _gather(self, turn: int, horizon_us: int, groups: list[Group]) -> int:
        """Add a consumer's groups that may be sent before `horizon_us`.

        Returns the first instant, at most that, at which the event engine must run.
        """
        work, consumer, timer_us = (
            self.work,
            self.work.flow.consumers[turn],
            self.work.survey.timer_us[turn],
        )
        begun_us, done_us = (instants_us[work.places(turn)] for instants_us in (work.begun_us, work.done_us))
        acks, acks_us = (
            np.arange(self.arrivals_from + turn, self.arrivals_from + len(work), len(work.flow.sessions)),
            done_us,
        )
        if consumer.selections.candidates is not None:
            acknowledged = work.kinds[work.places(turn)] == ACKNOWLEDGED
            acks, acks_us = acks[acknowledged], acks_us[acknowledged]
        outcomes = [
            (self.outcomes_from + place, outcome.at_us)
            for place, outcome in enumerate(work.outcomes)
            if outcome.turn == turn and outcome.kind == ACKNOWLEDGED
        ]
        for _place, at_us in outcomes:
            if at_us == timer_us or consumer.acks.ends_us(at_us - 1) == at_us:
                horizon_us = min(horizon_us, at_us)
        if outcomes:
            made, made_us = (
                np.concatenate((several, all_others))
                for several, all_others in zip(np.array(outcomes).T, (acks, acks_us))
            )
            order = made_us.argsort(kind="stable")
            acks, acks_us = made[order], made_us[order]
        self.made.append(acks)
        self.made_us.append(acks_us)
        waiting, first = self.counts[turn], sum(self.counts[:turn])
        count = waiting + len(acks)
        if not count or (
            (consumer.acks.ends_us(int(acks_us[0])) if timer_us is None else timer_us) >= horizon_us
            and count < ACK_GROUP_SIZE_MAX
        ):
            return horizon_us
        ends_us = consumer.acks.ends_us(acks_us)
        if timer_us is not None:
            ends_us = np.concatenate(
                (np.full(waiting, timer_us), np.where(acks_us < timer_us, timer_us, ends_us))
            )
            acks, acks_us = (
                np.concatenate((np.arange(first, first + waiting), acks)),
                np.concatenate((np.full(waiting, -1), acks_us)),
            )
        for begin, end in pairwise((0, *((ends_us[1:] != ends_us[:-1]).nonzero()[0] + 1).tolist(), count)):
            at_us = int(ends_us[begin])
            if end - begin >= ACK_GROUP_SIZE_MAX:  # sent at once, without its timer
                horizon_us = min(horizon_us, int(acks_us[begin + ACK_GROUP_SIZE_MAX - 1]))
            timed, place = at_us == timer_us, int(done_us.searchsorted(at_us))
            if (
                not timed
                and place < len(done_us)
                and done_us[place] == at_us
                and begun_us[place] <= acks_us[begin]
            ):
                # the end of that work was scheduled before the group's timer
                horizon_us = min(horizon_us, at_us)
            if at_us >= horizon_us:
                break
            groups.append(Group(at_us, consumer.rank, turn, timed, acks[begin:end]))
        return horizon_us

    def _plain(self) -> bool:
        """Whether all pending acks are of single, counted messages, and the cursor has a ledger."""
        flow = self.work.flow
        alike = all(consumer.acks.waiting.all_of(flow.topic.place) for consumer in flow.consumers)
        counted = flow.dispatcher.unacked >= self.arrivals_from
        return (
            alike
            and counted
            and self.cursor.last_persist_us >= 0
            and flow.producer.runtime.trace.number(REASON) is not None
        )

    def _send(self, group: Group) -> bool:
        """Register its acks, as `Subscription.acknowledge` does; False when it has other effects."""
        subscription, topic, cursor, at_us = (
            self.work.flow.subscription,
            self.work.flow.topic,
            self.cursor,
            group.at_us,
        )
        before, persisted = cursor.mark_delete, None
        cursor.acknowledge_many(self._indices[group.acks])
        after = cursor.mark_delete
        if after >= self._usable_from or switches_ledger(topic, self._position(before)[0], after):
            return False
        if cursor.dirty and at_us - cursor.last_persist_us >= topic.hot.persist_interval_us:
            if cursor.deleted_count > topic.cluster.setting("managedLedgerMaxUnackedRangesToPersist", topic):
                return False
            cursor.persist(at_us)
            persisted = (*self._position(after), cursor.deleted_count)
        elif cursor.dirty and self.flush_us is None and not subscription.writer.flush_due:
            self.flush_us = subscription.writer.flush_us(at_us, cursor)
            if self.flush_us <= at_us:
                return False
        moved = (*self._position(before), *self._position(after)) if after != before else None
        self.sent.append(group._replace(persisted=persisted, moved=moved))
        return True

    def _position(self, index: int) -> tuple[int, int]:
        """The position of a mark-delete, which may be on an entry that is not appended yet."""
        log = self.work.flow.topic.log
        if index < log.length:
            return self.work.flow.subscription.border.position(index)
        return log.ledgers[-1].id, index - log.ledgers[-1].first_index

    # --- effects of the groups

    def left(self, turn: int, horizon_us: int) -> tuple[np.ndarray, np.ndarray]:
        """A consumer's acks made before `horizon_us` that are pending then, and when they are made.

        Those pending before the stretch are excluded.
        """
        waited, sent = self.counts[turn], sum(len(group.acks) for group in self.sent if group.turn == turn)
        left = slice(max(sent - waited, 0), int(self.made_us[turn].searchsorted(horizon_us)))
        return self.made[turn][left], self.made_us[turn][left]

    def settle(self) -> list[tuple]:
        """Apply the groups at the broker; returns the timer of the cursor's write, if it starts."""
        subscription, flow = self.work.flow.subscription, self.work.flow
        events: list[tuple] = []
        if not self.sent:
            return events
        subscription.cursor.restore(self.cursor.capture())
        flow.dispatcher.released_many(self._indices[np.concatenate([group.acks for group in self.sent])])
        if any(group.persisted for group in self.sent):
            subscription.border.persist()
        if self.flush_us is not None:
            subscription.writer.flush_due = True
            events.append((self.flush_us, subscription.topic.rank, subscription.writer.flush, None))
        return events
