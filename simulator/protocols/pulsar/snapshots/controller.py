"""The snapshot controller of one topic in one cluster (`ReplicatedSubscriptionsController`).

It performs the effects of `building`, and handles the markers of other clusters.

Rules: all state is memory only and lost by an unload. A terminated topic accepts no marker.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from simulator.kernel.random import stream_key, uuid_text
from simulator.protocols.pulsar.markers.entries import REQUEST, RESPONSE, SNAPSHOT, UPDATE, Marker, Position
from simulator.protocols.pulsar.ranks import CONTROLLER, rank
from simulator.protocols.pulsar.snapshots.rules import (
    PRESENT,
    Arrived,
    Facts,
    Rule,
    SubscriptionSeen,
    TopicSeen,
    Writing,
    applied_by,
    carried_by,
    reason_of,
)
from simulator.scenarios.rule_files import ask, ask_copy
from simulator.trace.registry import NULL

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.subscription import Subscription
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.protocols.pulsar.snapshots.rules import CachedSnapshot


# --- the names of snapshots: numbered from 1 within the region that requested them
#
# The rows of a trace have one number for all regions. A region's own S1, S2, S3 are the first, second and
# third snapshots that it requested, on any topic. Names are for display and decide nothing.


CHUNK = 256
"""Snapshots per part of `SnapshotNames.parts`, so that a frame repeats only the newest part."""

_NOBODY = 255


class SnapshotNames:
    """The region of each snapshot of a run, by its index among the sorted regions."""

    def __init__(self) -> None:
        self._regions = bytearray()

    def note(self, snapshot: int, region: int) -> None:
        """Snapshot `snapshot`, a number from 1, was requested by the region with this index."""
        missing = snapshot - len(self._regions)
        if missing > 0:
            self._regions.extend([_NOBODY] * missing)
        self._regions[snapshot - 1] = region

    def name(self, snapshot: int) -> str:
        """`S3` for the third snapshot that its region requested."""
        return f"S{self._regions.count(self._regions[snapshot - 1], 0, snapshot)}"

    def parts(self) -> dict[str, str]:
        """The regions of all snapshots, a letter each, in parts of `CHUNK`: a is the first region."""
        return {
            str(first): "".join(
                "-" if region == _NOBODY else chr(97 + region)
                for region in self._regions[first : first + CHUNK]
            )
            for first in range(0, len(self._regions), CHUNK)
        }


def names_of(requests: Iterable[Mapping[str, Any]]) -> dict[int, str]:
    """The name of each snapshot by its number, from the rows `snapshot.requested` of a run in order."""
    counts: dict[str, int] = {}
    names: dict[int, str] = {}
    for row in requests:
        if row["snapshot"] not in names:  # a second round is requested with the same number
            counts[row["cluster"]] = counts.get(row["cluster"], 0) + 1
            names[row["snapshot"]] = f"S{counts[row['cluster']]}"
    return names


# --- the pending snapshots of one topic's controller: each input and the time give effects
#
# The source is `ReplicatedSubscriptionsController` and `ReplicatedSubscriptionsSnapshotBuilder`.
#
# Rules: it writes no marker and has no reference to its topic. The tick's tests are in the broker's order,
# and "now" is in milliseconds in them, as in the broker. A builder needs one round for one remote, two for
# more, and keeps the first response of each remote. Responses carry no round. A terminated topic accepts no
# marker, which the broker only writes to its own log file. So a requested snapshot stays pending until it
# times out.


FIRST_ROUND, SECOND_ROUND, COMPLETED = "first-round", "second-round", "completed"
TIMED_OUT, ABANDONED = "timed-out", "abandoned"
BUILDER_MOVES: dict[str, dict[str, str]] = {
    FIRST_ROUND: {
        SECOND_ROUND: "all remotes have answered, and there are several",
        COMPLETED: "the only remote has answered, or it is finished with the answers at hand",
        TIMED_OUT: "replicatedSubscriptionsSnapshotTimeoutSeconds have passed",
        ABANDONED: "the controller is closed",
    },
    SECOND_ROUND: {
        COMPLETED: "all remotes have answered again, or it is finished with the answers at hand",
        TIMED_OUT: "replicatedSubscriptionsSnapshotTimeoutSeconds have passed",
        ABANDONED: "the controller is closed",
    },
    COMPLETED: {},
    TIMED_OUT: {},
    ABANDONED: {},
}
"""States of a builder: for each the possible next ones, and the reason for the move."""

FULL, PARTIAL = "full", "partial"

# --- effects


class Request(NamedTuple):
    """Request the positions of all remotes."""

    snapshot: int
    round: int


class Refuse(NamedTuple):
    """The tick requests no snapshot."""

    reason: str


class TimeOut(NamedTuple):
    """The snapshot is no longer pending: responses were missing for too long."""

    snapshot: int


class Abandon(NamedTuple):
    """The snapshot is no longer pending: neither completed nor timed out."""

    snapshot: int


class Ignore(NamedTuple):
    """The response is of no pending snapshot."""


class Answered(NamedTuple):
    """The response is of a pending snapshot."""

    snapshot: int
    round: int


class Complete(NamedTuple):
    """Write the snapshot; `answers`: (cluster, ledger, entry), sorted; `how`: FULL or PARTIAL."""

    snapshot: int
    started_us: int
    answers: tuple[tuple[str, int, int], ...]
    how: str


Effect = Request | Refuse | TimeOut | Abandon | Ignore | Answered | Complete


@dataclass(slots=True)
class Builder:
    """One pending snapshot; `missing` are the remotes without a response in this round."""

    snapshot: int
    started_us: int
    remotes: tuple[str, ...]
    missing: list[str]
    state: str = FIRST_ROUND
    answers: dict[str, Position] = field(default_factory=dict)

    @property
    def round(self) -> int:
        """1 or 2."""
        return 2 if self.state == SECOND_ROUND else 1

    @property
    def two_rounds(self) -> bool:
        """Whether it needs two rounds, which is with two remotes or more.

        A message of one remote may be in another and not in this cluster yet.
        """
        return len(self.remotes) > 1

    def become(self, state: str) -> None:
        """Change to a permitted state."""
        assert state in BUILDER_MOVES[self.state], f"no move of a builder from {self.state} to {state}"
        self.state = state

    def answer(self, cluster: str, position: Position) -> bool:
        """Add a response; returns whether it was the last one of the last round."""
        self.answers.setdefault(cluster, position)
        if cluster in self.missing:
            self.missing.remove(cluster)
        if self.missing:
            return False
        if self.two_rounds and self.state == FIRST_ROUND:
            self.become(SECOND_ROUND)
            self.missing = list(self.remotes)
            return False
        return True


class Building:
    """The pending snapshots by number.

    `last_completed_ms` is when the newest completed one was requested, 0: none yet.
    """

    __slots__ = ("timeout_ms", "partial_after_us", "rule", "pending", "last_completed_ms")

    def __init__(self, timeout_ms: int, partial_after_us: int, rule: Rule = PRESENT) -> None:
        self.timeout_ms = timeout_ms
        self.rule = rule
        self.partial_after_us = partial_after_us
        self.pending: dict[int, Builder] = {}
        self.last_completed_ms = 0

    def tick(self, facts: Facts, number: int, now_us: int) -> list[Effect]:
        """Handle the end of a period; `number` is the next snapshot's."""
        effects: list[Effect] = [self._time_out(builder) for builder in self._overdue(now_us)]
        if self.partial_after_us and not facts.terminated:
            old = [one for one in self.pending.values() if now_us - one.started_us >= self.partial_after_us]
            effects += [self._complete(builder, PARTIAL) for builder in old if builder.answers]
        reason = ask(self.rule, "snapshot_refused", self._known(facts))
        if reason is not None:
            return [*effects, Refuse(reason_of(self.rule, "snapshot_refused", reason))]
        self.pending[number] = Builder(number, now_us, facts.remotes, list(facts.remotes))
        return [*effects, Request(number, 1)]

    def answer(
        self, snapshot: int, cluster: str, position: Position, terminated: bool
    ) -> list[Ignore | Answered | Request | Complete]:
        """A remote has responded to a request."""
        builder = self.pending.get(snapshot)
        if builder is None:
            return [Ignore()]
        answered = Answered(snapshot, builder.round)
        if builder.answer(cluster, position):
            return [answered] if terminated else [answered, self._complete(builder, FULL)]
        begun = builder.round > answered.round
        return [answered, Request(snapshot, builder.round)] if begun else [answered]

    def finish_partial(self, snapshot: int, terminated: bool) -> list[Complete]:
        """UNSAFE: complete the snapshot with its present responses, if any (future work in PIP-33)."""
        builder = self.pending[snapshot]
        return [] if terminated or not builder.answers else [self._complete(builder, PARTIAL)]

    def close(self) -> list[Abandon]:
        """Abandon all pending snapshots."""
        builders = list(self.pending.values())
        self.pending.clear()
        for builder in builders:
            builder.become(ABANDONED)
        return [Abandon(builder.snapshot) for builder in builders]

    def refusal(self, facts: Facts) -> str | None:
        """Which of the tick's rules would prevent a snapshot now, None if none would."""
        return ask_copy(self.rule, "snapshot_refused", self._known(facts))

    def _known(self, facts: Facts) -> Facts:
        return facts._replace(
            pending=len(self.pending),
            last_completed_ms=self.last_completed_ms,
            partial=bool(self.partial_after_us),
        )

    def _overdue(self, now_us: int) -> list[Builder]:
        return [
            builder
            for builder in self.pending.values()
            if builder.started_us // 1000 + self.timeout_ms < now_us // 1000
        ]

    def _time_out(self, builder: Builder) -> TimeOut:
        builder.become(TIMED_OUT)
        del self.pending[builder.snapshot]
        return TimeOut(builder.snapshot)

    def _complete(self, builder: Builder, how: str) -> Complete:
        builder.become(COMPLETED)
        del self.pending[builder.snapshot]
        self.last_completed_ms = max(
            1, builder.started_us // 1000
        )  # 0 means "never": a broker's clock never has that value
        answers = tuple((name, *builder.answers[name]) for name in sorted(builder.answers))
        return Complete(builder.snapshot, builder.started_us, answers, how)


ANSWERING, TICKING, CLOSED = "answering", "ticking", "closed"
CONTROLLER_MOVES: dict[str, dict[str, str]] = {
    ANSWERING: {
        TICKING: "a subscription is replicated, or a marker arrived and `forcedControllerStart` is on",
        CLOSED: "the topic is unloaded, or no subscription is replicated",
    },
    TICKING: {CLOSED: "the topic is unloaded, or no subscription is replicated"},
    CLOSED: {},
}
"""States of a controller: one that only responds takes no snapshots of its own."""

FIRST_TICK_FAILS_MILLIONTHS = 250_000
"""Share of first ticks that failed: 25 of 100 topics whose controller was started by a marker (4.2.4)."""


class SnapshotController:
    """Periodic snapshots of one topic, and the markers of its replicated subscriptions."""

    def __init__(self, topic: Topic) -> None:
        self.topic = topic
        self.runtime = topic.runtime
        self.rank = rank(CONTROLLER, topic.rank >> 16 & 0xFFFF, topic.rank & 0xFFFF)
        setting = topic.cluster.setting
        self.period_us = setting("replicatedSubscriptionsSnapshotFrequencyMillis", topic) * 1000
        self.building = Building(
            setting("replicatedSubscriptionsSnapshotTimeoutSeconds", topic) * 1000,
            self.runtime.option("unsafePartialSnapshotAfter"),
            self.runtime.rule,
        )
        self.id_stream = stream_key(self.runtime.seed, "snapshot")
        self.started_us = self.runtime.now_us
        self.state = ANSWERING

    @property
    def ticking(self) -> bool:
        """Whether it takes snapshots of its own."""
        return self.state == TICKING

    @property
    def pending(self) -> dict[int, Builder]:
        """The pending snapshots by number."""
        return self.building.pending

    # --- lifecycle

    def _become(self, state: str) -> None:
        assert state in CONTROLLER_MOVES[self.state], f"no move of a controller from {self.state} to {state}"
        self.state = state

    def start(self, reason: str, cause: int) -> None:
        """Begin the fixed-rate timer; the first tick has no delay."""
        self._become(TICKING)
        seq = self.runtime.rows.controller_started(cause, **self.topic.names, reason=reason)
        self.runtime.schedule(self.runtime.now_us, self.rank, self.tick, seq)

    def close(self, reason: str, cause: int) -> None:
        """Cancel the timer; pending snapshots are dropped, neither completed nor timed out."""
        self._become(CLOSED)
        rows, names = self.runtime.rows, self.topic.names
        for abandoned in self.building.close():
            rows.snapshot_abandoned(cause, **names, snapshot=abandoned.snapshot, reason=reason)
        rows.controller_stopped(cause, **names, reason=reason)

    # --- the tick

    def tick(self, cause: int) -> None:
        """Handle the end of a period."""
        if not self.ticking:
            return
        runtime = self.runtime
        rows, names = runtime.rows, self.topic.names
        runtime.schedule(runtime.now_us + self.period_us, self.rank, self.tick, NULL)
        if cause != NULL and self._first_tick_fails():
            rows.controller_tick_failed(cause, **names)
            return
        for effect in self.building.tick(self.facts(), runtime.snapshot_count + 1, runtime.now_us):
            match effect:
                case TimeOut(snapshot):
                    rows.snapshot_timed_out(NULL, **names, snapshot=snapshot)
                case Complete():
                    self._complete(effect, self.topic.last_confirmed, NULL)
                case Refuse(reason):
                    rows.snapshot_refused(cause, **names, reason=reason)
                case Request(snapshot):
                    runtime.snapshot_count = snapshot
                    runtime.snapshot_names.note(snapshot, self.topic.cluster.index)
                    self._request(effect, cause)

    def _first_tick_fails(self) -> bool:
        """Whether the first tick ends with a NullPointerException where it would request a snapshot.

        The constructor of `ReplicatedSubscriptionsController` schedules the timer without delay before it
        assigns `stats`, which `startNewSnapshot` uses after it has increased the gauge of pending snapshots.
        """
        fails = self.runtime.option("firstSnapshotTickFails")
        if fails == "never" or self.refusal() is not None:
            return False
        stream = f"first-tick/{self.topic.cluster.name}/{self.topic.name}"
        return fails == "always" or self.runtime.chance(
            stream, self.runtime.now_us, FIRST_TICK_FAILS_MILLIONTHS
        )

    def facts(self) -> Facts:
        """The input of a tick now."""
        replicators = self.topic.replicators
        return Facts(
            tuple(replicators),
            all(replicator.connected for replicator in replicators.values()),
            self.topic.data_timestamp_ms,
            self.topic.terminated,
            TopicSeen(self.topic),
        )

    def refusal(self) -> str | None:
        """Why a tick now would request no snapshot, None if it would."""
        return self.building.refusal(self.facts())

    def finish_partial(self, snapshot: int, cause: int) -> None:
        """UNSAFE: write a pending snapshot with the present responses, if any."""
        for effect in self.building.finish_partial(snapshot, self.topic.terminated):
            self._complete(effect, self.topic.last_confirmed, cause)

    # --- markers in and out

    def _write(
        self, cause: int, type_: str, addressee: str | None, about: Writing | None = None, **fields: Any
    ) -> int:
        """Append a marker to the local log and wake its readers; returns its row's seq."""
        runtime = self.runtime
        carried = carried_by(runtime.rule, about or Writing(type_, TopicSeen(self.topic)))
        runtime.marker_count += 1
        marker = Marker(
            *(runtime.marker_count, type_, self.topic.cluster.name, addressee, runtime.now_us),
            **fields,
            carried=carried,
        )
        marker = replace(marker, size_bytes=marker.stored_size_bytes())
        runtime.markers.put(marker)
        return self.topic.append_marker(marker, None, cause)

    def _snapshot_id(self, snapshot: int) -> str:
        return uuid_text(self.id_stream, snapshot)

    def _request(self, request: Request, cause: int) -> None:
        seq = self.runtime.rows.snapshot_requested(
            cause, **self.topic.names, snapshot=request.snapshot, count=request.round
        )
        if self.topic.terminated:
            return
        written = self._write(
            seq,
            REQUEST,
            None,
            snapshot=request.snapshot,
            snapshot_id=self._snapshot_id(request.snapshot),
            cluster=self.topic.cluster.name,
        )
        self.topic.wake(written)

    def receive(self, marker: Marker, index: int, cause: int) -> None:
        """Handle a remote's marker, read at `index` by the replicator towards that remote."""
        if marker.type == REQUEST:
            self._on_request(marker, cause)
        elif marker.type == RESPONSE:
            self._on_response(marker, index, cause)
        elif marker.type == UPDATE:
            self._on_update(marker, cause)

    def _on_request(self, marker: Marker, cause: int) -> None:
        """Respond with the last confirmed position now, which may be after the request's own."""
        if self.topic.terminated:
            return
        position = self.topic.last_confirmed
        written = self._write(
            cause,
            RESPONSE,
            marker.origin,
            snapshot=marker.snapshot,
            snapshot_id=marker.snapshot_id,
            cluster=self.topic.cluster.name,
            position=position,
        )
        self.topic.wake(written)

    def _on_response(self, marker: Marker, index: int, cause: int) -> None:
        assert marker.snapshot is not None and marker.cluster is not None and marker.position is not None
        here = self.topic.log.position(index)
        names = self.topic.names
        answered = self.building.answer(
            marker.snapshot, marker.cluster, marker.position, self.topic.terminated
        )
        for effect in answered:
            match effect:
                case Ignore():
                    self.runtime.rows.snapshot_answer_ignored(
                        cause, **names, peer=marker.cluster, reason="not-pending"
                    )
                case Answered(snapshot, round_):
                    cause = self.runtime.rows.snapshot_answered(
                        cause,
                        **names,
                        peer=marker.cluster,
                        snapshot=snapshot,
                        count=round_,
                        at=here,
                        to=marker.position,
                    )
                case Request():
                    self._request(effect, cause)
                case Complete():
                    self._complete(effect, here, cause)

    def _complete(self, complete: Complete, local: Position, cause: int) -> None:
        """Write the Snapshot marker; the snapshot is complete once it is stored (#26119)."""
        snapshot, duration_us = complete.snapshot, self.runtime.now_us - complete.started_us
        seq = self.runtime.rows.snapshot_completed(
            cause,
            **self.topic.names,
            snapshot=snapshot,
            at=local,
            duration_us=duration_us,
            reason=complete.how,
        )
        for name, ledger, entry in complete.answers:
            self.runtime.rows.snapshot_position(
                seq, **self.topic.names, peer=name, snapshot=snapshot, to=(ledger, entry)
            )
        written = self._write(
            seq,
            SNAPSHOT,
            self.topic.cluster.name,
            snapshot=snapshot,
            snapshot_id=self._snapshot_id(snapshot),
            position=local,
            clusters=complete.answers,
        )
        self.topic.wake(written)

    def write_update(self, subscription: Subscription, snapshot: CachedSnapshot | None, cause: int) -> None:
        """Write one Update for the newest usable snapshot; it is replicated to every remote.

        Without a snapshot it names no position, which only a rule of one's own writes.
        """
        if self.topic.terminated:
            return
        number, clusters = (None, ()) if snapshot is None else (snapshot.snapshot, snapshot.clusters)
        marker_seq = self._write(
            cause,
            UPDATE,
            None,
            Writing(UPDATE, TopicSeen(self.topic), SubscriptionSeen(subscription), snapshot),
            snapshot=number,
            subscription=subscription.name,
            clusters=clusters,
        )
        marker = self.runtime.markers[self.runtime.marker_count - 1]
        seq = self.runtime.rows.update_written(
            marker_seq,
            **subscription.names,
            snapshot=number,
            marker=marker.number,
            at=self.topic.log.position(self.topic.log.length - 1),
        )
        self.runtime.markers.set_update_seq(marker.number, seq)
        for name, ledger, entry in clusters:
            self.runtime.rows.update_position(
                seq,
                **subscription.names,
                peer=name,
                snapshot=number,
                marker=marker.number,
                to=(ledger, entry),
            )
        self.topic.wake(marker_seq)

    def _on_update(self, marker: Marker, cause: int) -> None:
        """Apply an Update to the local subscription.

        The source is `ReplicatedSubscriptionsController.receiveSubscriptionUpdated`.
        """
        topic, runtime = self.topic, self.runtime
        assert marker.subscription is not None, "an update names its subscription"
        own = next(
            ((ledger, entry) for name, ledger, entry in marker.clusters if name == topic.cluster.name), None
        )
        if own is None and not marker.carried:
            self._refuse_update(marker, (NULL, NULL), "not-addressed", cause)
            return
        subscription = topic.subscriptions.get(marker.subscription)
        if subscription is None:
            subscription, cause = self._create_missing(marker.subscription, cause)
            if runtime.option("missingSubscriptionCreation") == "latest":
                return
        index = None if own is None else topic.log.index_of(*own)
        beyond = own is not None and own > topic.last_confirmed
        update = Arrived(marker.origin, SubscriptionSeen(subscription), index, beyond, marker.carried)
        applied = applied_by(runtime.rule, update, topic.log.length)
        if applied.up_to is None:
            seq = self._refuse_update(marker, own or (NULL, NULL), applied.refused, cause)
        else:
            seq = runtime.rows.update_applied(
                cause,
                **topic.names,
                peer=marker.origin,
                subscription=marker.subscription,
                marker=marker.number,
                to=own if own and applied.up_to == index else topic.log.position(applied.up_to),
                evidence_seq=runtime.markers.update_seq(marker.number),
            )
            subscription.last_applied_us = runtime.now_us
            subscription.acknowledge_up_to(applied.up_to, "update", seq)
        if applied.entries:
            written_seq = runtime.markers.update_seq(marker.number)
            subscription.acknowledge_listed(applied.entries, marker.origin, written_seq, seq)

    def _refuse_update(self, marker: Marker, to: Position, reason: str, cause: int) -> int:
        return self.runtime.rows.update_refused(
            cause,
            **self.topic.names,
            peer=marker.origin,
            subscription=marker.subscription,
            marker=marker.number,
            to=to,
            reason=reason,
        )

    def _create_missing(self, name: str, cause: int) -> tuple[Subscription, int]:
        """Create a missing subscription, replicated, at earliest (#20767), or latest in older releases."""
        log = self.topic.log
        earliest = self.runtime.option("missingSubscriptionCreation") == "earliest"
        mark_delete = log.first_kept - 1 if earliest else log.length - 1
        type_ = self.runtime.subscriptions[name].type
        subscription = self.topic.add_subscription(name, type_, mark_delete, True, "update", cause)
        return subscription, self.runtime.seq - 1
