"""The streams of a group that are read to their end, as passed generations and marks by shard.

Rules: it only decides which streams are not listed again. It holds back no later generation
(`emqx_ds_shared_sub_leader_rank_progress`). A generation is passed when all its known streams are replayed,
except the last known generation, in which more streams may still appear.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Rank(NamedTuple):
    shard: int
    generation: int


class RankProgress:
    """The progress of one group.

    `passed` is the highest fully passed generation by shard. `known` has the streams seen, by shard and
    generation, each with whether it is replayed.
    """

    __slots__ = ("passed", "known", "forgets")

    def __init__(self, forgets: bool = False) -> None:
        self.passed: dict[int, int] = {}
        self.known: dict[int, dict[int, dict[str, bool]]] = {}
        # as shipped: the marks of the last known generation are dropped once all its streams are replayed
        self.forgets = forgets

    def copy(self) -> RankProgress:
        """An independent copy."""
        copy = RankProgress(self.forgets)
        copy.passed = dict(self.passed)
        copy.known = {
            shard: {generation: dict(streams) for generation, streams in by.items()}
            for shard, by in self.known.items()
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
                self.known.setdefault(rank.shard, {}).setdefault(rank.generation, {}).setdefault(name, False)
        for shard in sorted(self.known):
            self._advance(shard)
        return [name for name, rank in listed if not self.replayed(name, rank)]

    def replayed(self, name: str, rank: Rank) -> bool:
        """Whether a stream need not be read again."""
        if rank.generation <= self.passed.get(rank.shard, -1):
            return True
        return self.known.get(rank.shard, {}).get(rank.generation, {}).get(name, False)

    def set_replayed(self, name: str, rank: Rank) -> None:
        """Record that a stream was read to its end."""
        if rank.generation <= self.passed.get(rank.shard, -1):
            return
        self.known.setdefault(rank.shard, {}).setdefault(rank.generation, {})[name] = True
        self._advance(rank.shard)

    def _advance(self, shard: int) -> None:
        by_generation = self.known[shard]
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
