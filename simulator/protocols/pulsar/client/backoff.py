"""Backoff of a client or replicator that could not connect: 100 ms, doubled up to 60 s (`Backoff`)."""

from __future__ import annotations

FIRST_US, MAX_US = 100_000, 60_000_000
JITTER_PERCENT = 5
_DOUBLINGS = MAX_US.bit_length()  # from this number on the wait is the maximum for any initial value


def wait_us(retries: int) -> int:
    """Time to the next attempt after this many failed ones."""
    return min(FIRST_US << min(retries, _DOUBLINGS), MAX_US)


def jittered_wait_us(retries: int, drawn: int) -> int:
    """The same, up to `JITTER_PERCENT` longer or shorter by a random number."""
    wait = wait_us(retries)
    spread_us = 2 * wait * JITTER_PERCENT // 100
    return wait + drawn % (spread_us + 1) - spread_us // 2
