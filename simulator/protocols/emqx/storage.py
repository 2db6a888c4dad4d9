"""Durable storage of messages: shards, generations, and streams that grow until they are closed.

Rules: a stream holds the messages of one topic in one shard and generation, in order of storing. A message
without a matching durable route is not kept: if it has a direct route, of an in-memory session, it is in a
stream that only such sessions read. A new generation closes the streams of the one before. Storage is always
available and every node reads the same: a network cut or a crash has no effect (docs/fidelity.md).
"""

from __future__ import annotations

from bisect import bisect_left

from simulator.log.ledgers import SharedColumn
from simulator.protocols.emqx.ranks import Rank
from simulator.protocols.emqx.scenario.mqtt_topics import matches

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
