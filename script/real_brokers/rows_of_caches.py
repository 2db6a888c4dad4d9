"""Rows of the snapshot caches: cached, evicted and used, with the engine's own cache rule.

Rules: a snapshot is used when an Update with its positions is in the log, so this is measured. It was cached
when the dispatcher read its marker: as an event of the broker says where its cache could be read, else
inferred, and never after it was used. Evictions follow `snapshots/rules.py` with the run's rule and size. An
unload or a crash empties a cache, and so does switching off replication.
"""

from __future__ import annotations

from script.real_brokers.converting import Cursor, Run
from script.real_brokers.draft import Row
from script.real_brokers.logs import Entry, Position
from script.real_brokers.rows_of_consumers import NEVER_NS, Read, markers_read
from script.real_brokers.rows_of_cursors import History
from simulator.protocols.pulsar.markers.entries import SNAPSHOT
from simulator.protocols.pulsar.snapshots.rules import OLDEST_FIRST, CachedSnapshot, SnapshotCache

_SIZE, _SIZE_OLD = 30, 10
_ADD, _USE, _DROP = 0, 1, 2


def add_caches(run: Run, histories: dict[Cursor, History]) -> None:
    """The rows of every subscription's cache."""
    for at, history in histories.items():
        reads = list(markers_read(run, at, history.mark_delete_at))
        snapshots = [
            read for read in reads if read.entry.origin is None and read.entry.marker.type == SNAPSHOT
        ]
        _one(run, at, history, snapshots)


def _one(run: Run, at: Cursor, history: History, reads: list[Read]) -> None:
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
