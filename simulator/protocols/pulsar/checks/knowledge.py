"""What all checks share: every log and every cursor, as of the stretch being read."""

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
        """Independent knowledge of the same rows."""
        copy = Knowledge()
        copy.logs, copy.cursors = self.logs.copy(), self.cursors.copy()
        return copy

    def read(self, stretch: Stretch) -> None:
        """Take in the stretch's rows."""
        self.logs.read(stretch)
        self.cursors.read(stretch)
