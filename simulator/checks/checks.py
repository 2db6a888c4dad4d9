"""The checks of a run, in order, reading its trace as it grows.

To add a check: a subclass of `Check` with its claim, in the file of its subject in its protocol's `checks/`,
one line in the list that the manifest names, one section in `docs/checks.md`, and in the tests a run that
passes and a mutation of a rule that the check names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simulator.checks.check import Violation
from simulator.checks.stretch import Stretch
from simulator.protocols.table import claims, protocol_of
from simulator.scenarios.model import Scenario
from simulator.trace.trace import BLOCK_ROWS, Trace

CLAIMS: tuple[str, ...] = claims()
"""Every claim in order: the values of `Violation.claim`."""


class Checks:
    """The reader of one branch's trace for all checks; `position` is the first row not read yet.

    Reading whole blocks of the trace costs a tenth of reading its open end row by row, so a run without a
    viewer reads once per block and at the end.
    """

    def __init__(self, scenario: Scenario) -> None:
        self.position = 0
        self.violations: list[Violation] = []
        declared = protocol_of(scenario).checks
        self._audiences = declared.audiences(scenario)
        self._of_counts = declared.of_counts
        self._known = declared.knowledge()
        self._checks = [check(scenario) for check in declared.of_rows]

    @property
    def claims(self) -> tuple[str, ...]:
        """What is checked: claims about rows, then those about counted failovers."""
        return (*(check.claim for check in self._checks), *(check.claim for check in self._of_counts))

    def read(self, trace: Trace, upto_seq: int | None = None) -> list[Violation]:
        """Read up to row `upto_seq` (excluded; all rows by default) and return the new violations.

        Rows are read once: an `upto_seq` before `position` costs nothing and finds nothing.
        """
        upto_seq = len(trace) if upto_seq is None else min(upto_seq, len(trace))
        found: list[Violation] = []
        while self.position < upto_seq:
            last = min(upto_seq, (self.position // BLOCK_ROWS + 1) * BLOCK_ROWS)
            found += self._read_stretch(Stretch(trace, self.position, last, self._audiences))
            self.position = last
        self.violations += found
        return found

    def _read_stretch(self, stretch: Stretch) -> list[Violation]:
        self._known.read(stretch)
        found = [violation for check in self._checks for violation in check.violations(stretch, self._known)]
        return sorted(found, key=lambda violation: violation.seq)

    def check_counts(self, failovers: Sequence[dict[str, Any]]) -> list[Violation]:
        """Check counted failovers (the summary's).

        The result is not kept: counts change while a window is open.
        """
        return [
            Violation(check.claim, max(self.position - 1, 0), at_us, reason)
            for check in self._of_counts
            for at_us, reason in check.broken(failovers)
        ]

    # --- seek and fork

    def copy(self) -> Checks:
        """Independent checks at the same place; the cost does not grow with the rows read."""
        copy = object.__new__(Checks)
        copy._take(self)
        return copy

    def capture(self) -> Checks:
        """An unchanging copy of the present state, for `restore`."""
        return self.copy()

    def restore(self, captured: Checks) -> None:
        """Go to a captured state, which can be used again."""
        self._take(captured)

    def _take(self, other: Checks) -> None:
        self.position = other.position
        self.violations = list(other.violations)
        self._audiences = other._audiences
        self._of_counts = other._of_counts
        self._known = other._known.copy()
        self._checks = [check.copy() for check in other._checks]
