"""The state that the checks of one run share.

Each protocol has its own, read once per stretch for all checks.
"""

from __future__ import annotations

from simulator.checks.stretch import Stretch


class NoKnowledge:
    """The shared state of checks that share nothing."""

    __slots__ = ()

    def copy(self) -> NoKnowledge:
        return self

    def read(self, stretch: Stretch) -> None:
        """Reads nothing."""
