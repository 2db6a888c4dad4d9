"""Rows of snapshot controllers, markers and snapshots, from the markers that the logs hold."""

from __future__ import annotations

from dataclasses import dataclass, field

from script.real_brokers.converting import Place, Run
from script.real_brokers.recording import Entry, Event, Log, Row
from script.real_brokers.rows_of_brokers import marker_fields
from simulator.protocols.pulsar.markers.entries import REQUEST, RESPONSE, SNAPSHOT, UPDATE
from simulator.protocols.pulsar.snapshots.controller import Builder, Building
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
    """The rows of all controllers.

    Rules: a controller's start and stop are events of the brokers, polled. Its ticks are inferred: its start
    and every period from then on, of which those before the run's instant 0 have no row. A request within a
    period belongs to the tick that begins it. A tick without one was refused, for the reason that the
    engine's own rule (`Building.refusal`) gives. Pending snapshots time out at the first tick after the limit
    and are abandoned when their controller stops.
    """
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


# --- rows of markers and snapshots, from the markers that the logs hold
#
# Rules: a snapshot is one snapshot id. It was requested when its request was stored where it was made, and
# a second request with the same id is its second round. It is completed when its snapshot marker is stored.
# A marker of another cluster was handled when its effect was stored: a request's is the response, a
# response's the next request or the snapshot. One without an effect was handled when it was stored (the
# replicator reads at the tail). Which response ended a round is decided by the engine's own `Builder`.


_US_NS = 1_000


def add_written(run: Run) -> None:
    """The rows of markers where they were made; their causes are set as the snapshots are found."""
    made = sorted(
        (entry for log in run.logs.values() for entry in log.entries if entry.marker and not entry.origin),
        key=lambda entry: (entry.t, entry.cluster, entry.position),
    )
    snapshots: dict[str, int] = {}
    requesters: dict[str, str] = {}
    for entry in made:
        assert entry.marker is not None
        if entry.marker.type == REQUEST:
            snapshots.setdefault(entry.marker.snapshot_id, len(snapshots) + 1)
            requesters.setdefault(entry.marker.snapshot_id, entry.cluster)
    for number, entry in enumerate(made, start=1):
        assert entry.marker is not None
        entry.number = number
        entry.snapshot = snapshots.get(entry.marker.snapshot_id)
    for entry in made:
        assert entry.marker is not None
        if entry.marker.type == UPDATE:
            source = _snapshot_of_update(run.log(entry.cluster, entry.topic), entry)
            entry.snapshot = None if source is None else source.snapshot
        addressee = {RESPONSE: requesters.get(entry.marker.snapshot_id), SNAPSHOT: entry.cluster}
        ledger, number = entry.position
        row = run.draft.add(
            "marker.written",
            entry.t,
            cluster=entry.cluster,
            peer=addressee.get(entry.marker.type),
            topic=entry.topic,
            **marker_fields(entry),
            ledger=ledger,
            entry=number,
            size_bytes=entry.size_bytes,
        )
        entry.rows.append(row)
        if entry.marker.type == UPDATE:
            _update(run, entry, row)


def _update(run: Run, entry: Entry, written: Row) -> None:
    """What an Update says: its row, and one for each cluster that it names."""
    assert entry.marker is not None
    about = {
        "cluster": entry.cluster,
        "topic": entry.topic,
        "subscription": entry.marker.subscription,
        "snapshot": entry.snapshot,
        "marker": entry.number,
    }
    ledger, number = entry.position
    row = run.draft.add("update.written", entry.t, written, **about, ledger=ledger, entry=number)
    entry.rows.append(row)
    for name, ledger, number in _remote(entry):
        run.draft.add("update.position", entry.t, row, peer=name, **about, to_ledger=ledger, to_entry=number)


def _snapshot_of_update(log: Log, update: Entry) -> Entry | None:
    """The newest snapshot before an Update in its log that names the same positions."""
    for entry in reversed(log.entries[: log.index[update.position]]):
        if entry.origin is None and entry.marker and entry.marker.type == SNAPSHOT:
            if _remote(entry) == _remote(update):
                return entry
    return None


def _remote(entry: Entry) -> tuple[tuple[str, int, int], ...]:
    assert entry.marker is not None
    return tuple(one for one in entry.marker.clusters if one[0] != entry.cluster)


def add_snapshots(run: Run) -> None:
    """Markers handled, and the rounds, answers and results of snapshots."""
    for log in run.logs.values():
        by_type = _handle(run, log)
        _respond(log, by_type)
        for snapshot_id in dict.fromkeys(
            entry.marker.snapshot_id for entry, _ in by_type[REQUEST, None] if entry.marker
        ):
            _build(run, log, snapshot_id, by_type)
        run.snapshots[log.cluster, log.topic] = [
            (entry, row) for entry, row in by_type[SNAPSHOT, None] if entry.snapshot is not None
        ]


Rows = dict[tuple[str, str | None], list[tuple[Entry, Row]]]
"""By (marker type, "copy" or None): the entries, each with its row written or handled."""


def _handle(run: Run, log: Log) -> Rows:
    rows: Rows = {
        (type_, kind): [] for type_ in (REQUEST, RESPONSE, SNAPSHOT, UPDATE) for kind in ("copy", None)
    }
    for entry in log.entries:
        if entry.marker is None:
            continue
        row = entry.rows[0]
        if entry.origin is not None:
            ledger, number = entry.position
            row = run.draft.add(
                "marker.handled",
                entry.t,
                row,
                polled=True,
                cluster=log.cluster,
                peer=entry.origin,
                topic=log.topic,
                **marker_fields(entry),
                ledger=ledger,
                entry=number,
            )
            if entry.marker.type == UPDATE:
                at = log.cluster, log.topic, entry.marker.subscription or ""
                run.handled.setdefault(at, []).append((entry, row))
        elif entry.marker.type == UPDATE:
            at = log.cluster, log.topic, entry.marker.subscription or ""
            run.updates.setdefault(at, []).append((entry, row))
        rows[entry.marker.type, "copy" if entry.origin else None].append((entry, row))
    return rows


def _respond(log: Log, rows: Rows) -> None:
    """Each response is the effect of a request: the n-th with a snapshot id of the n-th."""
    requests: dict[str, list[Row]] = {}
    for entry, row in rows[REQUEST, "copy"]:
        assert entry.marker is not None
        requests.setdefault(entry.marker.snapshot_id, []).append(row)
    for entry, row in rows[RESPONSE, None]:
        assert entry.marker is not None
        waiting = requests.get(entry.marker.snapshot_id, [])
        if waiting:
            row.cause = waiting.pop(0)
            row.cause.t = max(row.cause.t, entry.t)


def _build(run: Run, log: Log, snapshot_id: str, rows: Rows) -> None:
    """One snapshot of this cluster: its rounds, answers and completion."""
    place = {"cluster": log.cluster, "topic": log.topic}
    requests = _with_id(rows[REQUEST, None], snapshot_id)
    done = _with_id(rows[SNAPSHOT, None], snapshot_id)[:1]
    number = requests[0][0].snapshot
    peers = run.peers(log.cluster, log.topic)
    builder = Builder(number or 0, 0, tuple(peers), list(peers))
    requested = [
        run.draft.add("snapshot.requested", entry.t, **place, snapshot=number, count=min(round_, 2))
        for round_, (entry, _) in enumerate(requests, start=1)
    ]
    for (_, written), row in zip(requests, requested, strict=True):
        written.cause = row
    answers: dict[tuple[int, int], Row] = {}
    for entry, handled in _with_id(rows[RESPONSE, "copy"], snapshot_id):
        assert entry.marker is not None and entry.marker.cluster is not None
        if not builder.missing or (done and entry.position > done[0][0].position):
            run.draft.add(
                "snapshot.answer-ignored",
                handled.t,
                handled,
                **place,
                peer=entry.marker.cluster,
                reason="not-pending",
            )
            continue
        round_ = builder.round
        completes = builder.answer(entry.marker.cluster, entry.marker.position or (0, 0))
        row = _answered(run, place, entry, handled, number, round_)
        answers[entry.position] = row
        effect = (
            done[0][1]
            if completes and done
            else requested[1]
            if builder.round > round_ and len(requested) > 1
            else None
        )
        if effect is not None:
            handled.t = row.t = max(handled.t, effect.t)
            effect.cause = row
    if done:
        _completed(run, place, done[0], requests[0][0], answers)


def _with_id(rows: list[tuple[Entry, Row]], snapshot_id: str) -> list[tuple[Entry, Row]]:
    return [(entry, row) for entry, row in rows if entry.marker and entry.marker.snapshot_id == snapshot_id]


def _answered(
    run: Run, place: dict[str, str], entry: Entry, handled: Row, number: int | None, round_: int
) -> Row:
    assert entry.marker is not None and entry.marker.position is not None
    to_ledger, to_entry = entry.marker.position
    return run.draft.add(
        "snapshot.answered",
        handled.t,
        handled,
        **place,
        peer=entry.marker.cluster,
        snapshot=number,
        count=round_,
        ledger=entry.position[0],
        entry=entry.position[1],
        to_ledger=to_ledger,
        to_entry=to_entry,
    )


def _completed(
    run: Run,
    place: dict[str, str],
    done: tuple[Entry, Row],
    request: Entry,
    answers: dict[tuple[int, int], Row],
) -> None:
    entry, written = done
    marker = entry.marker
    assert marker is not None and marker.position is not None
    full = marker.position in answers
    cause = answers.get(marker.position) or (list(answers.values())[-1] if answers else None)
    completed = run.draft.add(
        "snapshot.completed",
        entry.t,
        cause,
        **place,
        snapshot=entry.snapshot,
        ledger=marker.position[0],
        entry=marker.position[1],
        duration_us=_at_us(run, entry.t) - _at_us(run, request.t),
        reason="full" if full else "partial",
    )
    written.cause = completed
    for name, ledger, number in marker.clusters:
        if name != entry.cluster:
            run.draft.add(
                "snapshot.position",
                entry.t,
                completed,
                **place,
                peer=name,
                snapshot=entry.snapshot,
                to_ledger=ledger,
                to_entry=number,
            )


def _at_us(run: Run, t: int) -> int:
    return (t - run.recording.zero_ns) // _US_NS
