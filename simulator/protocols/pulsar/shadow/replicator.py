"""A shadow replicator: announces every entry of its source to one shadow topic or partition.

Rules (`ShadowReplicator`): it sends positions. Its cursor is not durable and begins at the end of the log, so
entries written before, or while its source was unloaded, are not announced one by one. It skips only entries
that TTL has expired: markers and replicated messages are announced, too. Entries are sent in order without
payload, and at most replicationProducerQueueSize are in flight. An entry is acknowledged when the shadow has
accepted its position. It performs the effects of `connecting`.
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
from simulator.protocols.pulsar.shadow.reads import entry_bytes
from simulator.protocols.pulsar.storage import messages, retention
from simulator.protocols.pulsar.storage.messages import TailRead, lateness_of
from simulator.trace.registry import NULL

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.protocols.pulsar.shadow.topic import ShadowTopic


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
