"""Choices for random scenarios: a sequence of draws of one named stream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from simulator.kernel.random import draw, stream_key

Item = TypeVar("Item")


class Draws:
    """The choices of one thing, such as a command; `name` says which, so that other things keep theirs."""

    def __init__(self, seed: int, name: str) -> None:
        self._key = stream_key(seed, name)
        self._count = 0

    def below(self, end: int) -> int:
        """A number from 0 to `end` - 1."""
        self._count += 1
        return draw(self._key, self._count) % end

    def percent(self, share: int) -> bool:
        """True in `share` of a hundred draws."""
        return self.below(100) < share

    def choice(self, items: Sequence[Item]) -> Item:
        """One of the items."""
        return items[self.below(len(items))]

    def sample(self, items: Sequence[Item], count: int) -> list[Item]:
        """Some of the items, each at most once."""
        left = list(items)
        return [left.pop(self.below(len(left))) for _ in range(count)]
