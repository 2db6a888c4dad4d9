"""A shadow topic (or partition): its own subscriptions and cursors on the ledgers of its source.

Rules (PIP-180, `ShadowManagedLedgerImpl`): it never writes an entry, opens no ledger and rolls none over. Its
last confirmed entry is set from announced positions (`add`), from the source's list of ledgers, which it
watches, and, as an option, from querying the bookies. The source's retention ignores its cursors: they are
moved past deleted entries, and messages that they had not acknowledged are lost.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, cast

from pyroaring import BitMap

from simulator.protocols.pulsar.broker.topic import Topic
from simulator.protocols.pulsar.shadow.reads import Reads, ShadowLog
from simulator.protocols.pulsar.storage import retention
from simulator.trace.registry import NULL

if TYPE_CHECKING:
    from simulator.log.ledgers import SharedColumn, TopicLog
    from simulator.protocols.pulsar.broker.cluster import Cluster
    from simulator.protocols.pulsar.broker.subscription import Subscription
    from simulator.protocols.pulsar.shadow.source import ShadowReplicator


# --- slow readers of a shadow lose messages that the source's retention deletes (#18731)
#
# Their cursors are moved past the deleted entries, and each loss is a row.


UNREAD, UNACKNOWLEDGED = "unread", "unacknowledged"


def push_cursors(topic: ShadowTopic, first_index: int, cause: int) -> None:
    """Move cursors past the deleted ledgers below `first_index`, where reading continues."""
    for subscription in topic.subscriptions.values():
        if subscription.cursor.mark_delete < first_index - 1:
            _note_lost(topic, subscription, first_index, cause)
    topic.shadow_log.drop_below(first_index)
    topic.reads.stuck = None
    for audience in topic.audiences.values():
        audience.pushed(first_index)
    for subscription in topic.subscriptions.values():
        if subscription.cursor.mark_delete < first_index - 1:
            subscription.border.move(first_index - 1, topic.log.ledgers[0].id)
        subscription.acknowledge_up_to(first_index - 1, "trim", cause)
    topic.wake_dispatchers(cause)


def _note_lost(topic: ShadowTopic, subscription: Subscription, first_index: int, cause: int) -> None:
    runtime, cursor = topic.runtime, subscription.cursor
    acknowledged, settled = runtime.acknowledged[subscription.name], runtime.settled[subscription.name]
    lost = topic.lost.setdefault(subscription.name, BitMap())
    messages = runtime.messages
    for index, message, batch_index in retention.messages_between(topic, cursor.mark_delete + 1, first_index):
        place = max(batch_index, 0)
        remaining = cursor.batch_remaining(index, messages.batch[message - place])
        if not remaining >> place & 1 or message in acknowledged or message in settled:
            continue
        lost.add(message)
        delivered = message in runtime.delivered[subscription.name]
        about = (
            *(topic.cluster.number, topic.number, subscription.number),
            *(messages.producer[message], messages.sequence_id[message]),
            *(*topic.log.position(index), batch_index),
        )
        runtime.rows.message_lost(cause, about=about, reason=UNACKNOWLEDGED if delivered else UNREAD)


def lost_messages(topic: ShadowTopic, subscription: str) -> int:
    """Number of messages that the source deleted and the subscription's application has not acked so far."""
    lost = topic.lost.get(subscription)
    return 0 if lost is None else len(lost - topic.runtime.acknowledged[subscription])


Waiting = tuple["ShadowReplicator", int] | None
"""The sender of a position, and the entry's index in its log; None when a client sent it."""


class ShadowTopic(Topic):
    """One shadow topic partition in one cluster.

    Partition i reads the ledgers of the source's partition i.
    """

    __slots__ = (
        "_counted_to",
        "_open_seen",
        "confirmed_reads",
        "current_entries",
        "newly_created",
        "lost",
        "open_bytes",
        "queued",
        "queued_ever",
        "refresh_due",
        "seen_version",
        "shadow_log",
        "source",
        "source_reads",
        "waits_for_source",
    )

    source: Topic
    reads: Reads

    def __init__(self, cluster: Cluster, base: str, name: str, partition: int, source: Topic) -> None:
        super().__init__(cluster, base, name, partition)
        self.source = source
        self.refuses = "not-allowed"
        self.shadow_log = ShadowLog(source.log)
        self.log = cast("TopicLog", self.shadow_log)  # for reading: nothing is appended to it
        self.reads = Reads(self, source)
        self.source_reads = source.count_reads()
        # (position, cause, sender) beyond the last ledger in its list
        self.queued: deque[tuple[tuple[int, int], int, Waiting]] = deque()
        self.queued_ever = 0
        # the broker's counter of the open ledger: the last entry number announced to it, 0 when opened
        self.current_entries = 0
        self.newly_created = True  # created, and not loaded yet
        self.waits_for_source = False
        self.seen_version = -1
        self.refresh_due = False
        self.confirmed_reads = 0  # queries of the bookies for the end of the open ledger
        # subscription -> messages that the source deleted before they were acknowledged
        self.lost: dict[str, BitMap] = {}
        self.open_bytes = 0  # of the visible entries of the last ledger
        self._open_seen: tuple[int, int] = (-1, 0)  # (the last ledger, index up to which open_bytes counts)
        self._counted_to = 0

    @property
    def stored_seqs(self) -> SharedColumn:
        """The rows that stored the entries in the source."""
        return self.source.stored_seqs

    @stored_seqs.setter
    def stored_seqs(self, _column: SharedColumn) -> None:
        """It stores nothing, so it keeps no columns."""

    # --- lifecycle

    def load(self, cause: int, first: bool = False) -> None:
        """A broker loads the topic, if its source exists: a topic without ledgers cannot be opened.

        Cursors are restored as persisted, then moved past entries deleted meanwhile.
        """
        self.waits_for_source = self.cluster.topics.get(self.source.name) is not self.source
        if self.waits_for_source:
            self.loaded = False
            self.runtime.rows.shadow_load_failed(cause, **self.names, reason=self.source.name)
            return
        super().load(cause, first)
        self._leave_deleted(self.loaded_seq)

    def delete_ledgers(self, cause: int) -> None:
        """The shadow is deleted: it stores nothing, so only its state is dropped.

        With the hazard option, the ledgers that it shares are deleted, too.
        """
        self.runtime.rows.shadow_deleted(cause, **self.names)
        if self.runtime.option("shadowDeletesSharedLedgers"):
            for ledger in self.source.log.ledgers:
                self.source.shadows.storage.delete(ledger, self.name, cause)
        self.newly_created = True
        self.lost.clear()

    def unload(self, reason: str, cause: int, clean: bool = True, delivered: bool = False) -> None:
        """Leave the broker: the watch ends, entries queued for an unknown ledger are dropped.

        The source's replicator loses its connection.
        """
        if not self.loaded:
            return
        super().unload(reason, cause, clean, delivered)
        self.queued.clear()
        replicator = self.source.shadows.replicators.get(self.name)
        if replicator is not None:
            replicator.disconnect("shadow-" + reason, cause)

    def remote_clusters(self) -> list[str]:
        """Always empty: it writes nothing, so it is not replicated to other clusters."""
        return []

    def open_ledger(self, cause: int) -> None:
        """Read the source's ledgers at a load; the last is opened for reading, without recovery."""
        if self.newly_created:
            self.newly_created = False
            self.runtime.rows.shadow_created(cause, **self.names, reason=self.source.name)
        self.shadow_log.current = None
        self.refresh_due = False
        self.seen_version = self.source.shadows.version
        self._read_ledgers("load", cause)
        self.loaded_length = self.log.length

    # --- ledgers of the source

    def hear_of_ledgers(self, argument: tuple[int, int]) -> None:
        """The watch reports that the source's list of ledgers has changed."""
        epoch, cause = argument
        if epoch != self.epoch or not self.loaded:
            return
        version = self.source.shadows.version
        if version <= self.seen_version:
            self.runtime.rows.shadow_watch_ignored(cause, **self.names)
            return
        self.seen_version = version
        self._read_ledgers("metadata", cause)

    def _read_ledgers(self, reason: str, cause: int) -> None:
        """Read the present list of ledgers.

        A new last ledger is opened, positions queued for it are added, cursors are moved past deleted
        entries.
        """
        log, opened_before = self.shadow_log, self.shadow_log.current
        if not self.source.log.ledgers:
            return
        log.read_ledgers()
        seq = self.runtime.rows.shadow_ledgers_read(
            cause, **self.names, ledger=log.opened.id, count=len(log.ledgers)
        )
        if log.current is not opened_before:
            self.current_entries = 0
            self.confirm(log.last_of_nonempty(self.source.shadows.entries_confirmed()), reason, seq)
            for subscription in self.subscriptions.values():  # no cursor has read the new ledger yet
                if (
                    reason == "metadata"
                    and subscription.cursor.mark_delete == log.opened.first_index - 1 == log.length - 1
                ):
                    subscription.move_to_ledger(log.opened.id, seq)
            self._go_on_with_queued()
        elif self.source.terminated:
            self.confirm(self.source.log.last_confirmed, "terminated", seq)
        if reason != "load":
            self._leave_deleted(seq)

    def _leave_deleted(self, cause: int) -> None:
        first_index = self.log.ledgers[0].first_index if self.log.ledgers else 0
        if first_index > self.log.first_kept:
            push_cursors(self, first_index, cause)

    # --- the last confirmed entry

    def add(self, position: tuple[int, int], cause: int, who: Waiting = None) -> str:
        """An entry is announced: "taken", "queued" until the ledger list has its ledger, or "not-open"."""
        if not self.loaded:
            return "not-open"
        if position[0] > self.shadow_log.opened.id:
            self.queued.append((position, cause, who))
            self.queued_ever += 1
            self.runtime.rows.shadow_add_queued(cause, **self.names, at=position)
            return "queued"
        self._take(position, cause, who)
        return "taken"

    def _go_on_with_queued(self) -> None:
        while self.queued and self.queued[0][0][0] <= self.shadow_log.opened.id:
            self._take(*self.queued.popleft())

    def _take(self, position: tuple[int, int], cause: int, who: Waiting) -> None:
        """Set the last confirmed entry to this position, even to an older one."""
        before = self.log.last_confirmed
        self.shadow_log.confirm(*position)
        self.current_entries = position[1]
        seq = self.runtime.rows.shadow_added(
            cause, **self.names, at=position, to=before, reason="client" if who is None else "replicator"
        )
        if who is not None:
            if self.runtime.option("shadowCachesReplicatedEntries"):
                self.reads.put(who[1])
            who[0].taken(who[1])
        self._entries_visible(seq)

    def confirm(self, position: tuple[int, int], reason: str, cause: int) -> None:
        """Set the last confirmed entry to this position, from the metadata or the bookies."""
        before = self.log.last_confirmed if self.shadow_log.confirmed[0] >= 0 else (NULL, NULL)
        self.shadow_log.confirm(*position)
        seq = self.runtime.rows.shadow_confirmed(cause, **self.names, at=before, to=position, reason=reason)
        self._entries_visible(seq)

    def _entries_visible(self, cause: int) -> None:
        messages, log = self.runtime.messages, self.log
        for index in range(self._counted_to, log.length):
            record = log.records[index]
            if record < 0:
                self.counts[self.runtime.markers[-record - 1].type] += 1
            else:
                self.counts["messages"] += messages.batch[record]
        self._counted_to = max(self._counted_to, log.length)
        self._count_bytes()
        self.wake_dispatchers(cause)

    def _count_bytes(self) -> None:
        ledger, seen_to = self._open_seen
        if ledger != self.shadow_log.opened.id or self.log.length < seen_to:
            self.open_bytes, seen_to = 0, self.shadow_log.opened.first_index
        self.open_bytes += sum(self.reads.size_bytes(index) for index in range(seen_to, self.log.length))
        self._open_seen = (self.shadow_log.opened.id, max(seen_to, self.log.length))

    # --- querying the bookies (the proposal's refresh)

    def wait_for_more(self) -> None:
        """A cursor reads beyond the last confirmed entry: query the bookies at the writer's next update."""
        if self.refresh_due or self.runtime.option("shadowLastConfirmedRefresh") == "never":
            return
        due_us = self.source.shadows.next_update_us()
        if due_us is not None:
            self.refresh_due = True
            self.runtime.schedule(due_us, self.rank, self.refresh, self.epoch)

    def refresh(self, epoch: int) -> None:
        """Read the open ledger's last confirmed entry from the bookies; again later while a cursor waits."""
        if epoch != self.epoch or not self.loaded:
            return
        self.refresh_due = False
        if not self.source.log.ledgers:  # it was deleted
            return
        self.confirmed_reads += 1
        confirmed = self.shadow_log.last_of_nonempty(self.source.shadows.entries_confirmed())
        if (
            confirmed > self.shadow_log.confirmed
            and self.shadow_log.opened.id == self.source.log.ledgers[-1].id
        ):
            self.confirm(confirmed, "refresh", NULL)
        elif any(
            session.ready for one in self.subscriptions.values() for session in one.dispatcher.sessions
        ) or any(one.connected for one in self.audiences.values()):
            self.wait_for_more()

    # --- entries not visible yet, and storage saved

    @property
    def fed_now(self) -> bool:
        """Whether its source's replicator is connected to it."""
        replicator = self.source.shadows.replicators.get(self.name)
        return replicator is not None and replicator.state == "started"

    @property
    def behind_entries(self) -> int:
        """Entries of the source beyond the last confirmed one of the shadow."""
        return max(0, self.source.log.length - self.log.length)

    @property
    def stale_us(self) -> int:
        """Age in the source of the oldest entry that is not visible in the shadow, 0 when all are."""
        if not self.behind_entries:
            return 0
        return self.runtime.now_us - self.runtime.trace.at_us(self.source.stored_seqs[self.log.length])

    @property
    def saved_bytes(self) -> int:
        """Bytes of the visible entries that the source keeps, which a replicated copy would store again."""
        return sum(ledger.size_bytes for ledger in self.log.ledgers[:-1]) + self.open_bytes

    # --- the hazard (option)

    def trim(self, cause: int) -> None:
        """Delete nothing, as a shadow must not.

        From reading the source, not confirmed: trimming is inherited without a guard, so a shadow might
        delete ledgers.
        """
        if self.runtime.option("shadowDeletesSharedLedgers"):
            for ledger in retention.let_go(self):
                self.source.shadows.storage.delete(ledger, self.name, cause)
