"""What operators' tools print at the instant shown, kept while the lab stands there: many viewers ask the
same.

Rules: an answer belongs to one instant of one branch; when the world has moved all are forgotten, so at most
one per tool, cluster and topic is held.
"""

from __future__ import annotations

from typing import Any

from simulator import AdminError
from visualizer.labs.work import Work
from visualizer.live.wire import Refused

Question = tuple[str, str, str]
"""(tool, cluster, topic)"""


class Printouts:
    """Answers of the present instant."""

    def __init__(self) -> None:
        self._instant: tuple[int, int, int] | None = None
        self._answers: dict[Question, dict[str, Any]] = {}

    def ask(self, world: Any, question: Question) -> Work:
        """The answer as `World.admin` gives it, made in pieces when it is not there. Raises `Refused`."""
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
