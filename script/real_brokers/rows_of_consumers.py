"""Rows of consumers, the end of failovers, and the dispatcher's reading of markers.

Rules: consumers are events of the brokers. Those that a crash ended have no event of their own. A failover is
finished when each consumer of the subscription has subscribed at the target. No client sees a marker: the
dispatcher read one when it was stored, or when the last message before it had been dispatched, whichever is
later, but not after it dispatched a message behind it. A marker that was read while no consumer was connected
does not exist, so it is read at the next connection.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from script.real_brokers.converting import Cursor, Run
from script.real_brokers.recording import Entry, Event, Log, Position, Row
from script.real_brokers.rows_of_brokers import POLL_NS, marker_fields

NEVER_NS = 1 << 62


def add_consumers(run: Run) -> None:
    """Connections of consumers by subscription, and the ends of failovers."""
    open_: dict[tuple[Cursor, str], Row] = {}
    counts: dict[Cursor, int] = {}
    began: dict[Cursor, tuple[int, Row]] = {}
    ends = _clients_changed(run)
    for event in _with_crashes(run):
        at = event["cluster"], event["topic"], event["subscription"]
        client = event["consumer"]
        fields = {"cluster": at[0], "topic": at[1], "subscription": at[2], "client": client}
        if event["state"] == "connected" and (at, client) not in open_:
            cause = _cause(run, at, event["t"])
            row = run.draft.add("consumer.connected", event["t"], cause, polled=True, **fields)
            open_[at, client] = row
            run.connected.add((at, client), row)
            counts[at] = counts.get(at, 0) + 1
            if counts[at] == 1:
                began[at] = event["t"], row
        elif event["state"] == "disconnected" and (at, client) in open_:
            del open_[at, client]
            reason, cause = _why_left(run, at, event, ends)
            run.draft.add("consumer.disconnected", event["t"], cause, **fields, reason=reason)
            counts[at] -= 1
            if not counts[at]:
                since, row = began.pop(at)
                run.sessions.setdefault(at, []).append((since, event["t"], row))
    for at, (since, row) in began.items():
        run.sessions.setdefault(at, []).append((since, NEVER_NS, row))
    _failovers_finished(run)


def _with_crashes(run: Run) -> list[Event]:
    """The events of consumers, with those that the crash of a broker left out."""
    events = list(run.recording.of("consumer"))
    known = {(event["cluster"], event["topic"], event["subscription"], event["consumer"]) for event in events}
    for place, outages in run.away.items():
        for since, _until, _row in outages:
            events += [
                {
                    "e": "consumer",
                    "t": since,
                    "cluster": place[0],
                    "topic": place[1],
                    "subscription": subscription,
                    "consumer": client,
                    "state": "disconnected",
                }
                for cluster, topic, subscription, client in sorted(known)
                if (cluster, topic) == place
            ]
    return sorted(events, key=lambda event: event["t"])


def _cause(run: Run, at: Cursor, t: int) -> Row | None:
    """What made a consumer connect: the latest failover to this cluster, or load of its topic."""
    moved = [
        row
        for row in run.draft.rows
        if row.type == "failover.started" and row.fields["peer"] == at[0] and row.t <= t
    ]
    return moved[-1] if moved and moved[-1].fields["subscription"] == at[2] else None


def _clients_changed(run: Run) -> dict[str, list[Row]]:
    """By client the rows with which the driver ended it, and those of producers that continue."""
    rows: dict[str, list[Row]] = {}
    for event in run.recording.of("client", "request"):
        name, cluster = event.get("name", ""), event.get("cluster")
        consumes = name in run.scenario.consumers
        if event["e"] == "client":
            state = _LEFT.get(event["state"], event["state"]) if consumes else event["state"]
        elif consumes or name not in rows:
            continue  # only a producer that was ended before continues
        else:
            state = "running"
        cause = _why_changed(run, name, cluster, event["t"])
        fields = {"cluster": cluster, "client": name, "reason": state}
        rows.setdefault(name, []).append(run.draft.add("client.changed", event["t"], cause, **fields))
    return rows


def _why_changed(run: Run, client: str, cluster: str | None, t: int) -> Row | None:
    """The latest command by then that concerns a client: by name, or by its cluster or subscription."""
    spec = run.scenario.consumers.get(client)
    for arguments, row in reversed(run.commands):
        named = client in (arguments.get("consumer"), arguments.get("producer"), arguments.get("client"))
        moved = (
            spec is not None and arguments.get("subscription") == spec.subscription and "from" in arguments
        )
        shut = row.fields["reason"].startswith("cluster.") and arguments.get("cluster") == cluster
        if row.t <= t and (named or moved or shut):
            return row
    return None


def _why_left(run: Run, at: Cursor, event: Event, ends: dict[str, list[Row]]) -> tuple[str, Row | None]:
    """Why a consumer left: an outage of its topic, else what the driver did to it."""
    for since, until, row in run.away.get(at[:2], []):
        if since <= event["t"] <= until:
            return row.fields["reason"], row
    ended = [row for row in ends.get(event["consumer"], []) if row.t <= event["t"]]
    return (ended[-1].fields["reason"], ended[-1]) if ended else ("closed", None)


_LEFT = {"killed": "killed", "down": "crash", "stopped": "closed"}


def _failovers_finished(run: Run) -> None:
    started = [row for row in run.draft.rows if row.type == "failover.started"]
    for place, row in enumerate(started):
        name, target = row.fields["subscription"], row.fields["peer"]
        later = [other.t for other in started[place + 1 :] if other.fields["subscription"] == name]
        closed = later[0] if later else NEVER_NS
        arrived: dict[str, Row] = {}
        for other in run.draft.rows:
            if other.type == "consumer.connected" and row.t <= other.t < closed:
                if (other.fields["subscription"], other.fields["cluster"]) == (name, target):
                    arrived.setdefault(other.fields["client"], other)
        if arrived:
            last = max(arrived.values(), key=lambda other: other.t)
            fields = {key: row.fields[key] for key in ("cluster", "peer", "subscription")}
            run.draft.add("failover.finished", last.t, last, **fields)


# --- markers


@dataclass(slots=True)
class Read:
    """A marker that a subscription's dispatcher read: its entry and its `marker.filtered` row."""

    entry: Entry
    row: Row


@dataclass(slots=True)
class _Dispatched:
    """What a session dispatched, by position: the highest instant up to each, and the lowest from each on."""

    positions: list[Position] = field(default_factory=list)
    latest_up_to: list[int] = field(default_factory=list)
    first_from: list[int] = field(default_factory=list)
    first: dict[Position, int] = field(default_factory=dict)
    passed: Position | None = None
    acked: dict[Position, None] = field(default_factory=dict)

    def reached(self, run: Run, log: Log, marker: Entry, start: Position | None) -> bool:
        """Whether the session read as far as a marker.

        It did if it dispatched a message behind it, or the last one before it that it had to dispatch: not
        those up to the mark-delete, acked in an earlier session, or delayed.
        """
        if self.positions and self.positions[-1] > marker.position:
            return True
        covered = max((one for one in (start, self.passed) if one is not None), default=None)
        for entry in reversed(log.entries[: log.index[marker.position]]):
            if covered is not None and entry.position <= covered:
                return True
            if entry.position in self.first:
                return True
            if entry.marker is None and entry.position not in self.acked and not self._delayed(run, entry):
                return False
        return True

    def _delayed(self, run: Run, entry: Entry) -> bool:
        """Whether the entry may be one that the scenario delays: it was read, and is dispatched later."""
        spec = run.scenario.producers.get(entry.messages[0][0])
        return spec is not None and spec.delay is not None


def markers_read(run: Run, at: Cursor, mark_delete_at: Callable[[int], Position | None]) -> Iterator[Read]:
    """The markers that a subscription's dispatcher read, session by session, with their rows."""
    log, done = run.log(*at[:2]), set[Position]()
    for since, until, connected in run.sessions.get(at, []):
        dispatched = _dispatched(run, at, since - POLL_NS, until)
        start = mark_delete_at(since)
        for entry in log.entries:
            if (
                entry.marker is None
                or entry.position in done
                or (start is not None and entry.position <= start)
            ):
                continue
            if not dispatched.reached(run, log, entry, start):
                continue
            t = max(since, entry.t)
            place = bisect_left(dispatched.positions, entry.position)
            if place:
                t = max(t, dispatched.latest_up_to[place - 1])
            if place < len(dispatched.positions):
                t = max(min(t, dispatched.first_from[place]), since, entry.t)
            if t >= until:
                continue
            done.add(entry.position)
            cause = connected if connected.t > entry.rows[0].t else entry.rows[0]
            row = run.draft.add(
                "marker.filtered",
                t,
                cause,
                cluster=at[0],
                topic=at[1],
                **{**marker_fields(entry), "subscription": at[2]},
                ledger=entry.position[0],
                entry=entry.position[1],
            )
            yield Read(entry, row)


def _dispatched(run: Run, at: Cursor, since: int, until: int) -> _Dispatched:
    first: dict[Position, int] = {}
    for event in run.recording.of("dispatched"):
        if (event["cluster"], event["topic"], event["subscription"]) == at and since <= event["t"] < until:
            first.setdefault((event["ledger"], event["entry"]), event["t"])
    acked = dict.fromkeys(entry.position for entry, _ in run.registered.get(at, []))
    found = _Dispatched(sorted(first), first=first, passed=_passed(run, at, until), acked=acked)
    latest = 0
    for position in found.positions:
        latest = max(latest, first[position])
        found.latest_up_to.append(latest)
    earliest = NEVER_NS
    for position in reversed(found.positions):
        earliest = min(earliest, first[position])
        found.first_from.append(earliest)
    found.first_from.reverse()
    return found


def _passed(run: Run, at: Cursor, until: int) -> Position | None:
    """The mark-delete when the session ended: entries up to it need not have been dispatched."""
    last = None
    for event in run.recording.of("cursor"):
        if (event["cluster"], event["topic"], event["subscription"]) == at and event["t"] < until:
            last = event["ledger"], event["entry"]
    return last
