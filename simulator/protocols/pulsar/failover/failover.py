"""Moving a subscription's consumers from one cluster to another, in one of four modes.

*crash*: the clients are killed, with the loss of acks not sent, and new ones start at the target at once.
*planned*: they finish the application's messages, close cleanly and start at the target. *drained*: planned,
after the target has caught up or a time limit. *auto*: probes decide when to move and when to move back, as
in Pulsar's two failover providers (`automatic`). A consumer that runs then stays the same instance: its
client changes the service URL and closes all connections (`PulsarClientImpl.updateServiceUrl`), and the
consumer connects to the target when it retries, with its last cumulative ack. One that died with its region
starts anew. The window of a failover opens with its `failover.started` row.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from pyroaring import BitMap

from simulator.log.cursors import runs
from simulator.protocols.pulsar.client.consumer import ALIVE, PAUSED, RUNNING
from simulator.protocols.pulsar.client.producer import KILLED as PRODUCER_KILLED
from simulator.protocols.pulsar.client.producer import PAUSED as PRODUCER_PAUSED
from simulator.protocols.pulsar.client.producer import RUNNING as PRODUCER_RUNNING
from simulator.protocols.pulsar.client.producer import STOPPED as PRODUCER_STOPPED
from simulator.protocols.pulsar.failover import forecasting
from simulator.protocols.pulsar.failover.forecasting import MARKED_RANGES_MAX
from simulator.protocols.pulsar.ranks import FAILOVER, rank
from simulator.trace.registry import NULL

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.protocols.pulsar.client.consumer import Consumer
    from simulator.protocols.pulsar.client.producer import Producer
    from simulator.protocols.pulsar.pulsar import Pulsar


# --- A failover's result so far, counted while messages are delivered, so that no rows are read
#
# Rules: the definitions are those of docs/counting.md. `counting` derives the same figures from the rows (a
# test compares them). The window of a failover ends at the next failover of its subscription. Only the
# latest window is notified of events.


class Draining:
    """Follows the cursor of one subscription in the target.

    `drained_us` is the first instant at which all was covered, None before.

    Of each topic partition only the first entry not covered yet is kept, so an acknowledgement elsewhere
    costs one look-up.

    When a failover's backlog is drained: the target's cursor covers its log as of the failover.

    That is every message entry that the target's log held at the failover.

    Rules: covered means at or below the mark-delete, or individually deleted. Markers do not count: the
    broker acknowledges them itself. An entry that is deleted while it is not covered never will be.
    `counting.draining` derives the same instant from the rows.
    """

    def __init__(self, runtime: Pulsar, subscription: str, target: str) -> None:
        self.runtime, self.subscription = runtime, subscription
        base, cluster = runtime.subscriptions[subscription].topic, runtime.clusters[target]
        held = [topic for topic in cluster.topics.values() if topic.base == base and cluster.state != "lost"]
        self.first = {topic.name: topic.log.first_kept for topic in held}
        self.end = {topic.name: topic.log.length for topic in held}
        self.next = dict(self.first)
        self.drained_us: int | None = None
        self.over = False
        for topic in held:
            self._advance(topic)
        self._end_if_drained()

    def look(self, topic: Topic) -> None:
        """Check again: the cursor covers more, was opened, or the log lost ledgers."""
        if not self.over and self.next.get(topic.name, 0) < self.end.get(topic.name, 0):
            self._advance(topic)
            self._end_if_drained()

    def look_back(self, topic: Topic) -> None:
        """Start again: the cursor was reset, recovered or deleted, and may cover less."""
        if not self.over and topic.name in self.end:
            self.next[topic.name] = max(self.first[topic.name], topic.log.first_kept)
            self._advance(topic)
            self._end_if_drained()

    def close(self) -> None:
        """The window is over: a backlog that is not drained now remains so."""
        self.over = True

    def _advance(self, topic: Topic) -> None:
        """Move to the first message entry that the cursor does not cover."""
        log, end, place = topic.log, self.end[topic.name], self.next[topic.name]
        found = topic.subscriptions.get(self.subscription)
        place = place if found is None else found.cursor.next_unacknowledged(place)
        while place < end and log.records[place] < 0:
            place = place + 1 if found is None else found.cursor.next_unacknowledged(place + 1)
        self.next[topic.name] = place
        self.over = self.over or place < min(log.first_kept, end)  # deleted before it was covered

    def _end_if_drained(self) -> None:
        if not self.over and all(self.next[name] >= end for name, end in self.end.items()):
            self.drained_us, self.over = self.runtime.now_us, True


class FailoverWindow:
    """Live figures of one failover, from the state at its instant on."""

    def __init__(self, runtime: Pulsar, subscription: str, source: str, target: str) -> None:
        self.runtime = runtime
        self.subscription = subscription
        self.source = source
        self.target = target
        self.lost: int | None = None  # set when the next failover closes the window
        if (latest := runtime.windows.get(subscription)) is not None:
            latest.close()
        self.forecast = forecasting.forecast(runtime, subscription, source).get(target) or {}
        self.stranded = forecasting.stranded_now(runtime, subscription, source, target)
        self.unread = (
            self.stranded - runtime.acknowledged[subscription]
        )  # of these, not acked anywhere by then
        self.returned = BitMap()  # of those not replicated, the ones in deleted topics of the target
        self.held = forecasting.held(runtime, subscription, target)  # in the target's log at the failover
        self.unsettled = self.held  # of these, the messages still to be delivered there
        self.judged = BitMap()  # delivered at the target inside the window
        self.duplicates = self.redeliveries = self.extra_deliveries = 0
        self.cursors = {  # in the target, before any delivery there
            topic.name: {
                "mark_delete_index": found.cursor.mark_delete,
                "ranges": [list(pair) for pair in found.cursor.ranges(MARKED_RANGES_MAX)],
            }
            for topic in runtime.clusters[target].topics.values()
            if (found := topic.subscriptions.get(subscription)) is not None
        }
        self.duplicate_entries: dict[str, BitMap] = {}  # by topic of the target
        self.first_delivery_us: int | None = None
        self.caught_up_us: int | None = None
        self.draining = Draining(runtime, subscription, target)
        cluster = runtime.clusters[source]
        self.out_since_us = (
            runtime.now_us
            if cluster.up or cluster.crashed_at_us is None
            else min(runtime.now_us, cluster.crashed_at_us)
        )
        self.recount()

    def delivered(self, message: int, topic: str, index: int) -> None:
        """Count a delivery at the target; called before the delivery itself is recorded.

        `topic` and `index` are those of the entry at the target.
        """
        runtime = self.runtime
        if self.first_delivery_us is None:
            self.first_delivery_us = runtime.now_us
        if message in self.judged:
            self.extra_deliveries += 1
            return
        self.judged.add(message)
        if message in runtime.acknowledged[self.subscription]:
            self.duplicates += 1
            self.duplicate_entries.setdefault(topic, BitMap()).add(index)
        elif message in runtime.delivered[self.subscription]:
            self.redeliveries += 1

    def settled(self, message: int) -> None:
        """A message was acknowledged in any cluster, or skipped at the target as acked at a peer."""
        if self.caught_up_us is None and self.lost is None:
            self.unsettled.discard(message)
            self._note_caught_up()

    def recount(self) -> None:
        """Update the window after changes that reduce the pending messages.

        These are a cursor opened or moved in the target, ledgers lost from its log, or messages skipped or
        expired in any cluster.
        """
        for topic in self.runtime.clusters[self.target].topics.values():
            self.draining.look(topic)
        if self.caught_up_us is None and self.lost is None:
            self.unsettled = forecasting.deliverable(
                self.runtime, self.subscription, self.target, self.unsettled
            )
            self._note_caught_up()

    def cursor_reset(self, topic: Topic) -> None:
        """An operator moved the target's cursor: entries that it covered may be delivered again."""
        self.draining.look_back(topic)
        if self.lost is None:
            self.unsettled = forecasting.deliverable(self.runtime, self.subscription, self.target, self.held)
            if self.unsettled:
                self.caught_up_us = None
            elif self.caught_up_us is None:
                self._note_caught_up()

    def cursor_went_back(self, topic: Topic) -> None:
        """The subscription was deleted in the target, or its cursor was recovered after a crash or unload."""
        self.draining.look_back(topic)

    def topic_deleted(self, topic: Topic) -> None:
        """A topic of the target, with the record of its messages, is about to be deleted."""
        self.returned |= self.stranded & topic.present

    def close(self) -> None:
        """The subscription's next failover begins: messages lost by now remain counted."""
        self.lost = forecasting.lost_now(self.runtime, self.subscription, self.target)
        self.draining.close()

    def _note_caught_up(self) -> None:
        if not self.unsettled:
            self.caught_up_us = self.runtime.now_us

    def _pending_repeats(self) -> int | None:
        """Messages that the target may still deliver again; None when the next failover has begun."""
        if self.lost is not None:
            return None
        known = self.runtime.acknowledged[self.subscription] | self.runtime.delivered[self.subscription]
        dropped = self.runtime.dropped.get((self.subscription, self.target), BitMap())
        waiting = forecasting.uncovered(self.runtime, self.subscription, self.target)
        return len((waiting & known) - self.judged - dropped)

    def entries(self) -> dict[str, dict[str, Any]]:
        """The marked entries of each topic of the target.

        These are the cursor at the failover (mark_delete_index, ranges), and the entries with duplicates so
        far.
        """
        nothing = {"mark_delete_index": -1, "ranges": []}
        return {
            name: {
                **self.cursors.get(name, nothing),
                "duplicates": [
                    list(pair)
                    for pair in runs(self.duplicate_entries.get(name, BitMap()))[-MARKED_RANGES_MAX:]
                ],
            }
            for name in sorted({*self.cursors, *self.duplicate_entries})
        }

    def figures(self) -> dict[str, Any]:
        """The figures for a page. `stranded` is final at the failover, `lost` when the window closes."""
        returned = self.returned | forecasting.returned(
            self.runtime, self.subscription, self.target, self.stranded
        )
        return {
            "duplicates": self.duplicates,
            "redeliveries": self.redeliveries,
            "extra_deliveries": self.extra_deliveries,
            "stranded": self.forecast.get("stranded"),
            "stranded_unprocessed": self.forecast.get("stranded_unprocessed"),
            "stranded_returned": len(returned),
            "stranded_missing": self.unread.difference_cardinality(returned),
            "lost": forecasting.lost_now(self.runtime, self.subscription, self.target)
            if self.lost is None
            else self.lost,
            "first_delivery_us": self.first_delivery_us,
            "outage_us": None
            if self.first_delivery_us is None
            else self.first_delivery_us - self.out_since_us,
            "caught_up_us": self.caught_up_us,
            "drained_us": self.draining.drained_us,
            "pending_repeats": self._pending_repeats(),
            "forecast": self.forecast,
        }


class Failover:
    """One failover of one subscription."""

    def __init__(self, runtime: Pulsar, arguments: dict, mode: str) -> None:
        self.runtime = runtime
        self.subscription = arguments["subscription"]
        self.source, self.target = arguments["from"], arguments["to"]
        self.moves_producers = arguments["producers"]
        self.course = Course(mode, arguments["stop-producers"], arguments["limit_us"])
        self.at_us = runtime.now_us
        self.seq = NULL
        self.window: FailoverWindow  # opened when it begins
        self.stopped: list[str] = []
        self.rank = rank(FAILOVER, sorted(runtime.subscriptions).index(self.subscription))

    def begin(self, cause: int) -> None:
        """Open the window and run the mode."""
        runtime = self.runtime
        self.window = FailoverWindow(runtime, self.subscription, self.source, self.target)
        self.seq = runtime.rows.failover_started(
            cause, cluster=self.source, peer=self.target, subscription=self.subscription, reason=self.mode
        )
        runtime.failovers.append(self)
        runtime.windows[self.subscription] = self.window
        self._perform(self.course.begin(runtime.now_us), self.seq)

    def _perform(self, effects: list[Effect], cause: int) -> None:
        for effect in effects:
            match effect:
                case Kill():
                    self._kill_all()
                case Redirect():
                    self._redirect_all()
                case StopProducers():
                    self._stop_producers()
                case Look(at_us):
                    self._look_at(at_us)
                case Close():
                    self._close_all()
                case Move():
                    self._move(cause)

    @property
    def mode(self) -> str:
        """CRASH, PLANNED, DRAINED or AUTO."""
        return self.course.mode

    def _consumers(self) -> list[Consumer]:
        consumers = self.runtime.consumers
        return [
            consumers[name]
            for name in sorted(consumers)
            if consumers[name].spec.subscription == self.subscription
            and consumers[name].spec.cluster is not None
            and consumers[name].cluster_name == self.source
        ]

    def _producers(self) -> list:
        topic = self.runtime.subscriptions[self.subscription].topic
        producers = self.runtime.producers
        return [
            producers[name]
            for name in sorted(producers)
            if producers[name].spec.topic == topic
            and producers[name].spec.cluster is not None
            and producers[name].cluster_name == self.source
        ]

    def _kill_all(self) -> None:
        for consumer in self._consumers():
            consumer.on_closed = None  # replaces an earlier failover that waits for it
            consumer.kill(self.seq)

    def _redirect_all(self) -> None:
        for consumer in self._consumers():
            if consumer.state in (RUNNING, PAUSED):
                consumer.change_cluster(self.target, self.seq)
            else:
                consumer.on_closed = None  # replaces an earlier failover that waits for it
                consumer.kill(self.seq)

    def _stop_producers(self) -> None:
        for producer in self._producers():
            if producer.state == PRODUCER_RUNNING:
                self.stopped.append(producer.name)
                producer.set_state(PRODUCER_STOPPED, self.seq)

    def _look_at(self, at_us: int) -> None:
        if at_us > self.runtime.now_us:
            self.runtime.schedule(at_us, self.rank, self.look)
        else:
            self.look(None)

    def look(self, _argument: None) -> None:
        """Drained mode: check whether the target covers everything acknowledged."""
        runtime = self.runtime
        forecast = forecasting.forecast(runtime, self.subscription, self.source)
        duplicates = forecast.get(self.target, {}).get("duplicates", 0)
        self._perform(self.course.looked(duplicates, runtime.now_us), self.seq)

    def _close_all(self) -> None:
        # also those in backoff
        consumers = [
            consumer for consumer in self._consumers() if consumer.sessions or consumer.state in ALIVE
        ]
        moves = self.course.closing(consumer.name for consumer in consumers)
        for consumer in consumers:
            consumer.close_when_done(self.consumer_closed)
        self._perform(moves, self.seq)

    def consumer_closed(self, consumer: Consumer) -> None:
        """One of the waited-for consumers has closed."""
        self._perform(self.course.closed(consumer.name), consumer.last_seq)

    def _move(self, cause: int) -> None:
        """Start the consumers, and the producers if requested, at the target."""
        for consumer in self._consumers():
            consumer.cluster_name = self.target
            consumer.last_seq = max(consumer.last_seq, cause)
            consumer.start()
        for producer in self._producers():
            self._move_producer(producer, cause)
        self.runtime.rows.failover_finished(
            cause, cluster=self.source, peer=self.target, subscription=self.subscription
        )
        self.window.recount()

    def _move_producer(self, producer: Producer, cause: int) -> None:
        """Move a producer: a clean move sends its open batch, the others lose it.

        A client that an operator paused or stopped keeps its state.
        """
        before, stopped_by_us = producer.state, producer.name in self.stopped
        if self.moves_producers:
            producer.set_state(
                PRODUCER_STOPPED if self.mode in (PLANNED, DRAINED) else PRODUCER_KILLED, cause
            )
            producer.cluster_name = self.target
        if before in (PRODUCER_STOPPED, PRODUCER_PAUSED) and not stopped_by_us:
            if self.moves_producers:
                producer.set_state(before, cause)
        elif self.moves_producers or stopped_by_us:
            producer.set_state(PRODUCER_RUNNING, cause)


# --- the state machine of a failover, and the two that decide when an automatic one is due
#
# Rules: each method maps one input and the present time to effects. No class uses clients, clusters or the
# clock. The mode determines the sequence of states. `Probing` follows the client's `AutoClusterFailover`
# (PIP-121), `LookupProbing` its `SameAuthParamsLookupAutoClusterFailover` (#23129).


CRASH, PLANNED, DRAINED, AUTO = "crash", "planned", "drained", "auto"
"""Modes of a failover."""

DRAIN_POLL_US = 100_000
"""Interval at which a drained failover checks whether the target has caught up."""

BEGUN, DRAINING, CLOSING, MOVED = "begun", "draining", "closing", "moved"
COURSE_MOVES: dict[str, dict[str, str]] = {
    BEGUN: {
        DRAINING: "drained",
        CLOSING: "planned",
        MOVED: "crash: the consumers are killed; auto: those that run are redirected",
    },
    DRAINING: {CLOSING: "the target covers everything acknowledged, or the limit has passed"},
    CLOSING: {MOVED: "the last consumer has closed; or another failover kills it, and this one stays here"},
    MOVED: {},
}
"""States of a failover: for each the possible next ones, and the reason for the move."""


# --- effects


class Kill(NamedTuple):
    """The consumers are killed and lose acks that they have not sent."""


class Redirect(NamedTuple):
    """The consumers that run close their connections, and connect to the target when they retry."""


class StopProducers(NamedTuple):
    """The producers stop until the move."""


class Look(NamedTuple):
    """Count, at this instant, the duplicates that a failover would cause."""

    at_us: int


class Close(NamedTuple):
    """The consumers finish the messages of the application, and close."""


class Move(NamedTuple):
    """The consumers that are still at the source start at the target, and so do the producers that move."""


Effect = Kill | Redirect | StopProducers | Look | Close | Move


@dataclass(slots=True)
class Course:
    """The state of one failover. `waiting`: names of the consumers that have not closed yet."""

    mode: str
    stops_producers: bool
    limit_us: int
    state: str = BEGUN
    waiting: list[str] = field(default_factory=list)
    deadline_us: int = 0

    def become(self, state: str) -> None:
        """Change to a permitted state."""
        assert state in COURSE_MOVES[self.state], f"no move of a failover from {self.state} to {state}"
        self.state = state

    def begin(self, now_us: int) -> list[Effect]:
        """The failover starts."""
        if self.mode in (CRASH, AUTO):
            self.become(MOVED)
            return [Kill() if self.mode == CRASH else Redirect(), Move()]
        if self.mode == PLANNED:
            self.become(CLOSING)
            return [Close()]
        self.become(DRAINING)
        self.deadline_us = now_us + self.limit_us
        return [StopProducers(), Look(now_us)] if self.stops_producers else [Look(now_us)]

    def looked(self, duplicates: int, now_us: int) -> list[Effect]:
        """The duplicates that a failover would cause now were counted."""
        if duplicates and now_us < self.deadline_us:
            return [Look(min(now_us + DRAIN_POLL_US, self.deadline_us))]
        self.become(CLOSING)
        return [Close()]

    def closing(self, consumers: Iterable[str]) -> list[Effect]:
        """These consumers were requested to close."""
        self.waiting = list(consumers)
        return self._moved_if_all_closed()

    def closed(self, consumer: str) -> list[Effect]:
        """One of them has closed."""
        self.waiting.remove(consumer)
        return self._moved_if_all_closed()

    def _moved_if_all_closed(self) -> list[Effect]:
        if self.waiting:
            return []
        self.become(MOVED)
        return [Move()]


PRIMARY, SECONDARY = "primary", "secondary"
PROBING_MOVES: dict[str, dict[str, str]] = {
    PRIMARY: {SECONDARY: "the primary has not answered for failoverDelay, and the secondary does"},
    SECONDARY: {
        PRIMARY: "the secondary has not answered for failoverDelay, or the primary has for switchBackDelay"
    },
}
"""The service that the clients use: for each the possible next one, and the reason for the move."""


IN_USE, OTHER, BACK = "in use", "other", "back"
"""The probes of one check, in order: the service in use, the one to move to, the primary."""


class Probe(NamedTuple):
    """Connect to a service."""

    service: str


class SwitchTo(NamedTuple):
    """The clients move to a service."""

    service: str


@dataclass(slots=True)
class Probing:
    """The decisions of AutoClusterFailover, one check each `probeInterval`, one probe after the other.

    A probe takes time: the instant that counts is the one after the probe of the service in use, and the one
    before the probe for switching back (`probeAndUpdateServiceUrl`, `probeAndCheckSwitchBack`). `failed_us`:
    since when the service in use does not respond (failedTimestamp). `healthy_us`: since when the primary
    responds again (recoverTimestamp). `asked`: the probe that runs, None between checks.
    """

    failover_delay_us: int
    switch_back_delay_us: int
    switches_back: bool
    in_use: str = PRIMARY
    failed_us: int | None = None
    healthy_us: int | None = None
    asked: str | None = None
    asked_us: int = 0

    def check(self, now_us: int) -> Probe:
        """A check begins."""
        return self._ask(IN_USE, self.in_use, now_us)

    def answered(self, up: bool, now_us: int) -> Probe | SwitchTo | None:
        """The result of the probe that runs; returns the next probe, a move, or None: the check is over."""
        asked, self.asked = self.asked, None
        other = next(iter(PROBING_MOVES[self.in_use]))
        if asked == IN_USE and self._failed_too_long(up, now_us):
            return self._ask(OTHER, other, now_us)
        if asked == OTHER and up:
            self.failed_us = None
            return self._switch_to(other)
        if asked == BACK:
            return self._switch_to(PRIMARY) if self._primary_is_healthy(up) else None
        if self.in_use == SECONDARY and self.switches_back:
            return self._ask(BACK, PRIMARY, now_us)
        return None

    def _ask(self, asked: str, service: str, now_us: int) -> Probe:
        self.asked, self.asked_us = asked, now_us
        return Probe(service)

    def _switch_to(self, service: str) -> SwitchTo:
        self.in_use = service
        return SwitchTo(service)

    def _failed_too_long(self, up: bool, now_us: int) -> bool:
        if up:
            self.failed_us = None
        elif self.failed_us is None:
            self.failed_us = now_us
        else:
            return now_us - self.failed_us >= self.failover_delay_us
        return False

    def _primary_is_healthy(self, up: bool) -> bool:
        if not up:
            self.healthy_us = None
        elif self.healthy_us is None:
            self.healthy_us = self.asked_us
        elif self.asked_us - self.healthy_us >= self.switch_back_delay_us:
            self.healthy_us = None
            return True
        return False


HEALTHY, PRE_FAIL, FAILED, PRE_RECOVER = "Healthy", "PreFail", "Failed", "PreRecover"
SERVICE_MOVES: dict[str, dict[str, str]] = {
    HEALTHY: {PRE_FAIL: "a probe failed"},
    PRE_FAIL: {HEALTHY: "a probe succeeded", FAILED: "failoverThreshold probes failed, two at least"},
    FAILED: {
        PRE_RECOVER: "a probe succeeded",
        HEALTHY: "the clients moved to a service before it in the list, and it is not probed any more",
    },
    PRE_RECOVER: {
        FAILED: "a probe failed",
        HEALTHY: "recoverThreshold probes succeeded, two at least, or as from Failed",
    },
}
"""States of a service (`PulsarServiceState`): for each the possible next ones, and the reason for the move.

A Healthy service also becomes Failed when a failover finds that it does not answer (#25388).
"""


@dataclass(slots=True)
class LookupProbing:
    """The decisions of SameAuthParamsLookupAutoClusterFailover, one probe after the other.

    A check probes every service from the first of the list to the one in use (`checkPulsarServices`). The
    first that is Healthy or PreFail is used from then on (`firstHealthyPulsarService`). When there is none,
    the services after the one in use are probed, and the first that answers is used (`findFailoverTo`).

    `stale`: skipped and left services keep their states (before #25388 and #25826). `ends_without`: a
    failover that finds no service ends all checks, as its index leaves the list (before #23336).
    """

    services: tuple[str, ...]
    failover_threshold: int
    recover_threshold: int
    stale: bool = False
    ends_without: bool = False
    current: int = 0
    states: tuple[str, ...] = ()
    counts: tuple[int, ...] = ()
    asked: int = 0
    finding: bool = False
    ended: bool = False

    def __post_init__(self) -> None:
        self.states = self.states or (HEALTHY,) * len(self.services)
        self.counts = self.counts or (0,) * len(self.services)

    @property
    def in_use(self) -> str:
        """The service that the clients use."""
        return self.services[self.current]

    def check(self, _now_us: int) -> Probe:
        """A check begins."""
        self.finding = False
        return self._ask(0)

    def answered(self, up: bool, _now_us: int) -> Probe | SwitchTo | None:
        """The result of the probe that runs; returns the next probe, a move, or None: the check is over."""
        if self.finding:
            return self._switch_to(self.asked) if up else self._skip()
        self._become(self.asked, *self._counted(up))
        if self.asked < self.current:
            return self._ask(self.asked + 1)
        healthy = [index for index in range(self.current + 1) if self.states[index] in (HEALTHY, PRE_FAIL)]
        if not healthy:
            return self._find(self.current + 1)
        return None if healthy[0] == self.current else self._switch_to(healthy[0])

    def _ask(self, index: int) -> Probe:
        self.asked = index
        return Probe(self.services[index])

    def _counted(self, up: bool) -> tuple[str, int]:
        """The state and the count of the service that was probed, after its probe."""
        state, count = self.states[self.asked], self.counts[self.asked] + 1
        if state in (HEALTHY, FAILED):
            changes = up == (state == FAILED)
            return ((PRE_RECOVER if up else PRE_FAIL), 1) if changes else (state, 0)
        towards, threshold = (
            (HEALTHY, self.recover_threshold) if state == PRE_RECOVER else (FAILED, self.failover_threshold)
        )
        if up != (towards == HEALTHY):
            return (FAILED if towards == HEALTHY else HEALTHY), 0
        return (towards, 0) if count >= threshold else (state, count)

    def _become(self, index: int, state: str, count: int) -> None:
        self.states = (*self.states[:index], state, *self.states[index + 1 :])
        self.counts = (*self.counts[:index], count, *self.counts[index + 1 :])

    def _find(self, index: int) -> Probe | None:
        """Probe a service after the one in use, which has failed like all before it."""
        self.finding = index < len(self.services)
        if self.finding:
            return self._ask(index)
        self.ended = self.ends_without
        return None

    def _skip(self) -> Probe | None:
        if not self.stale:
            self._become(self.asked, FAILED, 0)
        return self._find(self.asked + 1)

    def _switch_to(self, index: int) -> SwitchTo:
        if index < self.current and not self.stale:
            for other in range(index + 1, len(self.services)):
                self._become(other, HEALTHY, 0)
        self.current = index
        return SwitchTo(self.services[index])
