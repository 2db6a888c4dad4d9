"""What is wrong with a scenario: every problem at once, each with its place and what would be right.

Rules: reading never stops at the first problem; a problem says what is wrong and, after it, what would be right.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

LISTED_CHOICES = 40
"""Names printed in "one of …"; with more, only the closest is suggested."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem. `line` and `column` count from 1; both are None for what was not read from a file (`--set`)."""

    source: str
    line: int | None
    column: int | None
    path: str  # dotted path into the scenario, "" for the whole of it
    what: str
    right: str
    code: str = "bad-value"  # bad-value | unknown-name | unknown-argument | missing-argument | unknown-command

    def __str__(self) -> str:
        place = self.source if self.line is None else f"{self.source}:{self.line}:{self.column}"
        subject = f"{self.path}: " if self.path else ""
        right = f"; {self.right}" if self.right else ""
        return f"{place}: {subject}{self.what}{right}"


class ScenarioError(ValueError):
    """The scenario cannot be used; `problems` holds all of them in the order of the file. Nothing was run."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems: tuple[Problem, ...] = tuple(problems)
        assert self.problems, "a ScenarioError needs at least one problem"
        super().__init__("\n".join(str(problem) for problem in self.problems))


class Wrong(Exception):
    """Raised inside the reader for one value; whoever knows the value's place turns it into a Problem."""

    def __init__(self, what: str, right: str, code: str = "bad-value") -> None:
        super().__init__(what)
        self.what, self.right, self.code = what, right, code


def suggestion(word: object, known: Iterable[str]) -> str:
    """What would be right instead of `word`: the closest known name, and all of them when they are few."""
    names = sorted(known)
    if not names:
        return "none is declared"
    close = difflib.get_close_matches(str(word), names, n=1, cutoff=0.6)
    if close:
        return f"did you mean {close[0]}?"
    if len(names) == 1:
        return f"the only one is {names[0]}"
    return "one of " + ", ".join(names) if len(names) <= LISTED_CHOICES else f"{len(names)} names are known, none is close"


def read_all(*readers: Callable[[], Any]) -> list[Any]:
    """What each reader gives, in their order. Raises ScenarioError with the problems of all of them."""
    given, problems = [], []
    for read in readers:
        try:
            given.append(read())
        except ScenarioError as error:
            problems.extend(error.problems)
    if problems:
        raise ScenarioError(problems)
    return given
