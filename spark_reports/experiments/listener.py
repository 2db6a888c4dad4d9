"""Progress of a sweep, shown by the command line or by the site's worker."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a sweep is. `left_s` is the time left, None before the first measurement."""

    finished: int
    of: int
    failed: int
    left_s: float | None = None

    @property
    def complete(self) -> bool:
        """Whether every run is finished."""
        return self.finished == self.of


class NullListener:
    """Ignores progress and never cancels. Only `tasks` and `left` are called in another thread."""

    def stands(self, standing: Standing) -> None:
        """The sweep has begun, or a round is finished and its results are in the folder."""

    def notice(self, text: str) -> None:
        """Something that a reader should know, in one sentence."""

    def tasks(self, done: int, of: int) -> None:
        """`done` of `of` tasks of the running round are done; called in another thread."""

    def left(self, left_s: float) -> None:
        """Seconds until all is finished, corrected while a round runs; called in another thread."""

    def cancel_wanted(self) -> bool:
        """Whether the sweep should stop; asked twice a second, in another thread."""
        return False
