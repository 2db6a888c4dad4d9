"""Durable storage of messages: shards, generations, and streams that grow until they are closed.

Rules: a stream holds the messages of one topic in one shard and generation, in order of storing. A message
without a matching durable route is not kept: if it has a direct route, of an in-memory session, it is in a
stream that only such sessions read. A new generation closes the streams of the one before. Storage is always
available and every node reads the same: a network cut or a crash has no effect (docs/fidelity.md).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from typing import NamedTuple

from simulator.log.ledgers import SharedColumn
from simulator.protocols.emqx.protocol import END, BorrowerId
from simulator.protocols.emqx.scenario.sections import matches

# --- the streams of a group that are read to their end, as passed generations and marks by shard
#
# Rules: it only decides which streams are not listed again. It holds back no later generation
# (`emqx_ds_shared_sub_leader_rank_progress`). A generation is passed when all its known streams are
# replayed, except the last known generation, in which more streams may still appear.


class Rank(NamedTuple):
    shard: int
    generation: int


class RankProgress:
    """The progress of one group.

    `passed` is the highest fully passed generation by shard. `streams` has those seen, by shard and
    generation, each with whether it is replayed.
    """

    __slots__ = ("passed", "streams", "forgets")

    def __init__(self, forgets: bool = False) -> None:
        self.passed: dict[int, int] = {}
        self.streams: dict[int, dict[int, dict[str, bool]]] = {}
        # as shipped: the marks of the last known generation are dropped once all its streams are replayed
        self.forgets = forgets

    def copy(self) -> RankProgress:
        """An independent copy."""
        copy = RankProgress(self.forgets)
        copy.passed = dict(self.passed)
        copy.streams = {
            shard: {generation: dict(streams) for generation, streams in by.items()}
            for shard, by in self.streams.items()
        }
        return copy

    def unread(self, listed: Iterable[tuple[str, Rank]]) -> list[str]:
        """Record the streams that storage lists; returns the names of those that are not replayed."""
        listed = list(listed)
        for name, rank in listed:
            if rank.shard not in self.passed:
                self.passed[rank.shard] = (
                    min(other.generation for _name, other in listed if other.shard == rank.shard) - 1
                )
            if rank.generation > self.passed[rank.shard]:
                self.streams.setdefault(rank.shard, {}).setdefault(rank.generation, {}).setdefault(
                    name, False
                )
        for shard in sorted(self.streams):
            self._advance(shard)
        return [name for name, rank in listed if not self.replayed(name, rank)]

    def replayed(self, name: str, rank: Rank) -> bool:
        """Whether a stream need not be read again."""
        if rank.generation <= self.passed.get(rank.shard, -1):
            return True
        return self.streams.get(rank.shard, {}).get(rank.generation, {}).get(name, False)

    def set_replayed(self, name: str, rank: Rank) -> None:
        """Record that a stream was read to its end."""
        if rank.generation <= self.passed.get(rank.shard, -1):
            return
        self.streams.setdefault(rank.shard, {}).setdefault(rank.generation, {})[name] = True
        self._advance(rank.shard)

    def _advance(self, shard: int) -> None:
        by_generation = self.streams[shard]
        while by_generation:
            first = min(by_generation)
            if not all(by_generation[first].values()):
                return
            if len(by_generation) == 1:  # the last known one
                if self.forgets:
                    del by_generation[first]
                return
            del by_generation[first]
            self.passed[shard] = first


class Reading:
    """One stream that a session reads.

    `begin` and `end` are the chunk in flight, equal when there is none. `unacked` are its offsets that wait
    for an acknowledgement. `unsent` counts its messages still to be sent, `heavy` those of them with QoS 1 or
    2. `borrower` and `group` are None for a private subscription. `since_seq` is the row that created it.

    Rules: a chunk is one fetched batch. While a message of it with QoS 1 or 2 is unacknowledged the stream is
    blocked: nothing is fetched and nothing reported. The chunk's begin moves to its end when the last message
    is acknowledged, never in between. A chunk with QoS 0 only is finished as soon as it is fetched, although
    its messages are still to be sent, so it can be lost with its session.
    """

    __slots__ = (
        "number",
        "subscription",
        "borrower",
        "group",
        "stream",
        "since_seq",
        "begin",
        "end",
        "unsent",
        "heavy",
        "unacked",
        "released",
        "forgotten",
        "replaced",
        "sent",
        "chunk_seq",
        "in_turn",
    )

    def __init__(
        self,
        number: int,
        subscription: int,
        borrower: BorrowerId | None,
        group: str | None,
        stream: str,
        position: int,
        since_seq: int,
    ) -> None:
        self.number, self.subscription, self.borrower, self.group, self.stream, self.since_seq = (
            number,
            subscription,
            borrower,
            group,
            stream,
            since_seq,
        )
        self.begin = self.end = position
        self.unsent = self.heavy = 0
        self.unacked: dict[int, None] = {}
        self.released = False  # it is not read any further
        self.forgotten = False  # its progress is not reported any more
        self.replaced = False  # a later lease has the session's record of the stream (`session.py`)
        self.chunk_seq = since_seq  # the row of the chunk in flight
        self.in_turn = False  # private: all earlier generations are read (`cluster_state.py`)
        self.sent = position  # after the last message handed to the client, also on earlier connections

    @property
    def blocked(self) -> bool:
        """Whether a chunk is in flight that must be acknowledged."""
        return self.heavy > 0 or bool(self.unacked)

    @property
    def busy(self) -> bool:
        """Whether any of its messages is to be sent or acknowledged."""
        return self.unsent > 0 or bool(self.unacked)

    @property
    def position(self) -> int:
        """The position to report: the chunk's end when all is acknowledged, otherwise its begin."""
        return self.begin if self.blocked else self.end

    def skip_to(self, stream: Stream) -> None:
        """Skip what the stream has now."""
        self.begin = self.end = END if stream.closed else stream.length

    def finish(self) -> None:
        """Mark the chunk as finished."""
        self.begin = self.end

    @property
    def at_end(self) -> bool:
        return self.end == END


DIRECT = "$direct/"
"""Before the topic in the names of streams that are not kept; no wildcard filter matches it."""


class Stream:
    """One stream: `messages` are numbers in the message table, `stored_seqs` the rows that stored them.

    `kept` is false if only direct subscriptions read it.
    """

    __slots__ = (
        "name",
        "kept",
        "topic",
        "rank",
        "messages",
        "stored_seqs",
        "instants",
        "length",
        "closed_us",
        "readers",
    )

    def __init__(self, name: str, topic: str, rank: Rank, kept: bool = True) -> None:
        self.name, self.topic, self.rank, self.kept = name, topic, rank, kept
        self.messages, self.stored_seqs, self.instants = SharedColumn(), SharedColumn(), SharedColumn()
        self.length = 0
        self.closed_us: int | None = None
        # (session, reading) that wait for more messages
        self.readers: dict[tuple[str, int], None] = {}

    def append(self, message: int, seq: int, now: int) -> int:
        """Store a message; returns its offset."""
        offset = self.length
        self.messages.append_at(offset, message)
        self.stored_seqs.append_at(offset, seq)
        self.instants.append_at(offset, now)
        self.length = offset + 1
        return offset

    def first_at(self, at_us: int) -> int:
        """The offset of the first message stored at or after an instant."""
        return bisect_left(self.instants, at_us, 0, self.length)

    @property
    def closed(self) -> bool:
        """Whether no more messages are added."""
        return self.closed_us is not None

    @property
    def columns(self) -> tuple[SharedColumn, SharedColumn, SharedColumn]:
        return self.messages, self.stored_seqs, self.instants

    @columns.setter
    def columns(self, given: tuple[SharedColumn, SharedColumn, SharedColumn]) -> None:
        self.messages, self.stored_seqs, self.instants = given


class Storage:
    """All streams by name, in order of creation; `routes` and `direct` count each kind's routes by filter."""

    __slots__ = ("shards", "generation", "streams", "routes", "direct")

    def __init__(self, shards: int) -> None:
        self.shards = shards
        self.generation = 1
        self.streams: dict[str, Stream] = {}
        self.routes: dict[str, int] = {}
        self.direct: dict[str, int] = {}

    def wanted(self, topic: str) -> bool | None:
        """Whether a durable route matches a topic; None when no route at all does."""
        if any(matches(topic, route) for route in self.routes):
            return True
        return False if any(matches(topic, route) for route in self.direct) else None

    def add_route(self, route: str, direct: bool = False) -> None:
        routes = self.direct if direct else self.routes
        routes[route] = routes.get(route, 0) + 1

    def remove_route(self, route: str, direct: bool = False) -> None:
        routes = self.direct if direct else self.routes
        routes[route] -= 1
        if not routes[route]:
            del routes[route]

    def stream_for(self, shard: int, topic: str, kept: bool = True) -> tuple[Stream, bool]:
        """The open stream of a topic in a shard, and whether it is new."""
        name = f"{shard}/{self.generation}/{'' if kept else DIRECT}{topic}"
        stream = self.streams.get(name)
        if stream is not None:
            return stream, False
        stream = self.streams[name] = Stream(name, topic, Rank(shard, self.generation), kept)
        return stream, True

    def listed(self, wanted: str, since_us: int, direct: bool = False) -> list[tuple[str, Rank]]:
        """The streams under a filter, without generations that ended before an instant.

        A `direct` subscription reads those that are not kept, too.
        """
        return [
            (stream.name, stream.rank)
            for stream in self.streams.values()
            if (stream.kept or direct)
            and (stream.closed_us is None or stream.closed_us > since_us)
            and matches(stream.topic, wanted)
        ]

    def next_generation(self, now: int) -> list[Stream]:
        """Begin a generation in all shards and return the streams that it closes."""
        self.generation += 1
        closed = [stream for stream in self.streams.values() if not stream.closed]
        for stream in closed:
            stream.closed_us = now
        return closed
