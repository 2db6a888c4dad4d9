"""Acknowledgement-state sync sends a request to a peer each period with a change, and never between.

A period begins when the topic is loaded or the subscription opened (docs/acknowledgement-sync.md). A change
is a mark-delete that acknowledgements moved. A pair is judged while its replicator stays connected, over
links that keep no more than some periods in flight. A migration by acknowledgement-state sync enables it for
its tenant's other subscriptions from its third step on until clean-up: their periods begin then. Until the
step is complete it also sends outside the periods. So does a roll-back, during which no request is due.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Self

import numpy as np

from simulator.checks.check import Check
from simulator.checks.stretch import Stretch
from simulator.protocols.pulsar.checks.knowledge import Knowledge
from simulator.protocols.pulsar.events import CODE
from simulator.scenarios.model import Scenario

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

Cursor = tuple[int, int, int]
"""Fields: (cluster, topic, subscription)."""


class AckSyncRequests(Check):
    """Keeps when each cursor's periods began, which replicators are connected, and when requests are due."""

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
        self.began: dict[Cursor, int] = {}
        self.connected: dict[tuple[int, int, int], None] = {}  # (cluster, peer, topic)
        self.due: dict[tuple[Cursor, int], int] = {}  # (cursor, peer) -> when a request is due
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

    def _follows(self, stretch: Stretch, cursor: Cursor, tenant: str) -> bool:
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

    def _forget(self, chosen: Callable[[Cursor, int], bool]) -> None:
        self.due = {pair: due_us for pair, due_us in self.due.items() if not chosen(*pair)}

    # --- judging

    def _out_of_turn(self, stretch: Stretch, cursor: Cursor, at_us: int) -> Iterator[str]:
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

    def _news(self, stretch: Stretch, cursor: Cursor, at_us: int) -> None:
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
