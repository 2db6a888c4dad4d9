"""The snapshot controller of one topic in one cluster, and the builder of each pending snapshot
(`ReplicatedSubscriptionsController`, `ReplicatedSubscriptionsSnapshotBuilder`).

Rules: the tick's tests come in the broker's order; "now" is milliseconds there, as in the broker. A builder
needs one round for one remote, two for more, and keeps the first answer of each remote; answers carry no
round. Everything here is
memory only: an unload loses it. A terminated topic takes no marker, of which a broker only tells its log:
what was asked is pending until its time is over, and what was to be told is not.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from simulator.kernel.random import stream_key, uuid_text
from simulator.protocols.pulsar.markers.entries import REQUEST, RESPONSE, SNAPSHOT, UPDATE, Marker, Position
from simulator.protocols.pulsar.ranks import CONTROLLER, rank
from simulator.trace.registry import NULL

if TYPE_CHECKING:
    from simulator.protocols.pulsar.snapshots.cache import CachedSnapshot
    from simulator.protocols.pulsar.snapshots.lookup import SubscriptionOfSnapshots
    from simulator.protocols.pulsar.snapshots.roles import SubscriptionOfController, TopicOfController


@dataclass(slots=True)
class Builder:
    """One pending snapshot."""

    snapshot: int
    snapshot_id: str
    started_us: int
    remotes: tuple[str, ...]
    missing: list[str]
    round: int = 1
    answers: dict[str, Position] = field(default_factory=dict)

    @property
    def two_rounds(self) -> bool:
        """With two remotes or more, something from one may be in the other and not here yet."""
        return len(self.remotes) > 1

    def answer(self, cluster: str, position: Position) -> str:
        """Take an answer; says what is next: "wait", "second-round" or "complete"."""
        self.answers.setdefault(cluster, position)
        if cluster in self.missing:
            self.missing.remove(cluster)
        if self.missing:
            return "wait"
        if self.two_rounds and self.round == 1:
            self.round = 2
            self.missing = list(self.remotes)
            return "second-round"
        return "complete"


class SnapshotController:
    """Periodic snapshots of one topic, and the markers of its replicated subscriptions."""

    def __init__(self, topic: TopicOfController) -> None:
        self.topic = topic
        self.runtime = topic.runtime
        self.rank = rank(CONTROLLER, topic.rank >> 16 & 0xFFFF, topic.rank & 0xFFFF)
        setting = topic.cluster.setting
        self.period_us = setting("replicatedSubscriptionsSnapshotFrequencyMillis", topic) * 1000
        self.timeout_ms = setting("replicatedSubscriptionsSnapshotTimeoutSeconds", topic) * 1000
        self.partial_after_us = self.runtime.option("unsafePartialSnapshotAfter")
        self.id_stream = stream_key(self.runtime.seed, "snapshot")
        self.pending: dict[int, Builder] = {}
        self.last_completed_ms = 0
        self.started_us = self.runtime.now_us
        self.open = True
        self.ticking = False

    # --- life

    def start(self, reason: str, cause: int) -> None:
        """Begin the fixed-rate timer; the first tick has no delay."""
        self.ticking = True
        seq = self._note("controller.started", cause, reason)
        self.runtime.schedule(self.runtime.now_us, self.rank, self.tick, seq)

    def close(self, reason: str, cause: int) -> None:
        """Cancel the timer; what is pending is forgotten, neither completed nor timed out."""
        self.open = False
        for builder in self.pending.values():
            self._note("snapshot.abandoned", cause, builder.snapshot, reason)
        self.pending.clear()
        self._note("controller.stopped", cause, reason)

    def _note(self, event: str, cause: int, *fields) -> int:
        return self.runtime.note(event, cause, self.topic.cluster.number, self.topic.number, *fields)

    # --- the tick

    def tick(self, cause: int) -> None:
        """One period is over: sweep, then the rules in order, then perhaps a request."""
        if not self.open:
            return
        runtime = self.runtime
        runtime.schedule(runtime.now_us + self.period_us, self.rank, self.tick, NULL)
        self._sweep()
        if self.partial_after_us:
            self._finish_old_ones()
        refusal = self.refusal()
        if refusal is not None:
            self._note("snapshot.refused", cause, refusal)
            return
        remotes = tuple(self.topic.replicators)
        runtime.snapshot_count += 1
        number = runtime.snapshot_count
        builder = Builder(number, uuid_text(self.id_stream, number), runtime.now_us, remotes, list(remotes))
        self.pending[number] = builder
        self._request(builder, cause)

    def refusal(self) -> str | None:
        """Which of the tick's rules stops a snapshot now: pending, no-new-data, replicator-disconnected;
        None if none does.
        """
        if not self.last_completed_ms and self.pending:
            return "pending"
        data_ms = self.topic.data_timestamp_ms
        if data_ms == 0 or data_ms < self.last_completed_ms:
            return "no-new-data"
        if not self.topic.replicators:
            return "replicator-disconnected"
        if not self.partial_after_us and not all(r.connected for r in self.topic.replicators.values()):
            return "replicator-disconnected"
        return None

    def _sweep(self) -> None:
        now_ms = self.runtime.now_us // 1000
        for number, builder in tuple(self.pending.items()):
            if builder.started_us // 1000 + self.timeout_ms < now_ms:
                del self.pending[number]
                self._note("snapshot.timed-out", NULL, number)

    def _finish_old_ones(self) -> None:
        for builder in tuple(self.pending.values()):
            if self.runtime.now_us - builder.started_us >= self.partial_after_us:
                self.finish_partial(builder, NULL)

    def finish_partial(self, builder: Builder, cause: int) -> bool:
        """UNSAFE: write the snapshot with the answers at hand (PIP-33 leaves this for later); False when
        there are none.
        """
        if not builder.answers or self.topic.terminated:
            return False
        self._complete(builder, self.topic.log.last_confirmed, "partial", cause)
        return True

    # --- markers in and out

    def _write(self, cause: int, type_: str, addressee: str | None, **fields) -> int:
        """Append a marker to the local log and wake its readers; returns its row's seq."""
        runtime = self.runtime
        runtime.marker_count += 1
        marker = Marker(
            runtime.marker_count, type_, self.topic.cluster.name, addressee, runtime.now_us, **fields
        )
        marker = replace(marker, size_bytes=marker.stored_size_bytes())
        runtime.markers.put(marker)
        return self.topic.append_marker(marker, None, cause)

    def _request(self, builder: Builder, cause: int) -> None:
        seq = self._note("snapshot.requested", cause, builder.snapshot, builder.round)
        if self.topic.terminated:
            return
        written = self._write(
            seq,
            REQUEST,
            None,
            snapshot=builder.snapshot,
            snapshot_id=builder.snapshot_id,
            cluster=self.topic.cluster.name,
        )
        self.topic.wake(written)

    def receive(self, marker: Marker, index: int, cause: int) -> None:
        """A remote's marker, read from the local log at `index` by the replicator towards that remote."""
        if marker.type == REQUEST:
            self._on_request(marker, cause)
        elif marker.type == RESPONSE:
            self._on_response(marker, index, cause)
        elif marker.type == UPDATE:
            self._on_update(marker, cause)

    def _on_request(self, marker: Marker, cause: int) -> None:
        """Answer with the last confirmed position at this moment, which may be later than the request's
        own.
        """
        if self.topic.terminated:
            return
        position = self.topic.log.last_confirmed
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
        builder = self.pending.get(marker.snapshot)
        if builder is None:
            self.runtime.note(
                "snapshot.answer-ignored",
                cause,
                self.topic.cluster.number,
                marker.cluster,
                self.topic.number,
                "not-pending",
            )
            return
        here = self.topic.log.position(index)
        seq = self.runtime.note(
            "snapshot.answered",
            cause,
            self.topic.cluster.number,
            marker.cluster,
            self.topic.number,
            builder.snapshot,
            builder.round,
            *here,
            *marker.position,
        )
        following = builder.answer(marker.cluster, marker.position)
        if following == "second-round":
            self._request(builder, seq)
        elif following == "complete":
            self._complete(builder, here, "full", seq)

    def _complete(self, builder: Builder, local: Position, how: str, cause: int) -> None:
        """Write the Snapshot marker; the snapshot is complete once it is stored (#26119)."""
        if self.topic.terminated:
            return
        del self.pending[builder.snapshot]
        clusters = tuple((name, *builder.answers[name]) for name in sorted(builder.answers))
        # 0 is "never"; a broker's clock is never there
        self.last_completed_ms = max(1, builder.started_us // 1000)
        duration_us = self.runtime.now_us - builder.started_us
        seq = self._note("snapshot.completed", cause, builder.snapshot, *local, duration_us, how)
        for name, ledger, entry in clusters:
            self.runtime.note(
                "snapshot.position",
                seq,
                self.topic.cluster.number,
                name,
                self.topic.number,
                builder.snapshot,
                ledger,
                entry,
            )
        written = self._write(
            seq,
            SNAPSHOT,
            self.topic.cluster.name,
            snapshot=builder.snapshot,
            snapshot_id=builder.snapshot_id,
            position=local,
            clusters=clusters,
        )
        self.topic.wake(written)

    def write_update(
        self, subscription: SubscriptionOfSnapshots, snapshot: CachedSnapshot, cause: int
    ) -> None:
        """One Update for the newest usable snapshot; travels to every remote."""
        if self.topic.terminated:
            return
        marker_seq = self._write(
            cause,
            UPDATE,
            None,
            snapshot=snapshot.snapshot,
            subscription=subscription.name,
            clusters=snapshot.clusters,
        )
        marker = self.runtime.markers[self.runtime.marker_count - 1]
        position = self.topic.log.position(self.topic.log.length - 1)
        seq = self._note(
            "update.written", marker_seq, subscription.number, snapshot.snapshot, marker.number, *position
        )
        self.runtime.markers.set_update_seq(marker.number, seq)
        for name, ledger, entry in snapshot.clusters:
            self.runtime.note(
                "update.position",
                seq,
                self.topic.cluster.number,
                name,
                self.topic.number,
                subscription.number,
                snapshot.snapshot,
                marker.number,
                ledger,
                entry,
            )
        self.topic.wake(marker_seq)

    def _on_update(self, marker: Marker, cause: int) -> None:
        """Move the local subscription as the Update says
        (`ReplicatedSubscriptionsController.receiveSubscriptionUpdated`).
        """
        topic, runtime = self.topic, self.runtime
        own = next(
            ((ledger, entry) for name, ledger, entry in marker.clusters if name == topic.cluster.name), None
        )
        fields = (topic.cluster.number, marker.origin, topic.number, marker.subscription, marker.number)
        if own is None:
            runtime.note("update.refused", cause, *fields, NULL, NULL, "not-addressed")
            return
        subscription = topic.subscriptions.get(marker.subscription)
        if subscription is None:
            subscription, cause = self._create_missing(marker.subscription, cause)
            if runtime.option("missingSubscriptionCreation") == "latest":
                return
        index = topic.log.index_of(*own)
        refusal = (
            "beyond-last-entry" if own > topic.log.last_confirmed else _update_refusal(subscription, index)
        )
        if refusal is not None:
            runtime.note("update.refused", cause, *fields, *own, refusal)
            return
        seq = runtime.note("update.applied", cause, *fields, *own, runtime.markers.update_seq(marker.number))
        subscription.last_applied_us = runtime.now_us
        subscription.acknowledge_up_to(index, "update", seq)

    def _create_missing(self, name: str, cause: int) -> tuple[SubscriptionOfController, int]:
        """A missing subscription is made, replicated, at earliest (#20767), or at latest in older
        releases.
        """
        log = self.topic.log
        earliest = self.runtime.option("missingSubscriptionCreation") == "earliest"
        mark_delete = log.first_kept - 1 if earliest else log.length - 1
        type_ = self.runtime.subscriptions[name].type
        subscription = self.topic.add_subscription(name, type_, mark_delete, True, "update", cause)
        return subscription, self.runtime.seq - 1


def _update_refusal(subscription: SubscriptionOfController, index: int) -> str | None:
    if index == subscription.cursor.mark_delete:
        return "equal"
    gone = index < subscription.topic.log.first_kept  # a recovered cursor stands before the first ledger kept
    return "behind-mark-delete" if gone or index < subscription.cursor.mark_delete else None
