"""The checks of one branch, which read its trace as it grows.

Rules: a whole block is read as soon as it is sealed, the open end only when the result is requested. A
capture at every block lets a new branch continue from there instead of reading the past again. At an earlier
instant of the branch no row is read twice.
"""

from __future__ import annotations

from simulator.checks.check import Violation
from simulator.checks.checks import Checks
from simulator.scenarios.model import Scenario
from simulator.trace.trace import BLOCK_ROWS, Trace


class LiveChecks:
    """Checks of one branch."""

    def __init__(self, scenario: Scenario, begun: Checks | None = None) -> None:
        self._scenario = scenario
        self._checks = begun if begun is not None else Checks(scenario)
        self._captures: list[Checks] = [self._checks.capture()]

    def read_sealed(self, trace: Trace) -> None:
        """Read the blocks that were completed since the last time."""
        while self._checks.position // BLOCK_ROWS < trace.length // BLOCK_ROWS:
            self._read(trace, self._block_end())

    def unread_rows(self, upto_seq: int) -> int:
        """Rows before `upto_seq` that the checks have not read."""
        return max(0, upto_seq - self._checks.position)

    def read_on(self, trace: Trace, upto_seq: int, rows: int) -> None:
        """Read at most `rows` more rows before `upto_seq`; a branch begins up to a block behind."""
        self._read(trace, min(upto_seq, self._checks.position + rows, self._block_end()))

    def violations(self, trace: Trace, upto_seq: int) -> list[Violation]:
        """Broken claims in the rows before `upto_seq`, in order."""
        self.read_sealed(trace)
        self._checks.read(trace, upto_seq)
        return [violation for violation in self._checks.violations if violation.seq < upto_seq]

    def _block_end(self) -> int:
        return (self._checks.position // BLOCK_ROWS + 1) * BLOCK_ROWS

    def _read(self, trace: Trace, upto_seq: int) -> None:
        """Read on within a block and keep a capture at its end."""
        self._checks.read(trace, upto_seq)
        if self._checks.position > self._captures[-1].position and self._checks.position % BLOCK_ROWS == 0:
            self._captures.append(self._checks.capture())

    def branched(self, seq: int) -> LiveChecks:
        """The checks of a branch that begins at `seq`, from the nearest capture before it."""
        nearest = next(capture for capture in reversed(self._captures) if capture.position <= seq)
        return LiveChecks(self._scenario, nearest.copy())
