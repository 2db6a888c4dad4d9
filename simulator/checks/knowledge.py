"""What the checks of one run share: each protocol has its own, read once per stretch for all of them."""

from __future__ import annotations

from simulator.checks.stretch import Stretch


class NoKnowledge:
    """For checks that have nothing in common."""

    __slots__ = ()

    def copy(self) -> NoKnowledge:
        return self

    def read(self, stretch: Stretch) -> None:
        """Nothing to take in."""
