"""The problems of a scenario, all at once, each with its place and what would be right.

Rules: reading never stops at the first problem. A problem states what is wrong and, after it, what would be
right. The first `MOST_PROBLEMS` are kept with their texts, the others are counted. Counting is cheap, so the
answer for a text with thousands of problems is as fast and as short as any other.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

LISTED_CHOICES = 40
"""The most names printed in "one of …"; with more, only the closest is suggested."""

MOST_PROBLEMS = 100
"""The most problems listed: more than one fixes at once."""

LONGEST_WHAT, LONGEST_RIGHT = 300, 1_200
"""The most characters of each text of a problem; what would be right may list forty names.

A quoted value is cut off.
"""


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem.

    `line` and `column` count from 1; both are None for what was not read from a file (`--set`).
    """

    source: str
    line: int | None
    column: int | None
    path: str  # dotted path into the scenario, "" for the whole of it
    what: str
    right: str
    # bad-value | unknown-name | unknown-argument | missing-argument | unknown-command
    code: str = "bad-value"

    def __post_init__(self) -> None:
        for name, most in (
            ("source", LONGEST_WHAT),
            ("path", LONGEST_WHAT),
            ("what", LONGEST_WHAT),
            ("right", LONGEST_RIGHT),
        ):
            text = str(getattr(self, name))
            object.__setattr__(self, name, text if len(text) <= most else f"{text[: most - 1]}…")

    def __str__(self) -> str:
        place = self.source if self.line is None else f"{self.source}:{self.line}:{self.column}"
        subject = f"{self.path}: " if self.path else ""
        right = f"; {self.right}" if self.right else ""
        return f"{place}: {subject}{self.what}{right}"


class Problems:
    """The problems of one reading, in the order in which they were found.

    Its length counts all of them, also those that are not kept.
    """

    def __init__(self, problems: Iterable[Problem] = ()) -> None:
        self.kept: list[Problem] = []
        self.more = 0
        self.extend(problems)

    def __len__(self) -> int:
        return len(self.kept) + self.more

    def __iter__(self) -> Iterator[Problem]:
        return iter(self.kept)

    @property
    def full(self) -> bool:
        """Whether the next problem is only counted."""
        return len(self.kept) >= MOST_PROBLEMS

    def append(self, problem: Problem) -> None:
        if self.full:
            self.more += 1
        else:
            self.kept.append(problem)

    def extend(self, problems: Iterable[Problem]) -> None:
        for problem in problems:
            self.append(problem)
        self.more += getattr(problems, "more", 0)


class ScenarioError(ValueError):
    """The scenario cannot be used, and nothing was run.

    `problems` are the first `MOST_PROBLEMS` in the order of the file. When there are more, a last one gives
    the number of the others. `count` is the number of all.
    """

    def __init__(self, problems: Iterable[Problem]) -> None:
        found = problems if isinstance(problems, Problems) else Problems(problems)
        assert found.kept, "a ScenarioError needs at least one problem"
        self.count, self.more, self.kept = len(found), found.more, tuple(found)
        last = (
            (
                Problem(
                    found.kept[0].source,
                    None,
                    None,
                    "",
                    f"and {found.more:,} more problems",
                    "fix those above first",
                ),
            )
            if found.more
            else ()
        )
        self.problems: tuple[Problem, ...] = (*found, *last)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class Wrong(Exception):
    """Raised inside the reader for one value; a caller that has its place turns it into a Problem."""

    def __init__(self, what: str, right: str | Suggestion, code: str = "bad-value") -> None:
        super().__init__(what)
        self.what, self.right, self.code = what, right, code


class Suggestion:
    """The names that would be right instead of a word.

    They are searched for only when printed: with thousands of problems most never are.
    """

    __slots__ = ("_known", "_word")

    def __init__(self, word: object, known: Iterable[str]) -> None:
        self._word, self._known = word, tuple(known)

    def __str__(self) -> str:
        names = sorted(self._known)
        if not names:
            return "none is declared"
        close = difflib.get_close_matches(str(self._word)[:LONGEST_WHAT], names, n=1, cutoff=0.6)
        if close:
            return f"did you mean {close[0]}?"
        if len(names) == 1:
            return f"the only one is {names[0]}"
        return (
            "one of " + ", ".join(names)
            if len(names) <= LISTED_CHOICES
            else f"{len(names)} names are known, none is close"
        )


def suggestion(word: object, known: Iterable[str]) -> Suggestion:
    """The suggestion for `word`: the closest known name, or all of them when they are few."""
    return Suggestion(word, known)


def read_all(*readers: Callable[[], Any]) -> list[Any]:
    """The results of all readers, in order; raises ScenarioError with the problems of all of them."""
    given: list[Any] = []
    problems = Problems()
    for read in readers:
        try:
            given.append(read())
        except ScenarioError as error:
            problems.extend(error.kept)
            problems.more += error.more
    if problems:
        raise ScenarioError(problems)
    return given
