"""The violation of a claim, as a check reports it."""

from __future__ import annotations

from dataclasses import dataclass

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
