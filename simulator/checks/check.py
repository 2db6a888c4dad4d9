"""The base class of checks: a claim, and how it reads one stretch of the trace.

Rules: a check keeps the state that it needs of earlier rows and reads each stretch once. It reports in any
order, and its result does not depend on how the trace was cut into stretches. It reads rows and the shared
logs, never a protocol's code. `copy` makes an independent check at the same place, at a cost that does not
grow with the length of the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from simulator.checks.stretch import Stretch

if TYPE_CHECKING:
    from simulator.scenarios.model import Scenario


REPORTED_PER_CLAIM = 20
"""The most violations reported for one claim.

A broken rule violates it at every message, and the first ones explain it.
"""


@dataclass(frozen=True, slots=True)
class Violation:
    """A claim that does not hold, with the row and instant of the violation.

    `reason` has the conflicting facts in words.
    """

    claim: str
    seq: int
    at_us: int
    reason: str


class NoKnowledge:
    """The shared state of checks that share nothing.

    Each protocol has its own, read once per stretch for all checks.
    """

    __slots__ = ()

    def copy(self) -> NoKnowledge:
        return self

    def read(self, stretch: Stretch) -> None:
        """Reads nothing."""


class Check:
    """One claim about the trace.

    Subclasses set `claim` and define `begin`, `read` and `copy_into`.
    """

    claim = ""

    def __init__(self, scenario: Scenario) -> None:
        self.reported = 0
        self.begin(scenario)

    def begin(self, scenario: Scenario) -> None:
        """The state before the first row."""

    def read(self, stretch: Stretch, known: Any) -> Iterable[tuple[int, str]]:
        """(seq, reason) of each violation in the stretch; `known` already includes its rows."""
        raise TypeError(f"{type(self).__name__} does not define how it reads the trace")

    def copy_into(self, copy: Self) -> None:
        """Give `copy` an independent copy of what `begin` made."""

    def copy(self) -> Self:
        """An independent check at the same place in the trace."""
        copy = object.__new__(type(self))
        copy.reported = self.reported
        self.copy_into(copy)
        return copy

    def violations(self, stretch: Stretch, known: Any) -> list[Violation]:
        """The violations in the stretch in order of seq, up to the limit for one claim over the run."""
        broken = sorted(self.read(stretch, known))[: REPORTED_PER_CLAIM - self.reported]
        self.reported += len(broken)
        return [Violation(self.claim, seq, stretch.at_us(seq), reason) for seq, reason in broken]


def first_broken(seqs: Iterable[int], describe: Callable[[int], str]) -> list[tuple[int, str]]:
    """The first violations as (seq, reason), up to the limit per claim; `describe(n)` words the n-th one."""
    return [(int(seq), describe(number)) for number, seq in zip(range(REPORTED_PER_CLAIM), seqs)]


def all_broken(seqs: Iterable[int], words: str) -> list[tuple[int, str]]:
    """`first_broken` with the same reason for each."""
    return first_broken(seqs, lambda _number: words)
