"""What a check reports when its claim is broken."""

from __future__ import annotations

from dataclasses import dataclass

REPORTED_PER_CLAIM = 20
"""Violations reported for one claim: a broken rule breaks it at every message, and the first ones explain
it.
"""


@dataclass(frozen=True, slots=True)
class Violation:
    """A claim that does not hold: the row at which it broke, its instant, and the conflicting facts in
    words.
    """

    claim: str
    seq: int
    at_us: int
    reason: str
