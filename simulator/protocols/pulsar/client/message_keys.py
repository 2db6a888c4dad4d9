"""Keys of delivered messages and their acks, between client and broker."""

from __future__ import annotations

from typing import Any, NamedTuple

from simulator.kernel.named_tuples import reduce_tuple

Place = tuple[str, str]
"""(cluster, topic): a client with a lookup service may hold a topic's messages of two clusters."""


class MessageKey(NamedTuple):
    """A client's key of a message; `batch_index` is NULL where the entry is not a batch."""

    place: Place
    index: int  # type: ignore[assignment]  # hides tuple.index, which is not used
    batch_index: int

    def __reduce__(self) -> tuple[Any, ...]:
        return reduce_tuple(self)


About = tuple[int, int, int, int, int, int, int, int, int]
"""The columns of every row about a delivery.

They are cluster, topic, subscription, client, producer, sequence_id, ledger, entry, batch_index.
"""

Ack = tuple[int, int, int, int, About]
"""The fields of an ack on its way to the broker.

They are (index, batch_index or NULL, seq of the ack's row, message number, columns that its rows share).
"""
