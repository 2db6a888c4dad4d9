"""What a session keeps of one stream that it reads: the chunk in flight, and how far all is acknowledged.

Rules: a chunk is one fetched batch. While a message of it with quality of service 1 or 2 is unacknowledged
the stream is blocked: nothing is fetched and nothing reported. Its begin moves to its end when the last one
is acknowledged, never inside; a chunk of quality 0 alone is done with as soon as it is fetched, though it
still waits to be sent: so it can be lost with its session.
"""

from __future__ import annotations

from simulator.protocols.emqx.protocol import END, BorrowerId


class Reading:
    """`begin` and `end` are the chunk in flight, equal when there is none; `unacked` its offsets that wait
    for an acknowledgement, `unsent` counts what of it is still to be sent, `heavy` what of that has
    quality 1 or 2. `borrower` and `group` None: a private subscription's. `since_seq` is the row that made
    it.
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
        "again",
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
        self.released = False  # it shall be read no further
        self.forgotten = False  # nobody wants to hear of it any more
        self.chunk_seq = since_seq  # the row of the chunk in flight
        self.in_turn = False  # a private one: all of earlier generations is read (`generations.py`)
        self.again = False  # what is in flight was delivered before, by this very session

    @property
    def blocked(self) -> bool:
        """Whether a chunk is in flight that must be acknowledged."""
        return self.heavy > 0 or bool(self.unacked)

    @property
    def busy(self) -> bool:
        """Whether anything of it is to be sent or acknowledged."""
        return self.unsent > 0 or bool(self.unacked)

    @property
    def position(self) -> int:
        """What can be said of it: the end when all is acknowledged, otherwise where the chunk began."""
        return self.begin if self.blocked else self.end

    def finish(self) -> None:
        """The chunk is done with."""
        self.begin = self.end

    @property
    def at_end(self) -> bool:
        return self.end == END
