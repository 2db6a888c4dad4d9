"""The output of admin tools at the instant shown, kept while the world does not move.

Many viewers request the same output. Rules: an answer belongs to one instant of one branch. When the world
has moved all are dropped, so at most one per tool, cluster and topic is held.
"""

from __future__ import annotations

from typing import Any

from simulator import AdminError
from visualizer.labs.work import Work
from visualizer.live.wire import Refused

Question = tuple[str, str, str]
"""A request: (tool, cluster, topic)."""


class Printouts:
    """Answers at the current instant."""

    def __init__(self) -> None:
        self._instant: tuple[int, int, int] | None = None
        self._answers: dict[Question, dict[str, Any]] = {}

    def ask(self, world: Any, question: Question) -> Work:
        """The answer of `World.admin`, computed in slices when it is not kept. Raises Refused."""
        instant = (world.branch, world.seq, world.now_us)
        if instant != self._instant:
            self._instant, self._answers = instant, {}
        if question not in self._answers:
            try:
                answer = yield from world.begin_admin(*question)
            except AdminError as error:
                raise Refused("not-found", str(error), error.hint) from None
            self._answers[question] = answer
        return self._answers[question]
