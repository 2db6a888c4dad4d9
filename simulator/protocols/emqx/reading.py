"""A session's state for one stream that it reads: the chunk in flight and the acknowledged position.

Rules: a chunk is one fetched batch. While a message of it with QoS 1 or 2 is unacknowledged the stream is
blocked: nothing is fetched and nothing reported. The chunk's begin moves to its end when the last message is
acknowledged, never in between. A chunk with QoS 0 only is finished as soon as it is fetched, although its
messages are still to be sent, so it can be lost with its session.
"""

from __future__ import annotations

from simulator.protocols.emqx.protocol import END, BorrowerId
from simulator.protocols.emqx.storage import Stream


class Reading:
    """One stream that a session reads.

    `begin` and `end` are the chunk in flight, equal when there is none. `unacked` are its offsets that wait
    for an acknowledgement. `unsent` counts its messages still to be sent, `heavy` those of them with QoS 1 or
    2. `borrower` and `group` are None for a private subscription. `since_seq` is the row that created it.
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
        self.replaced = False  # a later lease has the session's record of the stream (`resuming.py`)
        self.chunk_seq = since_seq  # the row of the chunk in flight
        self.in_turn = False  # private: all earlier generations are read (`generations.py`)
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
