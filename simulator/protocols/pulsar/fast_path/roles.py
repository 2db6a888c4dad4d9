"""Protocols by role: what the batched fast path needs of a producer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    pass


class AttemptsOfProducer(Protocol):
    """When a producer next tries a batched stretch (`fast_path.running.StretchAttempts`)."""

    misses: int

    def missed(self, message: int, until_us: int) -> None:
        """Record that no stretch is possible now, nor before that instant."""
