"""State shared by all checks: every log and every cursor, as of the stretch being read."""

from __future__ import annotations

from simulator.checks.stretch import Stretch
from simulator.protocols.pulsar.checks.cursors import Cursors
from simulator.protocols.pulsar.checks.logs import Logs


class Knowledge:
    """Reads a stretch once for all checks."""

    __slots__ = ("logs", "cursors")

    def __init__(self) -> None:
        self.logs = Logs()
        self.cursors = Cursors()

    def copy(self) -> Knowledge:
        """An independent copy at the same row."""
        copy = Knowledge()
        copy.logs, copy.cursors = self.logs.copy(), self.cursors.copy()
        return copy

    def read(self, stretch: Stretch) -> None:
        """Add the stretch's rows."""
        self.logs.read(stretch)
        self.cursors.read(stretch)
