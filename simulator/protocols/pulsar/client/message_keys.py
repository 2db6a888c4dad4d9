"""How a delivered message and its ack are named between client and broker."""

from __future__ import annotations

from typing import NamedTuple

Place = tuple[str, str]
"""(cluster, topic): a client that looks up its broker may hold messages of one topic from two clusters."""


class MessageKey(NamedTuple):
    """Names a message for a client; `batch_index` is NULL where the entry is not a batch."""

    place: Place
    index: int  # type: ignore[assignment]  # hides tuple.index, which nobody calls
    batch_index: int


About = tuple[int, int, int, int, int, int, int, int, int]
"""The columns of every row about a delivery: cluster, topic, subscription, client, producer, sequence_id,
ledger, entry, batch_index
"""

Ack = tuple[int, int, int, int, About]
"""(index, batch_index or NULL, seq of the ack's row, message number, what its rows share)"""
