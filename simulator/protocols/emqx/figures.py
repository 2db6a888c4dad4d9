"""A group's live figures: what counting would find in the rows so far (docs/counting.md).

Rules: `RowsWithFigures` updates them for rows about leases and readers, sessions for each message. They
write no rows and decide nothing. `tests/simulator/test_live_figures.py` compares them with counting.
Instants and durations are us.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from pyroaring import BitMap

from simulator.log.cursors import runs
from simulator.protocols.emqx.events import EmqxRows
from simulator.protocols.emqx.protocol import END, GONE, GRANTED, UNSUBSCRIBING
from simulator.protocols.emqx.verdicts.groups import percentiles
from simulator.trace.registry import NULL

if TYPE_CHECKING:
    from simulator.protocols.emqx.cluster_state import ClusterState

MARKED_RANGES_MAX = 200
"""The most ranges of duplicates of one stream in a view, the newest: more than a tape has pixels for."""

Reader = tuple[str, int]
"""(session, number of the incarnation)."""


class Totals(NamedTuple):
    """The totals of one stream.

    They are the time with a reader, the time with two clients at once, and the number of overlapping pairs of
    leases.
    """

    covered_us: int = 0
    overlap_us: int = 0
    pairs: int = 0


class StreamFigures:
    """The figures of one stream in one group.

    `open` is the instant since which each reader reads, `reading` where it began and what its client got
    since. `latest` is the lease granted last, `latest_end_us` when it ended. `position` is that of the latest
    leader.
    """

    __slots__ = (
        "found_us",
        "done",
        "done_us",
        "since_us",
        "totals",
        "open",
        "latest",
        "latest_end_us",
        "delivered",
        "acknowledged",
        "repeated",
        "position",
        "reading",
    )

    def __init__(self) -> None:
        self.found_us: int | None = None
        self.done: Totals | None = None
        self.done_us = 0
        self.since_us = 0
        self.totals = Totals()
        self.open: dict[Reader, int] = {}
        self.latest: Reader | None = None
        self.latest_end_us: int | None = None
        self.delivered, self.acknowledged = BitMap(), BitMap()
        self.repeated = BitMap()  # delivered after an acknowledgement: the duplicates
        self.position = 0
        self.reading: dict[Reader, tuple[int, BitMap]] = {}

    @property
    def clients(self) -> int:
        """The number of different clients that read it now."""
        return len(self.open) if len(self.open) < 2 else len({client for client, _number in self.open})

    def at(self, now: int) -> Totals:
        """The totals until `now`; open leases count up to `now`."""
        if self.done is not None:
            return self.done
        if len(self.open) < 2:  # the usual case
            return (
                self.totals
                if not self.open
                else Totals(
                    self.totals.covered_us + now - self.since_us, self.totals.overlap_us, self.totals.pairs
                )
            )
        readers = list(self.open.items())
        open_pairs = sum(
            max(since, other) < now and who[0] != whom[0]
            for place, (who, since) in enumerate(readers)
            for whom, other in readers[place + 1 :]
        )
        passed = self._passed(now)
        return passed._replace(pairs=passed.pairs + open_pairs)

    def pending_repeats(self) -> int:
        """How many messages may still be delivered again, to the readers or to the next one."""
        if self.found_us is None or self.done is not None:
            return 0
        if not self.reading:
            return self._delivered_from(self.position)
        if len(self.reading) == 1:  # the usual case
            [(position, mine)] = self.reading.values()
            return self._delivered_from(position) - len(mine)
        left, after = BitMap(), len(self.delivered) and self.delivered.max() + 1
        for position, mine in self.reading.values():
            left |= (self.delivered & BitMap(range(position, max(position, after)))) - mine
        return len(left)

    def _delivered_from(self, position: int) -> int:
        after = len(self.delivered) and self.delivered.max() + 1
        return self.delivered.range_cardinality(position, after) if position < after else 0

    def granted(self, now: int, who: Reader, position: int) -> int | None:
        """Begin a lease; returns how long the stream had no reader if another client had it before."""
        gap = None
        if self.latest is not None and self.latest[0] != who[0]:
            gap = 0 if self.latest_end_us is None else max(0, now - self.latest_end_us)
        self._advance(now)
        self.open[who] = now
        self.reading[who] = (position, BitMap())
        self.latest, self.latest_end_us = who, None
        return gap

    def released(self, now: int, who: Reader) -> None:
        """End a lease, if it is open."""
        if who not in self.open:
            return
        self._advance(now)
        since = self.open.pop(who)
        del self.reading[who]
        found = sum(max(since, other) < now and whom[0] != who[0] for whom, other in self.open.items())
        self.totals = self.totals._replace(pairs=self.totals.pairs + found)
        if self.latest == who:
            self.latest_end_us = now

    def found(self, now: int, position: int) -> None:
        """Record that a leader adds the stream, for the first time or again."""
        self.position = position
        self.found_us = now if self.found_us is None else self.found_us
        self.done = None

    def finish(self, now: int) -> None:
        """Record that the stream is read to its end; later instants do not count."""
        self.done = None
        self.done, self.done_us = self.at(now), now

    def _passed(self, now: int) -> Totals:
        span, clients = now - self.since_us, self.clients
        return self.totals._replace(
            covered_us=self.totals.covered_us + span * (clients > 0),
            overlap_us=self.totals.overlap_us + span * (clients > 1),
        )

    def _advance(self, now: int) -> None:
        self.totals, self.since_us = self._passed(now), now


class GroupFigures:
    """The figures of one group since it was first declared.

    `gaps_us` are the gaps of its handovers, in order of length.
    """

    __slots__ = ("streams", "gaps_us", "duplicates", "redeliveries", "gone")

    def __init__(self) -> None:
        self.streams: dict[str, StreamFigures] = {}
        self.gaps_us: list[int] = []
        self.duplicates = self.redeliveries = 0
        self.gone = 0  # number of borrowers that ended

    def stream(self, name: str) -> StreamFigures:
        return self.streams.setdefault(name, StreamFigures())

    def deliver(self, client: str, stream: str, offset: int) -> None:
        one = self.stream(stream)
        for (who, _number), (position, mine) in one.reading.items():
            if who == client and offset >= position:
                mine.add(offset)
        if offset in one.acknowledged:
            self.duplicates += 1
            one.repeated.add(offset)
        elif offset in one.delivered:
            self.redeliveries += 1
        else:
            one.delivered.add(offset)

    def read(self, now: int) -> dict[str, Any]:
        """The figures for the view: those of the summary under its names, and those of this instant."""
        found = [one for one in self.streams.values() if one.found_us is not None]
        totals = [(one, one.at(now), one.found_us or 0) for one in found]
        active = [one for one in found if one.done is None]
        return {
            "duplicates": self.duplicates,
            "redeliveries": self.redeliveries,
            "pending_repeats": sum(one.pending_repeats() for one in found),
            "handovers": len(self.gaps_us),
            "handover_us": percentiles(self.gaps_us),
            "unowned_us": sum(
                max(0, (now if one.done is None else one.done_us) - found_us - total.covered_us)
                for one, total, found_us in totals
            ),
            "two_readers": sum(total.pairs for _one, total, _found_us in totals),
            "two_readers_us": sum(total.overlap_us for _one, total, _found_us in totals),
            "unowned_now": sum(not one.open for one in active),
            "two_readers_now": sum(one.clients > 1 for one in active),
        }


class Figures:
    """The figures of all groups by name.

    A method with the name of a row's writer takes the columns of each such row.
    """

    __slots__ = ("groups",)

    def __init__(self) -> None:
        self.groups: dict[str, GroupFigures] = {}

    def read(self, group: str, at_us: int) -> dict[str, Any] | None:
        """A group's figures as of the newest row; None if it was never declared."""
        return self.groups[group].read(at_us) if group in self.groups else None

    def duplicates_of(self, group: str, stream: str) -> list[list[int]]:
        """The offsets of a stream's duplicates, as the newest ranges [first, after]."""
        one = self.groups[group].streams.get(stream) if group in self.groups else None
        return (
            [] if one is None else [[low, high + 1] for low, high in runs(one.repeated)[-MARKED_RANGES_MAX:]]
        )

    def deliver(self, group: str, client: str, stream: str, offset: int) -> None:
        """Count a message delivered to a client."""
        one = self.groups.get(group)
        if one is not None:
            one.deliver(client, stream, offset)

    def acknowledge(self, group: str, stream: str, offset: int) -> None:
        """Record that a client acknowledged a message."""
        one = self.groups.get(group)
        if one is not None:
            one.stream(stream).acknowledged.add(offset)

    # --- rows

    def group_declared(self, _now: int, *, subscription: str, **_columns: Any) -> None:
        self.groups.setdefault(subscription, GroupFigures())

    def group_destroyed(self, now: int, *, subscription: str) -> None:
        for stream in self.groups[subscription].streams.values():
            if stream.done is None:
                stream.finish(now)

    def stream_found(self, now: int, *, subscription: str, topic: str, entry: int, **_columns: Any) -> None:
        self.groups[subscription].stream(topic).found(now, entry)

    def progress_loaded(
        self, _now: int, *, subscription: str, topic: str, entry: int, **_columns: Any
    ) -> None:
        self.groups[subscription].stream(topic).position = END if entry == NULL else entry

    def progress_saved(
        self, now: int, *, subscription: str, topic: str, to_entry: int, **_columns: Any
    ) -> None:
        stream = self.groups[subscription].stream(topic)
        stream.position = END if to_entry == NULL else to_entry
        if to_entry == NULL:
            stream.finish(now)

    def lease_changed(
        self,
        now: int,
        *,
        subscription: str,
        client: str,
        topic: str,
        count: int,
        entry: int,
        reason: str,
        **_columns: Any,
    ) -> None:
        group = self.groups[subscription]
        if reason != GRANTED:
            group.stream(topic).released(now, (client, count))
            return
        position = END if entry == NULL else entry
        gap = group.stream(topic).granted(now, (client, count), position)
        if gap is not None:
            insort(group.gaps_us, gap)

    def borrower_changed(
        self, now: int, *, subscription: str, client: str, count: int, reason: str, **_columns: Any
    ) -> None:
        if subscription not in self.groups:
            return
        self.groups[subscription].gone += reason == GONE
        if reason in (GONE, UNSUBSCRIBING):
            for stream in self.groups[subscription].streams.values():
                stream.released(now, (client, count))


class RowsWithFigures(EmqxRows):
    """Writes the rows of EMQX, and updates the figures by those that `Figures` has a method for."""

    __slots__ = ()

    system: ClusterState


def _with_figures(name: str) -> Callable[..., int]:
    read, write = getattr(Figures, name), getattr(EmqxRows, name)

    def written(self: RowsWithFigures, cause: int, **columns: Any) -> int:
        read(self.system.figures, self.system.now_us, **columns)
        return write(self, cause, **columns)

    return written


for _name in vars(EmqxRows):
    if hasattr(Figures, _name) and not _name.startswith("_"):
        setattr(RowsWithFigures, _name, _with_figures(_name))
