"""Rows of snapshot controllers: started, stopped, and the ticks that requested no snapshot.

Rules: a controller's start and stop are events of the brokers, polled. Its ticks are inferred: its start and
every period from then on, of which those before the run's instant 0 have no row. A request within a period
belongs to the tick that begins it. A tick without one was refused, for the reason that the engine's own rule
(`Building.refusal`) gives. Pending snapshots time out at the first tick after the limit and are abandoned
when their controller stops.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from script.real_brokers.converting import Place, Run
from script.real_brokers.draft import Row
from script.real_brokers.logs import Log
from script.real_brokers.recording import Event
from simulator.protocols.pulsar.markers.entries import REQUEST
from simulator.protocols.pulsar.snapshots.controller import Building
from simulator.protocols.pulsar.snapshots.rules import Facts

MS_NS = 1_000_000
EARLY = 10
"""A request may be stored a tenth of a period before its inferred tick: a start is seen late."""


@dataclass(slots=True)
class _Life:
    """One controller from its start to its stop; `why_stopped` is an outage or None."""

    start: int
    stop: int
    started: Row
    requests: list[Row] = field(default_factory=list)


def add_ticks(run: Run) -> None:
    """The rows of all controllers."""
    for (cluster, topic), log in run.logs.items():
        requested = [
            row
            for row in run.draft.rows
            if row.type == "snapshot.requested" and _of(row) == (cluster, topic) and row.fields["count"] == 1
        ]
        for life in _lives(run, (cluster, topic), log):
            life.requests = [
                row for row in requested if life.start - _early(run, cluster) <= row.t < life.stop
            ]
            _ticks(run, log, life)


def _of(row: Row) -> Place:
    return row.fields["cluster"], row.fields["topic"]


def _period_ns(run: Run, cluster: str) -> int:
    return run.setting(cluster, "replicatedSubscriptionsSnapshotFrequencyMillis") * MS_NS


def _early(run: Run, cluster: str) -> int:
    return _period_ns(run, cluster) // EARLY


def _lives(run: Run, place: Place, log: Log) -> list[_Life]:
    lives: list[_Life] = []
    events = [
        event for event in run.recording.of("controller") if (event["cluster"], event["topic"]) == place
    ]
    events += [
        {"e": "controller", "t": since, "state": "stopped", "unloaded": row}
        for since, _until, row in run.away.get(place, [])
    ]
    for event in sorted(events, key=lambda event: event["t"]):
        running = bool(lives) and lives[-1].stop > event["t"]
        if event["state"] == "started" and not running:
            lives.append(_started(run, place, log, event["t"]))
        elif event["state"] == "stopped" and running:
            _stopped(run, place, lives[-1], event)
    return lives


def _started(run: Run, place: Place, log: Log, t: int) -> _Life:
    """A controller that a consumer of a replicated subscription started, or else a marker."""
    consumers = [
        session[2] for at, sessions in run.sessions.items() if at[:2] == place for session in sessions
    ]
    connected = [row for row in consumers if row.t <= t + _LATE_NS]
    handled = [
        row
        for row in run.draft.rows
        if row.type == "marker.handled" and _of(row) == place and row.fields["reason"] == REQUEST
    ]
    asked = [row for row in handled if row.cause is not None and row.cause.t <= t]
    by_marker = asked and (not connected or asked[-1].t > max(row.t for row in connected) + _LATE_NS)
    cause = asked[-1] if by_marker else connected[-1] if connected else None
    reason = "forced" if by_marker else "subscription"
    row = run.draft.add(
        "controller.started", t, cause, polled=True, cluster=place[0], topic=place[1], reason=reason
    )
    return _Life(t, run.recording.until_ns + 1, row)


_LATE_NS = 5 * MS_NS


def _stopped(run: Run, place: Place, life: _Life, event: Event) -> None:
    life.stop = event["t"]
    outage = event.get("unloaded") or next(
        (row for since, until, row in run.away.get(place, []) if since <= event["t"] <= until), None
    )
    reason = "unloaded" if outage is not None else "no-subscription"
    run.draft.add("controller.stopped", event["t"], outage, cluster=place[0], topic=place[1], reason=reason)


def _ticks(run: Run, log: Log, life: _Life) -> None:
    cluster, period = log.cluster, _period_ns(run, log.cluster)
    place = {"cluster": cluster, "topic": log.topic}
    completed = {
        row.fields["snapshot"]: row
        for row in run.draft.rows
        if row.type == "snapshot.completed" and _of(row) == (cluster, log.topic)
    }
    data = sorted(entry.t for entry in log.entries if entry.marker is None)
    building = Building(run.setting(cluster, "replicatedSubscriptionsSnapshotTimeoutSeconds") * 1000, 0)
    asked = list(life.requests)
    waiting: dict[int, Row] = {}
    tick = life.start
    first = True
    while tick < life.stop and tick <= run.recording.until_ns:
        _sweep(run, building, waiting, completed, tick, place)
        if asked and asked[0].t < tick + period - _early(run, cluster):
            request = asked.pop(0)
            waiting[request.fields["snapshot"]] = request
            if first and request.cause is None:
                request.cause = life.started
        elif tick >= run.recording.zero_ns:
            facts = _facts(run, log, data, tick, life)
            building.pending = dict.fromkeys(waiting)  # type: ignore[arg-type]
            reason = building.refusal(facts) or "replicator-disconnected"
            cause = life.started if first else None
            run.draft.add("snapshot.refused", tick, cause, **place, reason=reason)
        first = first and tick < run.recording.zero_ns
        tick += period
    _sweep(run, building, waiting, completed, life.stop, place)
    if life.stop <= run.recording.until_ns:
        for snapshot in waiting:
            run.draft.add("snapshot.abandoned", life.stop, **place, snapshot=snapshot, reason="unloaded")


def _sweep(
    run: Run,
    building: Building,
    waiting: dict[int, Row],
    completed: dict[int, Row],
    tick: int,
    place: dict[str, str],
) -> None:
    """Snapshots that were completed by a tick, or time out at it."""
    for snapshot, request in list(waiting.items()):
        done = completed.get(snapshot)
        if done is not None and done.t <= tick:
            del waiting[snapshot]
            building.last_completed_ms = max(building.last_completed_ms, request.t // MS_NS)
        elif (tick - request.t) // MS_NS > building.timeout_ms:
            del waiting[snapshot]
            run.draft.add("snapshot.timed-out", tick, **place, snapshot=snapshot)


def _facts(run: Run, log: Log, data: list[int], tick: int, life: _Life) -> Facts:
    """What the rule knows at a tick: the peers, their connections, and when data was last stored."""
    peers = run.peers(log.cluster, log.topic)
    since = max(
        (until for _, until, _ in run.away.get((log.cluster, log.topic), []) if until <= tick), default=0
    )
    stored = [t for t in data if since <= t <= tick]
    connected = all(_connected(run, log, peer, tick) for peer in peers)
    return Facts(tuple(peers), connected, stored[-1] // MS_NS if stored else 0, False)


def _connected(run: Run, log: Log, peer: str, tick: int) -> bool:
    state = True
    for row in run.draft.rows:
        if row.type in ("replicator.started", "replicator.disconnected") and row.t <= tick:
            if (_of(row), row.fields["peer"]) == ((log.cluster, log.topic), peer):
                state = row.type == "replicator.started"
    return state
