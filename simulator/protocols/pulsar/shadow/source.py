"""The source side of shadow topics: their list, their replicators, and the watch on the ledger list.

Rules: setting the list starts the missing replicators and ends those that are no longer on it. The list is a
policy of the topic, in its own cluster only. Each change of the list of ledgers is a new version. A shadow is
notified a little later and then reads the newest version. So the notification of a version that it has read
already is stale (PIP-180, `ShadowReplicator`, `ShadowManagedLedgerImpl`).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, cast

from simulator.kernel.clock import Handler
from simulator.kernel.random import draw, stream_key
from simulator.log.cursors import Cursor
from simulator.protocols.pulsar.client import backoff
from simulator.protocols.pulsar.ranks import SHADOW, rank
from simulator.protocols.pulsar.shadow.reads import Storage, entry_bytes
from simulator.protocols.pulsar.storage import messages, retention
from simulator.protocols.pulsar.storage.messages import TailRead, lateness_of
from simulator.trace.registry import NULL

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.protocols.pulsar.shadow.topic import ShadowTopic
    from simulator.scenarios.model import Scenario


class ShadowList(NamedTuple):
    """The list of one topic's shadow topics.

    It has their names, and until when its last change is being written.

    The list of a topic's shadow topics, a policy of the topic in its own cluster (PIP-180).
    """

    names: tuple[str, ...] = ()
    busy_until_us: int = 0


NO_SHADOWS = ShadowList()


_SECOND_US = 1_000_000


class ShadowSource:
    """The part of one topic partition that its shadows use."""

    def __init__(self, topic: Topic) -> None:
        self.topic = topic
        self.storage = Storage(topic)
        self.version = 0  # of the list of ledgers
        self.stopped_us: int | None = None  # when its writer stopped, since the last load
        self.stopped_cleanly = False
        self.checked_epoch = -1  # the load whose periodic check is scheduled
        self.replicators: dict[str, ShadowReplicator] = {}  # by the name of the shadow, or of its partition

    # --- the list of ledgers

    def ledgers_changed(self, cause: int) -> None:
        """Notify the watching shadows: a ledger was opened, closed, deleted or offloaded."""
        self.version += 1
        runtime = self.topic.runtime
        due_us = None
        for shadow in self.shadows():
            if shadow.loaded:
                due_us = due_us or runtime.now_us + runtime.option("shadowMetadataLatency")
                runtime.schedule(due_us, shadow.rank, shadow.hear_of_ledgers, (shadow.epoch, cause))

    def shadows(self) -> list[ShadowTopic]:
        """The shadows of this topic partition in its cluster, by name."""
        return [
            shadow
            for topic in self.topic.cluster.topics.values()
            if topic.source is self.topic and (shadow := as_shadow(topic)) is not None
        ]

    # --- the list of shadow topics

    @property
    def listed(self) -> tuple[str, ...]:
        """Names of the shadow topics to be fed, from the topic's policy."""
        return self.topic.runtime.shadow_lists.get(
            (self.topic.cluster.name, self.topic.base), NO_SHADOWS
        ).names

    def partition_of(self, shadow: str) -> str:
        """The partition of the shadow that this topic partition feeds: the one with the same number."""
        return shadow if self.topic.partition < 0 else f"{shadow}-partition-{self.topic.partition}"

    def check_replication(self, cause: int, first: bool = False) -> None:
        """Start the missing replicators and end unlisted ones: the broker's policy check."""
        wanted = [self.partition_of(name) for name in self.listed]
        if not wanted and self.topic.runtime.option("shadowRemoveLast") == "keeps-running":
            return
        for name in wanted:
            if name not in self.replicators:
                replicator = self.replicators[name] = ShadowReplicator(self.topic, name, cause)
                replicator.start(cause, at_once=first)
        for name in [name for name in self.replicators if name not in wanted]:
            self.replicators.pop(name).end("removed", cause)

    def begin_policy_check(self) -> None:
        """Schedule the periodic policy check of this load."""
        seconds = self.topic.cluster.setting("replicationPolicyCheckDurationSeconds", self.topic)
        if seconds and self.listed and self.checked_epoch != self.topic.epoch:
            self.checked_epoch = self.topic.epoch
            self.topic.runtime.schedule(
                self.topic.runtime.now_us + seconds * _SECOND_US,
                self.topic.rank,
                self.policy_timer,
                self.topic.epoch,
            )

    def policy_timer(self, epoch: int) -> None:
        """Create again the replicators that ended by themselves."""
        if epoch == self.topic.epoch and self.topic.loaded:
            self.checked_epoch = -1
            self.check_replication(NULL)
            self.begin_policy_check()

    def ended(self, name: str) -> None:
        """A replicator ended by itself."""
        self.replicators.pop(name, None)

    # --- lifecycle of the topic

    def loaded(self, cause: int, first: bool) -> None:
        """A broker loaded the topic: new cursors, which are not durable, begin at the end of the log."""
        self.stopped_us = None
        for shadow in self.shadows():
            if shadow.waits_for_source:
                shadow.load(cause)
        self.check_replication(cause, first)
        self.begin_policy_check()

    def unloaded(self, reason: str, cause: int, clean: bool) -> None:
        """The broker unloaded the topic, and the cursors of the replicators are lost."""
        self.stopped_us, self.stopped_cleanly = self.topic.runtime.now_us, clean
        for replicator in self.replicators.values():
            replicator.end("source-" + reason, cause)
        self.replicators = {}

    def appended(self) -> None:
        """Entries were appended: the replicators continue."""
        for replicator in tuple(self.replicators.values()):
            replicator.read()

    def trimmed(self) -> None:
        """Ledgers were deleted: cursors that are not durable are moved forward."""
        for replicator in self.replicators.values():
            replicator.pushed_to(self.topic.log.first_kept)

    # --- the end of the open ledger, for readers

    def entries_confirmed(self) -> int:
        """Entries of the last ledger that the bookies report as confirmed to a reader that opens it.

        The writer sends its last confirmed entry every bookkeeperExplicitLacIntervalInMills (0: never). With
        the option `shadowReadsPiggybackedLac` the confirmed entry that each entry carries also counts, which
        is all but the last. A ledger that was closed cleanly is confirmed whole.
        """
        topic, log = self.topic, self.topic.log
        ledger = log.ledgers[-1]
        if ledger.closed_us is not None or (self.stopped_us is not None and self.stopped_cleanly):
            return ledger.entries
        confirmed = max(0, ledger.entries - 1) if topic.runtime.option("shadowReadsPiggybackedLac") else 0
        interval_us = topic.cluster.setting("bookkeeperExplicitLacIntervalInMills", topic) * 1_000
        if interval_us:
            until_us = topic.runtime.now_us if self.stopped_us is None else self.stopped_us
            last_us = ledger.opened_us + (until_us - ledger.opened_us) // interval_us * interval_us
            confirmed = max(confirmed, self._entries_stored_by(last_us))
        return confirmed

    def next_update_us(self) -> int | None:
        """The next instant at which the writer sends its last confirmed entry to the bookies.

        None when it never does, or when the topic was deleted.
        """
        ledgers, now_us = self.topic.log.ledgers, self.topic.runtime.now_us
        interval_us = self.topic.cluster.setting("bookkeeperExplicitLacIntervalInMills", self.topic) * 1_000
        if not interval_us or not ledgers:
            return None
        ledger = ledgers[-1]
        return ledger.opened_us + ((now_us - ledger.opened_us) // interval_us + 1) * interval_us

    def _entries_stored_by(self, at_us: int) -> int:
        """Entries of the last ledger that were stored at or before an instant."""
        topic, ledger = self.topic, self.topic.log.ledgers[-1]
        low, high = 0, ledger.entries
        while low < high:
            middle = (low + high) // 2
            if topic.runtime.trace.at_us(topic.stored_seqs[ledger.first_index + middle]) <= at_us:
                low = middle + 1
            else:
                high = middle
        return low


PRODUCE, CONSUME, SHADOW_TOPIC = "produce", "consume", "shadow_topic_policy"


def refusal(scenario: Scenario, role: str | None, action: str, topic: str) -> str | None:
    """Why a role may not perform an action on a topic, None when it may.

    The permissions of roles: a small model of Pulsar's authorisation, sufficient for shadow topics.

    Rules: a scenario without roles has authorisation off. With roles, a client acts as its role and needs the
    permission on that topic. Permissions on a source give none on its shadows, nor the reverse. Setting a
    source's list of shadow topics needs WRITE on the policy SHADOW_TOPIC of the source, which neither produce
    nor consume gives. A command without a role is a superuser's.
    """
    if not scenario.roles:
        return None
    if role is None:
        return f"a client without a role may not {_words(action)} {topic}"
    spec = scenario.roles[role]
    if spec.superuser or topic in getattr(spec, action):
        return None
    return f"role {role} may not {_words(action)} {topic}"


def _words(action: str) -> str:
    return (
        "write policy SHADOW_TOPIC of"
        if action == SHADOW_TOPIC
        else action + (" to" if action == PRODUCE else " from")
    )


# --- A shadow replicator: announces every entry of its source to one shadow topic or partition
#
# Rules (`ShadowReplicator`): it sends positions. Its cursor is not durable and begins at the end of the
# log, so entries written before, or while its source was unloaded, are not announced one by one. It skips
# only entries that TTL has expired: markers and replicated messages are announced, too. Entries are sent in
# order without payload, and at most replicationProducerQueueSize are in flight. An entry is acknowledged
# when the shadow has accepted its position. It performs the effects of `connecting`.


# --- the state machine of a shadow replicator's connection (`ShadowReplicator`)
#
# Rules: each method maps one input and the present time to effects. The states are those of
# `AbstractReplicator.State`. Once the replicator has been connected, a start that fails is retried after
# the backoff. If the very first start fails it ends, because the broker searches for it in the wrong list
# before it would retry. `number` counts connections: events of an earlier one are ignored.


DISCONNECTED, STARTING, STARTED, TERMINATED = "disconnected", "starting", "started", "terminated"
SHADOW_MOVES: dict[str, dict[str, str]] = {
    DISCONNECTED: {
        STARTING: "it is started, or its backoff is over",
        TERMINATED: "the shadow is removed, or the first start failed",
    },
    STARTING: {
        STARTED: "the shadow's broker serves the shadow",
        DISCONNECTED: "the shadow's broker cannot be reached",
        TERMINATED: "the shadow is removed",
    },
    STARTED: {
        DISCONNECTED: "the shadow's broker is down",
        TERMINATED: "the shadow is removed",
    },
    TERMINATED: {},
}
"""States of a shadow replicator: for each the possible next ones, and the reason for the move."""


# --- effects


class Connect(NamedTuple):
    """Connect to the shadow, which takes a round trip."""


class Begin(NamedTuple):
    """The producer is connected: rewind and read."""


class Stop(NamedTuple):
    """Record that it stopped."""


class Drop(NamedTuple):
    """Drop the entries in flight."""


class Retry(NamedTuple):
    """Start again at this instant."""

    at_us: int


class Unlist(NamedTuple):
    """The first start failed: the source builds a new replicator at its next policy check."""


Effect = Connect | Begin | Stop | Drop | Retry | Unlist


@dataclass(slots=True)
class ShadowConnecting:
    """The connection of one shadow replicator. `stream` is the backoff's random stream."""

    stream: int
    state: str = DISCONNECTED
    number: int = 0
    retries: int = 0
    was_connected: bool = False

    def become(self, state: str) -> None:
        """Change to a permitted state."""
        assert state in SHADOW_MOVES[self.state], (
            f"no move of a shadow replicator from {self.state} to {state}"
        )
        self.state = state

    def start(self) -> list[Effect]:
        """Start it."""
        if self.state != DISCONNECTED:
            return []
        self.become(STARTING)
        return [Connect()]

    def connected(self, number: int, reachable: bool, now_us: int) -> list[Effect]:
        """The round trip is over; `reachable`: the shadow is served now."""
        if number != self.number or self.state != STARTING:
            return []
        if not reachable:
            self.become(DISCONNECTED)
            return [self._retry(now_us)]
        self.become(STARTED)
        self.was_connected, self.retries = True, 0
        return [Begin()]

    def backoff_over(self, number: int, first_failure_ends: bool) -> list[Effect]:
        """The wait after a failed start or a lost connection is over."""
        if number != self.number or self.state != DISCONNECTED:
            return []
        if first_failure_ends and not self.was_connected:
            return [Unlist(), *self.end()]
        return self.start()

    def lost(self, now_us: int) -> list[Effect]:
        """The shadow's broker is down."""
        if self.state not in (STARTED, STARTING):
            return []
        stop: list[Effect] = [Stop()] if self.state == STARTED else []
        self.become(DISCONNECTED)
        return [*stop, *self.interrupted(), self._retry(now_us)]

    def interrupted(self) -> list[Effect]:
        """Entries in flight are lost, or were refused: they will be sent again."""
        self.number += 1
        return [Drop()]

    def end(self) -> list[Effect]:
        """The shadow is removed, or its topic is unloaded."""
        if self.state == TERMINATED:
            return self.interrupted()
        self.become(TERMINATED)
        return [Stop(), *self.interrupted()]

    def _retry(self, now_us: int) -> Retry:
        wait_us = backoff.jittered_wait_us(self.retries, draw(self.stream, now_us))
        self.retries += 1
        return Retry(now_us + wait_us)


REFUSED_WAIT_US = 1_000_000
"""Wait before a refused send is read again: Pulsar's first wait after a failed read."""


def as_shadow(topic: Topic) -> ShadowTopic | None:
    """The topic as a shadow, None for an ordinary one: only shadows have a source."""
    return None if topic.source is None else cast("ShadowTopic", topic)


class ShadowReplicator:
    """The replicator of a source partition to one shadow partition; it belongs to the source."""

    def __init__(self, topic: Topic, shadow: str, cause: int) -> None:
        runtime = topic.runtime
        self.topic = topic
        self.runtime = runtime
        self.shadow = shadow
        self.number = runtime.name(shadow)
        self.rank = rank(SHADOW, topic.rank >> 16 & 0xFFFF, topic.rank & 0xFFFF)
        self.connecting = ShadowConnecting(
            stream_key(runtime.seed, f"shadow-backoff/{topic.cluster.name}/{shadow}")
        )
        self.cursor = Cursor(topic.log.length - 1, runtime.now_us)
        self.read_index = topic.log.length
        self.stalled = False
        self.is_reading = False
        reader = f"shadow/{topic.cluster.name}/{shadow}"
        self.tail = TailRead(lateness_of(runtime, reader))
        self.wire: deque[int] = deque()
        self.waiting: dict[int, None] = {}  # arrived at the shadow, whose list lacks their ledger; in order
        self.sent_messages = self.sent_bytes = self.skipped = self.resets = 0
        position = topic.log.position(self.cursor.mark_delete)
        runtime.rows.shadow_replicator_created(
            cause, cluster=topic.cluster.number, topic=self.number, reason=topic.name, at=position
        )

    @property
    def in_flight(self) -> int:
        """Entries sent that the shadow has not accepted yet."""
        return len(self.wire) + len(self.waiting)

    @property
    def backlog(self) -> int:
        """Entries after its cursor."""
        return max(0, self.cursor.backlog(self.topic.log.length))

    @property
    def state(self) -> str:
        """One of `SHADOW_MOVES`."""
        return self.connecting.state

    # --- connecting

    def start(self, cause: int, at_once: bool = False) -> None:
        """Connect a producer to the shadow: a round trip, or no time at the start of the run."""
        effects = self.connecting.start()
        # at the start of the run, the shadow is loaded at this instant, too
        begins = self.runtime.now_us == 0 and self.shadow in self.topic.cluster.topics
        if effects and at_once and (begins or self._reachable()):
            effects = self.connecting.connected(self.connecting.number, True, self.runtime.now_us)
        self._perform(effects, cause)

    def connected_now(self, number: int) -> None:
        """The round trip is over."""
        self._perform(self.connecting.connected(number, self._reachable(), self.runtime.now_us), NULL)

    def _reachable(self) -> bool:
        shadow = self.topic.cluster.topics.get(self.shadow)
        return shadow is not None and shadow.loaded

    def retry_now(self, number: int) -> None:
        """Start again after the backoff."""
        first_failure_ends = self.runtime.option("shadowReplicatorRetry") == "terminates"
        self._perform(self.connecting.backoff_over(number, first_failure_ends), NULL, "start-failed")

    def disconnect(self, reason: str, cause: int) -> None:
        """The shadow's broker is down: entries in flight will be announced again, from the cursor on."""
        self._perform(self.connecting.lost(self.runtime.now_us), cause, reason)

    def end(self, reason: str, cause: int) -> None:
        """It ends, and its cursor is deleted."""
        self._perform(self.connecting.end(), cause, reason)

    def _perform(self, effects: list[Effect], cause: int, reason: str = "") -> None:
        rows = self.runtime.rows
        for effect in effects:
            match effect:
                case Connect():
                    round_trip_us = 2 * self.runtime.option("shadowReplicationLatency")
                    self._at(self.runtime.now_us + round_trip_us, self.connected_now)
                case Begin():
                    rows.shadow_replicator_started(
                        cause, cluster=self.topic.cluster.number, topic=self.number
                    )
                    self._rewind()
                case Stop():
                    rows.shadow_replicator_stopped(
                        cause, cluster=self.topic.cluster.number, topic=self.number, reason=reason
                    )
                case Drop():
                    self.wire.clear()
                    self.tail.cancel()
                    self.waiting.clear()
                    self.stalled = False
                case Retry(at_us):
                    self._at(at_us, self.retry_now)
                case Unlist():
                    self.topic.shadows.ended(self.shadow)

    def _at(self, at_us: int, handler: Handler) -> None:
        self.runtime.schedule(at_us, self.rank, handler, self.connecting.number)

    def _rewind(self) -> None:
        """Read from the cursor on."""
        self.read_index = max(self.cursor.mark_delete + 1, self.topic.log.first_kept)
        self.tail.cancel()
        self.read()

    # --- reading and sending

    def read(self) -> None:
        """Announce every entry from the read position on, while connected and while the queue has room."""
        self._reset_if_far_behind()
        if self.state != STARTED or self.is_reading:
            return
        delay_us = self.topic.hot.new_entries_check_delay_us
        limited = delay_us or self.topic.appends is not None
        if limited and not messages.begin(self, delay_us):
            return
        self.is_reading = True
        log, size_max = self.topic.log, self.topic.hot.replicator_queue_entries
        while (
            self.read_index < (self.tail.end if limited else log.length)
            and self.state == STARTED
            and not self.stalled
        ):
            if self.in_flight >= size_max:
                self.stalled = True
                break
            index = self.read_index
            self.read_index = index + 1
            if self._expired(index):
                self._skip(index)
            else:
                self._send(index)
        self.is_reading = False
        if limited and self.state == STARTED and not self.stalled:
            messages.wait(self, delay_us)

    def check_for_new_entries(self, check_us: int) -> None:
        """The delay is over, and entries were appended in it."""
        if self.tail.check_due and self.tail.check_us == check_us:
            self.tail.check_due = False
            self.read()

    def _expired(self, index: int) -> bool:
        ttl_us = self.topic.hot.ttl_us
        return ttl_us > 0 and retention.published_us(self.topic, index) + ttl_us < self.runtime.now_us

    def _skip(self, index: int) -> None:
        self.skipped += 1
        self.runtime.rows.shadow_entry_skipped(
            self.topic.stored_seqs[index],
            cluster=self.topic.cluster.number,
            topic=self.number,
            at=self.topic.log.position(index),
            reason="expired",
        )
        self.cursor.acknowledge(index)

    def _send(self, index: int) -> None:
        record = self.topic.log.records[index]
        self.sent_messages += 1 if record < 0 else self.runtime.messages.batch[record]
        if self.topic.reads is not None:
            self.topic.reads.take(index)
        if self.runtime.option("shadowCachesReplicatedEntries"):
            # the payload is sent only where a broker caches it
            self.sent_bytes += entry_bytes(self.topic, index)
        self.wire.append(index)
        self.runtime.schedule(
            self.runtime.now_us + self.runtime.option("shadowReplicationLatency"),
            self.rank,
            self.arrive,
            (self.connecting.number, index),
        )

    def arrive(self, argument: tuple[int, int]) -> None:
        """An entry's position reached the shadow's broker."""
        number, index = argument
        if number != self.connecting.number or self.state != STARTED:
            return
        self.wire.popleft()
        shadow = as_shadow(self.topic.cluster.topics[self.shadow])
        if shadow is None:
            self._refused(index)
            return
        self.waiting[index] = None
        shadow.add(self.topic.log.position(index), self.topic.stored_seqs[index], (self, index))

    def _refused(self, index: int) -> None:
        """The named topic is not a shadow: it rejects a message with a position.

        The entry is read again after a wait.
        """
        self.runtime.rows.shadow_entry_refused(
            self.topic.stored_seqs[index],
            cluster=self.topic.cluster.number,
            topic=self.number,
            at=self.topic.log.position(index),
            reason="not-a-shadow",
        )
        self._perform(self.connecting.interrupted(), NULL)
        self._at(self.runtime.now_us + REFUSED_WAIT_US, self.read_again)

    def read_again(self, number: int) -> None:
        """Read again after a refusal."""
        if number == self.connecting.number and self.state == STARTED:
            self._rewind()

    def taken(self, index: int) -> None:
        """The shadow accepted an entry's position."""
        self.waiting.pop(index, None)
        self.cursor.acknowledge(index)
        size_max = self.topic.hot.replicator_queue_entries
        if self.stalled and self.in_flight < max(1, size_max * 9 // 10):
            self.stalled = False
            self.read()

    # --- the cursor

    def pushed_to(self, index: int) -> None:
        """Entries before `index` were deleted: the cursor, which is not durable, is moved past them."""
        self.cursor.mark_delete_to(index - 1)
        self.read_index = max(self.read_index, index)

    def _reset_if_far_behind(self) -> None:
        """Apply shadowReplicatorAutoResetBacklogEntries, which exists only in the proposal."""
        most = self.runtime.option("shadowReplicatorAutoResetBacklogEntries")
        if not most or self.backlog <= most:
            return
        before, last = self.topic.log.position(self.cursor.mark_delete), self.topic.log.length - 1
        passed = self.backlog
        self.cursor.mark_delete_to(last)
        self.read_index = last + 1
        self.resets += 1
        after = self.topic.log.position(last)
        self.runtime.rows.shadow_replicator_reset(
            NULL, cluster=self.topic.cluster.number, topic=self.number, at=before, to=after, count=passed
        )
