"""A question about a lab, declared once at the function that answers it.

`@question(path)` gives the address below the lab's. The parameters after `session` are the arguments: their
types carry the bounds, their defaults are those of the query string, and the docstring's first sentence
describes the address in the OpenAPI document. Rules: nothing else may be asked, and numbers and texts are
checked here whatever their source (path, query string, another process). Whether a row or topic exists is
checked where the lab runs.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_type_hints

from visualizer.labs.work import Work
from visualizer.live.json_reader import is_text
from visualizer.live.wire import LATEST_US, LONGEST_NAME, Refused

if TYPE_CHECKING:
    from django.http import QueryDict

HIGHEST_LEVEL = 8
"""Level of the coarsest tiles. One of them covers 33 million entries, and a lab holds fewer rows."""

HIGHEST_TILE = 1 << 24
"""Highest index of a tile: at level 0 that many tiles cover 8.6 billion entries.

It is exact in JavaScript and in 64 bits at every level.
"""

HIGHEST_NUMBER = 1_000_000
"""Highest number of a branch or of a failover. A lab has far fewer."""

ROWS_LIMIT = 2_000
"""Most rows of one answer: about a megabyte."""

MESSAGES_LIMIT = 200
"""Most messages of a failover in one answer."""

CLIENTS = 32
"""Most sessions in one diagram of messages between nodes."""

LONGEST_TEXT = 3 * LONGEST_NAME + 2
"""Most characters of a text argument. The longest is `from/to/topic`."""

DIGITS = len(str(LATEST_US))
"""Most digits of a number. Python itself refuses to read more than 4,300."""


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument: its type, its bounds, and whether it is optional (None)."""

    kind: type
    high: int = LATEST_US
    optional: bool = False
    many: int = 0  # a list of at most so many
    low: int = 0

    def problem(self, value: Any) -> str:
        """What would be right instead of `value`; empty when it is valid."""
        if value is None:
            return "" if self.optional else f"Give {self.says}."
        if self.many:
            good = isinstance(value, list) and len(value) <= self.many and all(map(self._fits, value))
        else:
            good = self._fits(value)
        return "" if good else f"Give {self.says}."

    @property
    def says(self) -> str:
        if self.kind is int:
            return f"a whole number from {self.low} to {self.high}"
        words = "true or false" if self.kind is bool else f"text of at most {LONGEST_TEXT} characters"
        return f"a list of at most {self.many}, each {words}" if self.many else words

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of a value, for the OpenAPI document."""
        if self.kind is int:
            single: dict[str, Any] = {"type": "integer", "minimum": self.low, "maximum": self.high}
        elif self.kind is bool:
            single = {"type": "boolean"}
        else:
            single = {"type": "string", "maxLength": LONGEST_TEXT}
        return {"type": "array", "items": single, "maxItems": self.many} if self.many else single

    def _fits(self, value: Any) -> bool:
        if type(value) is not self.kind:
            return False
        if isinstance(value, str):
            return len(value) <= LONGEST_TEXT and is_text(value)
        return isinstance(value, bool) or (isinstance(value, int) and self.low <= value <= self.high)


Whole = Annotated[int, Argument(int)]
"""The number of a row, a marker, a message or an entry, or an instant, us."""

Text = Annotated[str, Argument(str)]

Flag = Annotated[bool, Argument(bool)]

Number = Annotated[int, Argument(int, HIGHEST_NUMBER)]
"""The number of a branch or of a failover."""


@dataclass(frozen=True, slots=True)
class Question:
    """What may be asked about a lab: the address, the arguments, and the function that answers."""

    name: str
    path: str  # below the lab's address; empty when only processes of the server ask
    answer: Callable[..., Work]
    arguments: dict[str, Argument]
    defaults: dict[str, Any]
    counts: bool  # may take seconds in a long run: the page shows that it is running
    full: str  # text of an answer that can never change, so that browsers may cache it

    def read(self, query: QueryDict, in_path: dict[str, Any]) -> dict[str, Any]:
        """The arguments of a request. Raises Refused for text that is no number."""
        return in_path | {name: self._given(query, name) for name in self.arguments if name not in in_path}

    def _given(self, query: QueryDict, name: str) -> Any:
        argument, text = self.arguments[name], query.get(name, "")
        if argument.many:
            return query.getlist(name)
        if not text:
            return self.defaults.get(name, "")
        if argument.kind is bool:
            return text != "0"
        return number_in(text, name) if argument.kind is int else text


QUESTIONS: dict[str, Question] = {}
"""Every question by its name; `visualizer.questions.queries` imports the modules that declare them."""


def question(path: str, *, counts: bool = False, full: str = "") -> Callable[[Answer], Answer]:
    """Declare the function as the answer to a question. The name is the function's, with dashes."""

    def declare(answer: Answer) -> Answer:
        name = answer.__name__.replace("_", "-")
        parameters = list(inspect.signature(answer).parameters.values())[1:]
        hints = get_type_hints(answer, localns={"Session": object, "Work": object}, include_extras=True)
        QUESTIONS[name] = Question(
            name,
            path,
            answer,
            {one.name: _argument(hints[one.name]) for one in parameters},
            {one.name: one.default for one in parameters if one.default is not inspect.Parameter.empty},
            counts,
            full,
        )
        return answer

    return declare


Answer = Callable[..., Work]


def _argument(hint: Any) -> Argument:
    """The argument of an annotated type, optional when it may be None."""
    if hasattr(hint, "__metadata__"):
        return hint.__metadata__[0]
    [annotated] = [one for one in get_args(hint) if one is not type(None)]
    return replace(annotated.__metadata__[0], optional=True)


def check_arguments(what: str, given: Mapping[str, Any]) -> None:
    """Raise Refused unless the question exists and every argument is within its bounds."""
    asked = QUESTIONS.get(what)
    if asked is None:
        raise Refused(
            "bad-argument", f"There is no question {shown(what)}.", f"Questions are {', '.join(QUESTIONS)}."
        )
    known = asked.arguments
    if set(given) != set(known):
        raise Refused(
            "bad-argument",
            f"{what} takes {', '.join(known) or 'no arguments'}.",
            "Server processes of different versions may be running; restart the older one.",
        )
    for name, argument in known.items():
        problem = argument.problem(given[name])
        if problem:
            raise Refused("bad-argument", f"{name} is {shown(given[name])}.", problem)


def number_in(text: str, name: str) -> int:
    """The whole number in a path or a query string.

    Raises Refused. `check_arguments` checks its range.
    """
    if not text.isascii() or not text.isdigit() or len(text) > DIGITS:
        raise Refused(
            "bad-argument", f"{name} is {shown(text)}.", f"Give a whole number from 0 to {LATEST_US}."
        )
    return int(text)


def shown(value: Any) -> str:
    """A value as a refusal quotes it."""
    text = (
        ascii(value)
        if not isinstance(value, int) or abs(value) <= LATEST_US
        else "a number that is too large"
    )
    return text if len(text) <= 60 else f"{text[:57]}…"


def require_window(from_us: int, to_us: int) -> None:
    """Raise Refused unless the window ends after it begins."""
    if to_us <= from_us:
        raise Refused(
            "bad-argument",
            f"The window ends at {to_us} and begins at {from_us}.",
            "to_us must be later than from_us.",
        )
