"""The order in which a session reads its private streams: in each shard, generation by generation.

Rules: a private stream waits until all streams of its subscription in the same shard with an earlier
generation are read to their end. Borrowed streams never wait (`emqx_persistent_session_ds_stream_scheduler`).
Nothing is added to a closed generation, so a stream that may be read stays readable.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from simulator.protocols.emqx.reading import Reading
from simulator.protocols.emqx.storage import Storage


def in_turn(reading: Reading, readings: Mapping[int, Reading], storage: Storage) -> bool:
    """Whether a stream may be read now."""
    if reading.borrower is None and not reading.in_turn:
        own = storage.streams[reading.stream].rank.generation
        reading.in_turn = all(
            other.at_end or generation >= own for other, generation in _beside(reading, readings, storage)
        )
    return reading.borrower is not None or reading.in_turn


def next_generations(ended: Reading, readings: Mapping[int, Reading], storage: Storage) -> list[int]:
    """The numbers of the readings that may have waited for this reading, which is at the stream's end."""
    if ended.borrower is not None:
        return []
    own = storage.streams[ended.stream].rank.generation
    return [other.number for other, generation in _beside(ended, readings, storage) if generation > own]


def _beside(
    reading: Reading, readings: Mapping[int, Reading], storage: Storage
) -> Iterator[tuple[Reading, int]]:
    """The other streams of a subscription in the same shard, each with its generation."""
    shard = storage.streams[reading.stream].rank.shard
    for other in readings.values():
        rank = storage.streams[other.stream].rank
        if other is not reading and other.subscription == reading.subscription and rank.shard == shard:
            yield other, rank.generation
