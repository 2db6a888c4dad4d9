"""Claims about cursors, updates of replicated subscriptions and synchronised acknowledgements."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Self

import numpy as np
from pyroaring import BitMap

from simulator.checks.check import Check, first_broken
from simulator.checks.stretch import Rows, Stretch, position, position_words
from simulator.protocols.pulsar.checks.failovers import SafeByConfiguration
from simulator.protocols.pulsar.checks.knowledge import (
    NOWHERE,
    Cursor,
    Knowledge,
    RecordedMessages,
)
from simulator.protocols.pulsar.checks.messages import AckedExpiredOrSkipped
from simulator.protocols.pulsar.events import CODE
from simulator.protocols.pulsar.scenario.strategies import may_sync_acks
from simulator.scenarios.model import Scenario
from simulator.scenarios.names import PARTITION_SUFFIX
from simulator.trace.registry import NULL

_ACKNOWLEDGEMENTS_APPLIED = CODE["acknowledgements.applied"]
_CONSUMER_CONNECTED = CODE["consumer.connected"]
_CURSOR_MOVED = CODE["cursor.moved"]
_CURSOR_RECOVERED = CODE["cursor.recovered"]
_LEDGER_TRIMMED = CODE["ledger.trimmed"]
_SNAPSHOT_COMPLETED = CODE["snapshot.completed"]
_SUBSCRIPTION_CREATED = CODE["subscription.created"]
_UPDATE_APPLIED = CODE["update.applied"]
_UPDATE_POSITION = CODE["update.position"]


class MarkDelete(Check):
    """Follows every cursor by its rows.

    Mark-delete moves back only by a reset, a recovery, or an earlier last entry of its topic.

    A recovery sets the persisted value. A new cursor counts as persisted, because its creation is a write of
    its own. A recovery is compared with the persisted value even where it does not move back. Only "before
    the first entry" may name another ledger, because empty ledgers are dropped.
    """

    claim = (
        "Mark-delete moves back only by a reset, by recovery to its persisted value, or to "
        "the last entry in its topic's ledgers."
    )

    def read(self, stretch: Stretch, known: Knowledge) -> Iterable[tuple[int, str]]:
        """Moves back for another reason, and recoveries to another position than the persisted one."""
        for (cluster, topic, subscription), cursor in known.cursors.touched():
            before = cursor.places_before()
            back = (
                (cursor.places < before)
                & (cursor.places != NOWHERE)
                & (cursor.kinds != _SUBSCRIPTION_CREATED)
            )
            for at in np.flatnonzero(back | (cursor.kinds == _CURSOR_RECOVERED)).tolist():
                fault = self._fault(stretch, cursor, at, int(before[at]))
                if fault:
                    words = (
                        f"{stretch.name(subscription)} of {stretch.name(topic)} at {stretch.name(cluster)}"
                    )
                    yield int(cursor.stood[at]), f"{words}: {fault}"

    def _fault(self, stretch: Stretch, cursor: Cursor, at: int, before: int) -> str | None:
        """The fault of its `at`-th row of the stretch, which moved it back, in words."""
        reason = stretch.name(int(cursor.reasons[at])) if cursor.kinds[at] == _CURSOR_MOVED else "recovery"
        if reason in ("reset", "ahead-of-last"):
            return None
        to = int(cursor.places[at])
        if reason != "recovery":
            return f"mark-delete went back from {position_words(before)} to {position_words(to)} by {reason}"
        persisted = cursor.persisted_at(int(cursor.stood[at]))
        if to == persisted or (to > persisted and position_words(to).endswith(":-1")):
            return None
        step = f"mark-delete went from {position_words(before)} to {position_words(to)} by recovery"
        return f"{step}, but what had been persisted was {position_words(persisted)}"


CONTROL = (
    "ledger.trimmed",
    "replicator.created",
    "replicator.removed",
    "snapshot.completed",
    "subscription.created",
    "update.applied",
    "update.position",
)
COLUMNS = (
    "type",
    "cluster",
    "peer",
    "topic",
    "subscription",
    "ledger",
    "entry",
    "to_ledger",
    "to_entry",
    "snapshot",
    "reason",
)
_PASSED = ("expired", "cleared", "skipped", "expire-messages", "backlog-quota")
"""Reasons of `message.not-replicated` for messages that were meant for the peer."""


class SafeUpdate(Check):
    """Keeps which messages are acked, expired or skipped, and how far each peer's log was checked.

    An Update never moves the peer past a message not acked, expired or skipped at its writer.

    X writes an Update that names a position of Y. For every message of Y's log up to it, one of these must
    have held at X before: the application acknowledged it, it expired or was skipped, X skipped it because a
    peer had reported it as acknowledged (checked by `filtered_rightly`), it was before the start of X's
    subscription (or was removed before an Update opened that), or an Update applied at X had covered it
    (checked by the same claim at the cluster that wrote that one). Acks that X's cursor later loses in a
    crash or a reset still count. Each entry of Y is judged once for each X and subscription, when the first
    Update names it or a later one. Under a rule of one's own an Update may list messages. The same holds for
    each that Y then deletes.
    """

    claim = (
        "Whenever a cluster writes an Update, every message that the peer holds at or below the named "
        "position, and every one that the Update lists, has been"
        " acknowledged, expired or skipped at that cluster."
    )

    def begin(self, scenario: Scenario) -> None:
        self.safe = SafeByConfiguration(scenario)
        self.gone = AckedExpiredOrSkipped()
        self.never_sent = RecordedMessages()  # (cluster that never received it, producer)
        # (cluster, topic) -> position up to which ledgers were deleted
        self.removed: dict[tuple[int, int], int] = {}
        # (cluster, peer, topic, subscription) -> place
        self.looked_at: dict[tuple[int, int, int, int], int] = {}
        self.partial: dict[int, None] = {}  # snapshots that an operator finished without all responses

    def copy_into(self, copy: Self) -> None:
        copy.safe, copy.gone, copy.never_sent = (
            self.safe.copy(),
            self.gone.copy(),
            self.never_sent.copy(),
        )
        copy.removed, copy.looked_at, copy.partial = (
            dict(self.removed),
            dict(self.looked_at),
            dict(self.partial),
        )

    def read(self, stretch: Stretch, known: Knowledge) -> Iterable[tuple[int, str]]:
        """Updates that name a position above a message not acked, expired or skipped."""
        self.gone.read(stretch)
        self.never_sent.read(_never_sent(stretch), "peer")
        broken: list[tuple[int, str]] = []
        listed, judged = stretch.of("message.listed"), 0
        for row in stretch.of(*CONTROL).records(*COLUMNS):
            (
                seq,
                kind,
                cluster,
                peer,
                topic,
                subscription,
                ledger,
                entry,
                to_ledger,
                to_entry,
                snapshot,
                reason,
            ) = row
            if kind in (_UPDATE_APPLIED, _SUBSCRIPTION_CREATED) and len(
                listed
            ):  # before they count as covered
                upto = int(np.searchsorted(listed.seqs, seq))
                broken += self._listed(stretch, listed.take(np.arange(judged, upto)))
                judged = upto
            if kind == _UPDATE_POSITION:
                link, place = (cluster, peer, topic, subscription), position(to_ledger, to_entry)
                if self.safe.holds(stretch, topic):
                    broken += self._named(
                        stretch, known, seq, link, place, judged=snapshot not in self.partial
                    )
            elif kind == _UPDATE_APPLIED:
                self.gone.cover(known, seq, (cluster, topic, subscription), position(to_ledger, to_entry))
            elif kind == _SUBSCRIPTION_CREATED:
                place = position(ledger, entry)
                if stretch.name(reason) == "update":
                    place = min(place, self.removed.get((cluster, topic), -1))
                self.gone.cover(known, seq, (cluster, topic, subscription), place)
            elif kind == _LEDGER_TRIMMED:
                self.removed[cluster, topic] = position(ledger + 1, -1)
            elif kind == _SNAPSHOT_COMPLETED:
                if stretch.name(reason) == "partial":
                    self.partial[snapshot] = None
            else:
                self.safe.follow(known, (seq, kind, cluster, peer, topic, ledger, entry))
        if judged < len(listed):
            broken += self._listed(stretch, listed.take(np.arange(judged, len(listed))))
        self.gone.finish()
        self.never_sent.finish()
        return broken

    def _listed(self, stretch: Stretch, listed: Rows) -> list[tuple[int, str]]:
        """Messages that a cluster deleted because an Update lists them, and that nobody had acknowledged."""
        broken: list[tuple[int, str]] = []
        by = ("cluster", "peer", "subscription", "producer")
        for (cluster, peer, subscription, producer), rows in listed.groups(*by):
            ids, written = rows["sequence_id"], rows["evidence_seq"]
            bad = np.flatnonzero(self.gone.unseen(peer, subscription, producer, ids, written))

            def describe(number: int) -> str:
                at, message = stretch.name(peer), stretch.message(producer, int(ids[bad[number]]))
                words = f"{at}'s Update of {stretch.name(subscription)} lists {message}"
                return f"{words} for {stretch.name(cluster)}: not acknowledged, expired or skipped at {at}"

            broken += first_broken(rows.seqs[bad], describe)
        return broken

    def _named(
        self,
        stretch: Stretch,
        known: Knowledge,
        seq: int,
        link: tuple[int, int, int, int],
        place: int,
        judged: bool,
    ) -> list[tuple[int, str]]:
        """Check the peer's entries up to `place` that were not checked before.

        Positions of a partial snapshot are not judged.
        """
        cluster, peer, topic, subscription = link
        log = known.logs.of(peer, topic)
        chosen = log.between(self.looked_at.get(link, -1), place, seq)
        self.looked_at[link] = max(place, self.looked_at.get(link, -1))
        for producer, ids in log.messages(chosen) if judged else ():
            open_ = ids[self.gone.unseen(cluster, subscription, producer, ids, seq)]
            open_ = open_[self.never_sent.unseen((cluster, producer), open_, seq)]
            if len(open_):
                at, name = stretch.name(cluster), stretch.name(subscription)
                more = f" and {len(open_) - 1} more" if len(open_) > 1 else ""
                message = stretch.message(producer, int(open_[0]))
                words = (
                    f"{at}'s Update of {name} names {position_words(place)} at {stretch.name(peer)}, which "
                    f"holds {message}{more}"
                )
                return [(seq, f"{words} at or below it: not acknowledged, expired or skipped at {at}")]
        return []


def _never_sent(stretch: Stretch) -> Rows:
    """Messages that a replicator skipped as expired, or that an operator's command passed before the send."""
    rows = stretch.of("message.not-replicated")
    return rows.take(np.isin(rows["reason"], [stretch.number(reason) for reason in _PASSED]))


_READ = (
    "topic.loaded",
    "topic.unloaded",
    "subscription.created",
    "subscription.deleted",
    "cursor.moved",
    "acknowledgements.sent",
    "command.applied",
    "replicator.started",
    "replicator.disconnected",
    "replicator.removed",
    "link.cut",
    "link.slowed",
    "cluster.crashed",
    "cluster.lost",
    "migration.started",
    "migration.step-began",
    "migration.step-finished",
    "migration.changed",
    "migration.ended",
)
(
    _LOADED,
    _UNLOADED,
    _OPENED,
    _DELETED,
    _MOVED,
    _SENT,
    _COMMANDED,
    _STARTED,
    _BROKEN,
    _REMOVED,
    _CUT,
    _SLOWED,
    _CRASHED,
    _LOST,
    *_STEPS,
) = (CODE[name] for name in _READ)
_MOVES, _STEP_BEGAN, _STEP_FINISHED, _CHANGED, _ENDED = _STEPS
_COLUMNS = ("type", "at_us", "tenant", "cluster", "peer", "topic", "subscription", "reason", "detail")
SYNC, PROGRESS_STEP, CLEAN_UP, WAY_BACK = (
    "acknowledgement-sync",
    "consumption-progress",
    "clean-up",
    "roll-back",
)
IN_FLIGHT_MOST = 50
"""Periods that a request may be on its way: half of a broker's limit of requests on the wire."""
NEVER_US = 1 << 62

CursorKey = tuple[int, int, int]
"""Fields: (cluster, topic, subscription)."""


class AckSyncRequests(Check):
    """Keeps when each cursor's periods began, which replicators are connected, and when requests are due.

    Acknowledgement-state sync sends a request to a peer each period with a change, and never between.

    A period begins when the topic is loaded or the subscription opened (docs/pulsar.md). A
    change is a mark-delete that acknowledgements moved. A pair is judged while its replicator stays
    connected, over links that keep no more than some periods in flight. A migration by acknowledgement-state
    sync enables it for its tenant's other subscriptions from its third step on until clean-up: their periods
    begin then. Until the step is complete it also sends outside the periods. So does a roll-back, during
    which no request is due.
    """

    claim = (
        "A subscription with acknowledgement-state sync sends its state to each reachable peer "
        "once in every period in which its mark-delete moved, and otherwise on command only."
    )

    def begin(self, scenario: Scenario) -> None:
        moving = {
            name: scenario.topics[spec.topic].tenant
            for name, spec in scenario.subscriptions.items()
            if scenario.topics[spec.topic].tenant in scenario.tenants
        }
        asked = {
            name: spec
            for name, spec in scenario.subscriptions.items()
            if spec.acknowledgement_sync != "none" or name in moving
        }
        self.periods = {
            name: 0 if spec.acknowledgement_sync == "once" else spec.ack_sync_period_us
            for name, spec in asked.items()
        }
        self.moving, self.own = (
            moving,
            {name: None for name, spec in asked.items() if spec.acknowledgement_sync != "none"},
        )
        # tenant -> whether its latest move synchronises acknowledgements
        self.by_sync: dict[str, bool] = {}
        self.on: dict[str, bool] = {}  # tenant -> whether its other subscriptions are synced
        # tenants whose third step is not complete, or that are rolling back
        self.telling: dict[str, None] = {}
        self.done_us: dict[str, int] = {}  # tenant -> when that step was complete
        latencies = [link.latency for link in scenario.links.values()]
        longest_us = max((max(one.value_us, one.high_us) for one in latencies), default=0)
        quick = all(one.kind in ("constant", "uniform") for one in latencies) and not any(
            link.loss or link.bandwidth_bytes_per_s for link in scenario.links.values()
        )
        self.quick = quick and all(
            longest_us <= IN_FLIGHT_MOST * period_us for period_us in self.periods.values() if period_us
        )
        self.began: dict[CursorKey, int] = {}
        self.connected: dict[tuple[int, int, int], None] = {}  # (cluster, peer, topic)
        self.due: dict[tuple[CursorKey, int], int] = {}  # (cursor, peer) -> when a request is due
        self.next_due_us = NEVER_US
        self.commanded: tuple[int, str] = (-1, "")

    def copy_into(self, copy: Self) -> None:
        copy.periods, copy.moving, copy.own = self.periods, self.moving, self.own
        copy.by_sync, copy.on, copy.telling, copy.done_us = (
            dict(self.by_sync),
            dict(self.on),
            dict(self.telling),
            dict(self.done_us),
        )
        copy.quick, copy.next_due_us, copy.commanded = self.quick, self.next_due_us, self.commanded
        copy.began, copy.connected, copy.due = dict(self.began), dict(self.connected), dict(self.due)

    def read(self, stretch: Stretch, known: Knowledge) -> Iterable[tuple[int, str]]:
        """States sent between periods, and periods without."""
        if not self.periods:
            return
        for seq, kind, at_us, tenant, *row in stretch.of(*_READ).records(*_COLUMNS):
            yield from self._overdue(stretch, at_us)
            if kind in _STEPS:
                self._move(stretch, kind, at_us, stretch.name(tenant), stretch.name(row[-2]))
            else:
                yield from ((seq, why) for why in self._take(stretch, kind, at_us, *row))
        yield from self._overdue(stretch, stretch.at_us(stretch.last - 1))

    def _take(
        self,
        stretch: Stretch,
        kind: int,
        at_us: int,
        cluster: int,
        peer: int,
        topic: int,
        subscription: int,
        reason: int,
        detail: int,
    ) -> Iterator[str]:
        cursor = cluster, topic, subscription
        if kind == _MOVED:
            if stretch.name(reason) == "acknowledgement":
                self._news(stretch, cursor, at_us)
        elif kind == _SENT:
            self._forget(lambda synced, to: (synced, to) == (cursor, peer))
            yield from self._out_of_turn(stretch, cursor, at_us)
        elif kind == _OPENED:
            self.began[cursor] = at_us
        elif kind == _LOADED:
            self.began |= {one: at_us for one in self.began if one[:2] == (cluster, topic)}
        elif kind == _DELETED:
            self.began.pop(cursor, None)
            self._forget(lambda synced, _to: synced == cursor)
        elif kind == _STARTED:
            self.connected[cluster, peer, topic] = None
        elif kind == _COMMANDED:
            self.commanded = (
                (at_us, json.loads(stretch.name(detail)).get("subscription"))
                if stretch.name(reason) == "subscription.sync-acknowledgements"
                else self.commanded
            )
        else:
            self._broken(kind, cluster, peer, topic)

    def _move(self, stretch: Stretch, kind: int, at_us: int, tenant: str, reason: str) -> None:
        """Apply a row of a tenant's migration: `reason` is the strategy, then the step."""
        if kind == _MOVES:
            self.by_sync[tenant] = reason == SYNC
        elif not self.by_sync[tenant]:
            return
        elif reason == PROGRESS_STEP and kind == _STEP_BEGAN:
            self.telling[tenant] = None
            if not self.on.get(tenant):
                self.on[tenant] = True
                self.began |= {
                    cursor: at_us for cursor in self.began if self._follows(stretch, cursor, tenant)
                }
        elif reason == PROGRESS_STEP and kind == _STEP_FINISHED:
            self.telling.pop(tenant, None)
            self.done_us[tenant] = at_us
        elif kind == _ENDED:
            self.telling.pop(tenant, None)
        elif (reason == WAY_BACK and kind == _CHANGED) or (reason == CLEAN_UP and kind == _STEP_BEGAN):
            self.on[tenant] = False
            self._forget(lambda synced, _to: self._follows(stretch, synced, tenant))
            if kind == _CHANGED:
                self.telling[tenant] = None

    def _follows(self, stretch: Stretch, cursor: CursorKey, tenant: str) -> bool:
        """Whether the cursor is synchronised only because of the tenant's move."""
        name = stretch.name(cursor[2])
        return name not in self.own and self.moving[name] == tenant

    def _synchronised(self, name: str) -> bool:
        return name in self.own or self.on.get(self.moving.get(name, ""), False)

    def _broken(self, kind: int, cluster: int, peer: int, topic: int) -> None:
        """A pair that is disconnected or late: no request is due until the next change."""
        if kind in (_CRASHED, _LOST):
            self.connected = {link: None for link in self.connected if cluster not in link[:2]}
            self._forget(lambda synced, to: cluster in (synced[0], to))
        elif kind in (_CUT, _SLOWED):
            self.quick = self.quick and kind == _CUT
            self.connected = {link: None for link in self.connected if link[:2] != (cluster, peer)}
            self._forget(lambda synced, to: (synced[0], to) == (cluster, peer))
        elif kind == _UNLOADED:
            self.connected = {
                link: None for link in self.connected if link[2] != topic or cluster not in link[:2]
            }
            self._forget(lambda synced, to: synced[1] == topic and cluster in (synced[0], to))
        else:
            self.connected.pop((cluster, peer, topic), None)
            self._forget(lambda synced, to: (synced[0], to, synced[1]) == (cluster, peer, topic))

    def _forget(self, chosen: Callable[[CursorKey, int], bool]) -> None:
        self.due = {pair: due_us for pair, due_us in self.due.items() if not chosen(*pair)}

    # --- judging

    def _out_of_turn(self, stretch: Stretch, cursor: CursorKey, at_us: int) -> Iterator[str]:
        name, began_us = stretch.name(cursor[2]), self.began.get(cursor)
        period_us = self.periods.get(name)
        tenant = self.moving.get(name)
        if (
            began_us is None
            or self.commanded == (at_us, name)
            or tenant in self.telling
            or (tenant is not None and self.done_us.get(tenant) == at_us)
        ):
            return
        who = f"{name} in {stretch.name(cursor[0])} sent its state at {at_us / 1e6:g} s"
        if not period_us or not self._synchronised(name):
            yield f"{who} without command"
        elif at_us == began_us or (at_us - began_us) % period_us:
            yield f"{who}, between its periods of {period_us / 1e6:g} s since {began_us / 1e6:g} s"

    def _news(self, stretch: Stretch, cursor: CursorKey, at_us: int) -> None:
        period_us, began_us = self.periods.get(stretch.name(cursor[2])), self.began.get(cursor)
        if not period_us or began_us is None or not self._synchronised(stretch.name(cursor[2])):
            return
        for cluster, peer, topic in self.connected:
            if (cluster, topic) == cursor[:2] and (cursor, peer) not in self.due:
                due_us = self.due[cursor, peer] = at_us + period_us - (at_us - began_us) % period_us
                self.next_due_us = min(self.next_due_us, due_us)

    def _overdue(self, stretch: Stretch, now_us: int) -> Iterator[tuple[int, str]]:
        """Requests due before the first row after their instant; each is named once."""
        if now_us <= self.next_due_us:
            return
        for (cursor, peer), due_us in list(self.due.items()):
            if due_us < now_us:
                del self.due[cursor, peer]
                if self.quick:
                    seq = stretch.first + int(np.searchsorted(stretch.values("at_us"), due_us, side="right"))
                    yield (
                        seq,
                        (
                            f"{stretch.name(cursor[2])} in {stretch.name(cursor[0])} was to tell "
                            f"{stretch.name(peer)} its state at {due_us / 1e6:g} s, and did not"
                        ),
                    )
        self.next_due_us = min(self.due.values(), default=NEVER_US)


_CONTROL = (
    "acknowledgements.applied",
    "consumer.connected",
    "subscription.deleted",
    "topic.deleted",
    "resource.deleted",
)
_SYNC_COLUMNS = (
    "type",
    "cluster",
    "peer",
    "topic",
    "subscription",
    "client",
    "to_ledger",
    "to_entry",
    "evidence_seq",
)

Messages = dict[int, BitMap]
"""Sequence ids by producer; the sets are never changed, so that copies can share them."""


class SyncedAcksKept(Check):
    """Keeps what each peer reported to each subscription, and the reports when its consumers connected.

    A broker does not deliver messages that a peer reported as acked: the effect of the sync filter.

    A request names X's mark-delete: every message of X's log up to it when the request was sent is
    acknowledged at X. A consumer that connects to Y after Y applied the request receives none of them.
    Messages already sent to an earlier consumer are still delivered, so only later connections are judged.
    Individually deleted entries are not in the row, so only the mark-delete counts. A request with an earlier
    mark-delete than the previous one (an operator's reset, a crash that lost acks) replaces it. Messages
    resent by a producer are left out: the second copy is an entry of its own.
    """

    claim = (
        "What was synced to a broker as acknowledged, up to the mark-delete of that state, it "
        "dispatches to no consumer that connects afterwards."
    )

    def begin(self, scenario: Scenario) -> None:
        self.synchronised = may_sync_acks(scenario)
        # (cluster, topic, subscription) -> peer -> (place, messages)
        self.synced: dict[tuple[int, int, int], dict[int, tuple[int, Messages]]] = {}
        # the same and client -> peer -> messages
        self.at_connect: dict[tuple[int, int, int, int], dict[int, Messages]] = {}
        self.resent = RecordedMessages()

    def copy_into(self, copy: Self) -> None:
        copy.synchronised, copy.resent = self.synchronised, self.resent.copy()
        copy.synced = {
            key: {peer: (place, dict(acked)) for peer, (place, acked) in by_peer.items()}
            for key, by_peer in self.synced.items()
        }
        copy.at_connect = {key: dict(by_peer) for key, by_peer in self.at_connect.items()}

    def read(self, stretch: Stretch, known: Knowledge) -> Iterable[tuple[int, str]]:
        """Deliveries of messages that a peer had reported as acknowledged."""
        if not self.synchronised:
            return []
        self.resent.read(stretch.of("message.resent"))
        delivered, begun = stretch.of("message.delivered"), 0
        broken: list[tuple[int, str]] = []
        for (
            seq,
            kind,
            cluster,
            peer,
            topic,
            subscription,
            client,
            to_ledger,
            to_entry,
            sent_seq,
        ) in stretch.of(*_CONTROL).records(*_SYNC_COLUMNS):
            upto = int(np.searchsorted(delivered.seqs, seq))
            broken += self._judge(stretch, delivered.take(np.arange(begun, upto)))
            begun, cursor = upto, (cluster, topic, subscription)
            if kind == _ACKNOWLEDGEMENTS_APPLIED:
                self._take_in(known, cursor, peer, position(to_ledger, to_entry), sent_seq)
            elif kind == _CONSUMER_CONNECTED:
                self.at_connect[*cursor, client] = {
                    peer: dict(acked) for peer, (_place, acked) in self.synced.get(cursor, {}).items()
                }
            else:
                self._forget(stretch, *cursor)
        broken += self._judge(stretch, delivered.take(np.arange(begun, len(delivered))))
        self.resent.finish()
        return broken

    def _take_in(
        self, known: Knowledge, cursor: tuple[int, int, int], peer: int, place: int, sent_seq: int
    ) -> None:
        of_cursor = self.synced.setdefault(cursor, {})
        before, acked = of_cursor.get(peer, (-1, {}))
        if place < before:
            before, acked = -1, {}
            for key, by_peer in self.at_connect.items():
                if key[:3] == cursor:
                    by_peer.pop(peer, None)
        log = known.logs.of(peer, cursor[1])
        for producer, ids in log.messages(log.between(before, place, sent_seq)):
            acked[producer] = acked.get(producer, BitMap()) | BitMap(ids.tolist())
        of_cursor[peer] = place, acked

    def _forget(self, stretch: Stretch, cluster: int, topic: int, subscription: int) -> None:
        """A subscription, or a topic with all its subscriptions, is deleted."""
        if topic == NULL:
            return
        base = PARTITION_SUFFIX.sub("", stretch.name(topic))

        def gone(at: int, log: int, name: int) -> bool:
            same = PARTITION_SUFFIX.sub("", stretch.name(log)) == base
            return at == cluster and same and subscription in (NULL, name)

        self.synced = {key: value for key, value in self.synced.items() if not gone(*key[:3])}
        self.at_connect = {key: value for key, value in self.at_connect.items() if not gone(*key[:3])}

    def _judge(self, stretch: Stretch, delivered: Rows) -> list[tuple[int, str]]:
        broken: list[tuple[int, str]] = []
        for (*connection, producer), rows in delivered.groups(
            "cluster", "topic", "subscription", "client", "producer"
        ):
            ids = rows["sequence_id"]
            for peer, acked in self.at_connect.get(tuple(connection), {}).items():
                again = BitMap(ids.tolist()) & acked.get(producer, BitMap())
                if again:
                    chosen = np.isin(ids, np.array(again.to_array())) & self.resent.unseen(
                        (producer,), ids, rows.seqs
                    )
                    broken += self._words(stretch, rows.take(chosen), connection, peer)
        return broken

    @staticmethod
    def _words(stretch: Stretch, rows: Rows, connection: list[int], peer: int) -> list[tuple[int, str]]:
        cluster, _topic, subscription, client = (stretch.name(number) for number in connection)
        producers, ids = rows["producer"].tolist(), rows["sequence_id"].tolist()
        why = f"which {stretch.name(peer)} had reported as acknowledged by {subscription} before it connected"
        return first_broken(
            rows.seqs,
            lambda number: (
                f"{cluster} handed {client} {stretch.message(producers[number], ids[number])}, {why}"
            ),
        )
