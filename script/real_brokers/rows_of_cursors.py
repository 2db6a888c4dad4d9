"""Rows of cursors and snapshot caches: created, moved, recovered, and the snapshots that moved them."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Any

from script.real_brokers.converting import Cursor, Run
from script.real_brokers.recording import Entry, Event, Log, Position, RecordingError, Row
from script.real_brokers.rows_of_consumers import NEVER_NS, Read, markers_read
from simulator.protocols.pulsar.markers.entries import SNAPSHOT
from simulator.protocols.pulsar.snapshots.rules import OLDEST_FIRST, CachedSnapshot, SnapshotCache

_SIZE, _SIZE_OLD = 30, 10
_ADD, _USE, _DROP = 0, 1, 2


def add_caches(run: Run, histories: dict[Cursor, History]) -> None:
    """The rows of every subscription's cache.

    Rules: a snapshot is used when an Update with its positions is in the log, so this is measured. It was
    cached when the dispatcher read its marker: as an event of the broker says where its cache could be read,
    else inferred, and never after it was used. Evictions follow `snapshots/rules.py` with the run's rule and
    size. An unload or a crash empties a cache, and so does switching off replication.
    """
    for at, history in histories.items():
        reads = list(markers_read(run, at, history.mark_delete_at))
        snapshots = [
            read for read in reads if read.entry.origin is None and read.entry.marker.type == SNAPSHOT
        ]
        _add_reads(run, at, history, snapshots)


def _add_reads(run: Run, at: Cursor, history: History, reads: list[Read]) -> None:
    updates = run.updates.get(at, [])
    used_at = {entry.snapshot: entry.t for entry, _ in reversed(updates)}
    measured = _measured(run, at)
    latest = NEVER_NS
    for read in reversed(reads):
        assert read.entry.marker is not None
        t = measured.get(read.entry.marker.position or (0, 0), read.row.t)
        latest = min(latest, t, used_at.get(read.entry.snapshot, NEVER_NS))
        read.row.t = max(latest, read.entry.t)
    steps: list[tuple[int, int, int, object]] = []
    steps += [(read.row.t, _ADD, place, read) for place, read in enumerate(reads)]
    steps += [(entry.t, _USE, place, (entry, row)) for place, (entry, row) in enumerate(updates)]
    steps += [
        (since, _DROP, place, (row, "unloaded"))
        for place, (since, _, row) in enumerate(run.away.get(at[:2], []))
    ]
    steps += [
        (row.t, _DROP, row.number, (row, "switched-off"))
        for row in _switches(run, at)
        if not row.fields["count"]
    ]
    cache = _Cache(run, at, history)
    for t, kind, _place, what in sorted(steps, key=lambda step: step[:3]):
        if kind == _ADD and _replicated(run, at, history, t):
            cache.add(what)  # type: ignore[arg-type]
        elif kind == _USE:
            cache.use(*what)  # type: ignore[misc]
        elif kind == _DROP:
            cache.drop(*what)  # type: ignore[misc]


def _measured(run: Run, at: Cursor) -> dict[Position, int]:
    """By local position of a snapshot when the broker's cache first had it."""
    first: dict[Position, int] = {}
    for event in run.recording.of("cache"):
        if (event["cluster"], event["topic"], event["subscription"]) == at:
            for ledger, entry in event["snapshots"]:
                first.setdefault((ledger, entry), event["t"])
    return first


def _switches(run: Run, at: Cursor) -> list[Row]:
    return [
        row
        for row in run.draft.rows
        if row.type == "subscription.replication-switched"
        and (row.fields["cluster"], row.fields["topic"], row.fields["subscription"]) == at
    ]


def _replicated(run: Run, at: Cursor, history: History, t: int) -> bool:
    assert history.created is not None
    state = bool(history.created.fields["count"])
    for row in _switches(run, at):
        state = bool(row.fields["count"]) if row.t <= t else state
    return state


class _Cache:
    """One subscription's cache, and the rows of what happens to it."""

    def __init__(self, run: Run, at: Cursor, history: History) -> None:
        rule = run.option("snapshotCacheRule")
        size = run.setting(at[0], "replicatedSubscriptionsSnapshotMaxCachedPerSubscription")
        self.run, self.at, self.history = run, at, history
        self.cache = SnapshotCache(rule, size or (_SIZE_OLD if rule == OLDEST_FIRST else _SIZE))
        self.rows: dict[int, Row] = {}
        self.last: Row | None = None

    def add(self, read: Read) -> None:
        """The dispatcher read a snapshot marker."""
        entry, marker = read.entry, read.entry.marker
        assert marker is not None and marker.position is not None and entry.snapshot is not None
        index = self.history.index(marker.position)
        gone = self.cache.add(CachedSnapshot(entry.snapshot, index, marker.clusters))
        row = self._note("snapshot.cached", entry.snapshot, read.row.t, read.row, marker.position)
        self.rows[entry.snapshot] = row
        for snapshot, reason in gone:
            self._note("snapshot.evicted", snapshot.snapshot, read.row.t, row, reason=reason)

    def use(self, update: Entry, written: Row) -> None:
        """An Update is in the log: its snapshot was taken, and the older ones are obsolete."""
        if update.snapshot is None:
            return
        source = next(
            entry for entry, _ in self.run.snapshots[self.at[:2]] if entry.snapshot == update.snapshot
        )
        assert source.marker is not None and source.marker.position is not None
        index = self.history.index(source.marker.position)
        cause = self._trigger(update, source)
        for kept in [kept for kept in self.cache.snapshots if kept.index < index]:
            self._note("snapshot.evicted", kept.snapshot, update.t, cause, reason="passed")
        self.cache.snapshots = [kept for kept in self.cache.snapshots if kept.index > index]
        written.cause = self._note("snapshot.used", update.snapshot, update.t, cause, source.marker.position)

    def _trigger(self, update: Entry, source: Entry) -> Row | None:
        """The row that took the snapshot: the cursor that passed it, or its arrival in the cache.

        An Update needs a mark-delete at or past its snapshot. The cursor is polled, so it may be seen there
        after the Update was stored.
        """
        assert source.marker is not None and source.marker.position is not None
        cached = self.rows.get(update.snapshot or 0)
        passed = next(
            (row for row, position in self.history.steps if position >= source.marker.position), None
        )
        if cached is None or (passed is not None and passed.t > cached.t):
            return passed
        return cached

    def drop(self, cause: Row, reason: str) -> None:
        """The cache is emptied."""
        for kept in self.cache.snapshots:
            self._note("snapshot.evicted", kept.snapshot, cause.t, cause, reason=reason)
        self.cache.snapshots = []

    def _note(
        self,
        type_: str,
        snapshot: int,
        t: int,
        cause: Row | None,
        position: tuple[int, int] | None = None,
        **more: str,
    ) -> Row:
        place = {} if position is None else {"ledger": position[0], "entry": position[1]}
        self.last = self.run.draft.add(
            type_,
            t,
            cause,
            polled=type_ == "snapshot.cached",
            after=self.last if self.last is not cause else None,
            cluster=self.at[0],
            topic=self.at[1],
            subscription=self.at[2],
            snapshot=snapshot,
            **place,
            **more,
        )
        return self.last


# --- rows of subscriptions' cursors: created, moved, recovered, and the Updates that they applied
#
# Rules: mark-deletes are events of the brokers, polled. Which change moved one is inferred: a recovery
# after the topic was away, a command, acks that had reached the broker for everything up to the new
# position, an Update that names the position or a lower one, any ack up to it, in this order. An Update is
# refused if the cursor was at or past its position, or the log had not reached it. The persisted position
# of a cursor that was recovered is the recovered one, written when the cursor was last there.


ACK_LATE_NS = 5_000_000
"""An ack's event is written after the broker registered it: at most so long after a cursor that it moved."""

COMMAND_LATE_NS = 5_000_000_000
"""A command of an operator moves a cursor within this time."""

_BY_COMMAND = {"subscription.reset": "reset", "subscription.skip": "skip", "subscription.clear": "clear"}


@dataclass(slots=True)
class History:
    """One cursor: `steps` are the rows that set its mark-delete, each with the position."""

    at: Cursor
    log: Log
    steps: list[tuple[Row, Position]] = field(default_factory=list)
    created: Row | None = None
    acks: list[tuple[Entry, Row]] = field(default_factory=list)

    @property
    def position(self) -> Position:
        """Its mark-delete now."""
        return self.steps[-1][1]

    def step(self, row: Row, position: Position) -> None:
        """Add a row that set the mark-delete; it stays behind those before it."""
        if self.steps:
            row.after = self.steps[-1][0]
        self.steps.append((row, position))

    def mark_delete_at(self, t: int) -> Position | None:
        """The mark-delete at an instant; None before the cursor exists."""
        earlier = [position for row, position in self.steps if row.t <= t]
        return earlier[-1] if earlier else None

    def index(self, position: Position) -> int:
        """The number of log entries up to a position, less one."""
        return self.log.index_up_to(position)


def add_cursors(run: Run) -> dict[Cursor, History]:
    """The rows of every cursor."""
    events: dict[Cursor, list[Event]] = {}
    for event in run.recording.of("cursor"):
        events.setdefault((event["cluster"], event["topic"], event["subscription"]), []).append(event)
    found = sorted({*events, *run.sessions, *run.handled})
    return {at: _history_of(run, at, events.get(at, [])) for at in found if at[:2] in run.logs}


def _history_of(run: Run, at: Cursor, events: list[Event]) -> History:
    history = History(at, run.log(*at[:2]), acks=sorted(run.registered.get(at, []), key=_position))
    updates = list(run.handled.get(at, []))
    outages = list(run.away.get(at[:2], []))
    commands = _commands(run, at, events)
    _create(run, history, events, updates)
    for number, event in enumerate(events):
        new = event["ledger"], event["entry"]
        while outages and outages[0][1] <= event["t"]:
            _recover(run, history, outages.pop(0), event if not outages else None)
        _refuse(run, history, updates, event["t"])
        if new == history.position:
            continue
        if number in commands:
            _by_command(run, history, new, event, commands[number])
            continue
        ack = _ack_of(history, new, event["t"])
        by_acks = ack is not None and _all_acked(history, new, event["t"])
        if by_acks or not _apply(run, history, updates, new, event["t"]):
            _moved(run, history, new, event["t"], "acknowledgement", ack)
    for outage in outages:
        if outage[1] < run.recording.until_ns:
            _recover(run, history, outage, None)
    _refuse(run, history, updates, run.recording.until_ns)
    return history


def _commands(run: Run, at: Cursor, events: list[Event]) -> dict[int, Row]:
    """The command that moved the cursor, by the number of the event that shows it.

    It is the first event after the command that goes back, because acks still move a cursor forward until the
    brokers perform the command; without such an event it is the first one that shows another position.
    """
    found: dict[int, Row] = {}
    positions = [(event["ledger"], event["entry"]) for event in events]
    for arguments, row in run.commands:
        concerns = arguments.get("subscription") == at[2] and arguments.get("cluster") in (None, at[0])
        if row.fields["reason"] not in _BY_COMMAND or not concerns:
            continue
        moving = [
            number
            for number, event in enumerate(events)
            if number > 0
            and number not in found
            and positions[number] != positions[number - 1]
            and row.t <= event["t"] <= row.t + COMMAND_LATE_NS
        ]
        back = [number for number in moving if positions[number] < positions[number - 1]]
        for number in (back or moving)[:1]:
            found[number] = row
    return found


# --- created


def _create(run: Run, history: History, events: list[Event], updates: list[tuple[Entry, Row]]) -> None:
    """The row that opened the cursor, for a consumer, an Update or a command, whichever came first."""
    at = history.at
    spec = run.scenario.subscriptions.get(at[2])
    if spec is None:
        raise RecordingError(
            f"the recording has a cursor of {at[2]}, which the scenario does not have; it has "
            f"{', '.join(run.scenario.subscriptions)}"
        )
    earliest = run.first_position(*at[:2]) or (0, -1)
    signs = [(session[0] - 1, "consumer", None) for session in run.sessions.get(at, [])[:1]]
    signs += [(handled.t, "update", handled) for _, handled in updates[:1]]
    signs += [
        (row.t, "command", row)
        for arguments, row in run.commands
        if row.fields["reason"] == "subscription.create" and _names(arguments, at)
    ]
    t, reason, cause = min(signs, key=lambda sign: sign[0], default=(run.recording.zero_ns, "consumer", None))
    position = earliest
    if reason != "update":
        first = events[0] if events else None
        acked = [row.t for _, row in run.registered.get(at, [])[:1]]
        latest = [entry.position for entry in history.log.entries if entry.t <= t]
        if first is not None and not (acked and acked[0] < first["t"]):
            position = first["ledger"], first["entry"]
        elif spec.initial_position == "Latest" and latest:
            position = latest[-1]
    replicated = reason == "update" or spec.replicate_subscription_state
    history.created = run.draft.add(
        "subscription.created",
        t,
        cause,
        cluster=at[0],
        topic=at[1],
        subscription=at[2],
        ledger=position[0],
        entry=position[1],
        reason=reason,
        count=int(replicated),
    )
    if reason == "consumer" and run.sessions.get(at):
        run.sessions[at][0][2].after = history.created
    history.step(history.created, position)


def _names(arguments: dict[str, Any], at: Cursor) -> bool:
    return (arguments.get("subscription"), arguments.get("cluster")) == (at[2], at[0])


# --- moved


def _moved(run: Run, history: History, new: Position, t: int, reason: str, cause: Row | None) -> Row:
    before = history.position
    backward = new < before and history.index(new) < history.index(before)
    if backward and reason in ("acknowledgement", "update"):
        raise RecordingError(
            f"the cursor of {history.at[2]} for {history.at[1]} in {history.at[0]} went back from "
            f"{before[0]}:{before[1]} to {new[0]}:{new[1]}, and the recording has neither a reset nor a "
            "restart that explains it"
        )
    row = run.draft.add(
        "cursor.moved",
        t,
        cause,
        polled=reason in ("acknowledgement", "update"),
        cluster=history.at[0],
        topic=history.at[1],
        subscription=history.at[2],
        ledger=before[0],
        entry=before[1],
        to_ledger=new[0],
        to_entry=new[1],
        reason="rollover" if reason == "acknowledgement" and new[1] == -1 else reason,
    )
    history.step(row, new)
    return row


def _acks_of(history: History, new: Position, t: int) -> list[tuple[Entry, Row]]:
    """The acks between the old and the new mark-delete that the broker may have had by then."""
    first = bisect_right(history.acks, history.position, key=_position)
    last = bisect_right(history.acks, new, key=_position)
    return [ack for ack in history.acks[first:last] if ack[1].t <= t + ACK_LATE_NS]


def _ack_of(history: History, new: Position, t: int) -> Row | None:
    """The latest of these acks."""
    return max((row for _, row in _acks_of(history, new, t)), key=lambda row: row.t, default=None)


def _all_acked(history: History, new: Position, t: int) -> bool:
    """Whether these acks cover every message up to the new mark-delete.

    Without it an Update has moved the cursor over a message that is not acked, and then over individually
    deleted messages behind it.
    """
    acked = {
        (entry.position, row.fields["producer"], row.fields["sequence_id"])
        for entry, row in _acks_of(history, new, t)
    }
    entries = history.log.entries[history.index(history.position) + 1 : history.index(new) + 1]
    return all((entry.position, *message) in acked for entry in entries for message in entry.messages)


def _position(ack: tuple[Entry, Row]) -> Position:
    return ack[0].position


def _by_command(run: Run, history: History, new: Position, event: Event, command: Row) -> None:
    reason = _BY_COMMAND[command.fields["reason"]]
    registered = {entry.position for entry, _ in run.registered.get(history.at, [])}
    for entry in history.log.entries:
        if history.position < entry.position <= new and entry.position not in registered:
            for message in entry.messages:
                run.draft.add(
                    "message.skipped",
                    event["t"],
                    command,
                    cluster=history.at[0],
                    topic=history.at[1],
                    subscription=history.at[2],
                    producer=message[0],
                    sequence_id=message[1],
                    ledger=entry.position[0],
                    entry=entry.position[1],
                    batch_index=entry.batch_index(message),
                    reason=reason,
                )
    _moved(run, history, new, event["t"], reason, command)


# --- Updates


def _own(entry: Entry, cluster: str) -> Position | None:
    assert entry.marker is not None
    return next(((one[1], one[2]) for one in entry.marker.clusters if one[0] == cluster), None)


def _refuse(run: Run, history: History, updates: list[tuple[Entry, Row]], t: int) -> None:
    """The Updates handled by now that could not move the cursor, from the first one on."""
    while updates and updates[0][1].t < t:
        entry, handled = updates[0]
        own, index = _own(entry, history.at[0]), history.index(history.position)
        if own is None:
            reason = "not-addressed"
        elif history.log.index.get(own, -1) > history.log.index[entry.position]:
            reason = "beyond-last-entry"
        elif history.index(own) == index:
            reason = "equal"
        elif history.index(own) < index:
            reason = "behind-mark-delete"
        else:
            return
        updates.pop(0)
        position = own or (None, None)
        run.draft.add(
            "update.refused",
            handled.t,
            handled,
            **_about(history, entry),
            to_ledger=position[0],
            to_entry=position[1],
            reason=reason,
        )


def _apply(run: Run, history: History, updates: list[tuple[Entry, Row]], new: Position, t: int) -> bool:
    """The rows of the last waiting Update that explains the new mark-delete; False when none does."""
    chosen = [
        place
        for place, (entry, handled) in enumerate(updates)
        if handled.t <= t and (own := _own(entry, history.at[0])) is not None and own <= new
    ]
    if not chosen:
        return False
    for place in chosen:
        entry, handled = updates[place]
        own = _own(entry, history.at[0])
        assert own is not None
        opened = history.created if len(history.steps) == 1 else None
        by_update = opened is not None and opened.fields["reason"] == "update"
        applied = run.draft.add(
            "update.applied",
            t,
            opened if by_update else handled,
            polled=True,
            evidence=_written(run, entry),
            **_about(history, entry),
            to_ledger=own[0],
            to_entry=own[1],
        )
        last = place == chosen[-1]
        history.step(applied, own)
        history.steps.pop()
        _moved(run, history, new if last else own, t, "update", applied)
    del updates[: chosen[-1] + 1]
    return True


def _about(history: History, entry: Entry) -> dict[str, Any]:
    return {
        "cluster": history.at[0],
        "peer": entry.first.cluster,
        "topic": history.at[1],
        "subscription": history.at[2],
        "marker": entry.first.number,
    }


def _written(run: Run, entry: Entry) -> Row | None:
    """The `update.written` row of an Update's original."""
    first = entry.first
    assert first.marker is not None
    return first.rows[1] if len(first.rows) > 1 else None


# --- recovered


def _recover(run: Run, history: History, outage: tuple[int, int, Row], event: Event | None) -> None:
    """The rows of a cursor that was reopened after its topic had been away."""
    since, until, _ = outage
    at = {"cluster": history.at[0], "topic": history.at[1], "subscription": history.at[2]}
    position = history.position if event is None else (event["ledger"], event["entry"])
    count = 0 if event is None else event.get("individually_deleted") or 0
    stood = [row for row, step in history.steps if step <= position]
    last = max((row for row, step in history.steps if step == position), key=lambda row: row.t, default=None)
    held = last or (stood[-1] if stood else history.steps[0][0])
    t = since - 1 if held is history.steps[-1][0] else held.t
    place = {"ledger": position[0], "entry": position[1], "count": count}
    run.draft.add("cursor.persisted", t, held, **at, **place)
    loaded = run.states.latest(history.at[:2], until)
    row = run.draft.add("cursor.recovered", until, loaded, **at, **place)
    before = history.position
    history.step(row, position)
    if position != before:
        history.steps.pop()
        history.steps.append((row, before))
        _moved(run, history, position, until, "recovery", row)
