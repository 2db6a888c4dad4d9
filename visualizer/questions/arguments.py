"""Arguments of the questions about a lab, with their bounds: the only check before they reach a lab.

Rules: every question of `visualizer.questions.queries` has an entry with every argument that its function
takes (a test compares both). Numbers are checked here whatever their source (path, query string, another
process), and text is bounded. Whether a row or topic exists is checked where the lab runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from visualizer.live.json_reader import is_text
from visualizer.live.wire import LATEST_US, LONGEST_NAME, Refused

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

    def _fits(self, value: Any) -> bool:
        if type(value) is not self.kind:
            return False
        if isinstance(value, str):
            return len(value) <= LONGEST_TEXT and is_text(value)
        return isinstance(value, bool) or (isinstance(value, int) and self.low <= value <= self.high)


SEQ = Argument(int)
INSTANT = Argument(int)
TEXT = Argument(str)
NUMBER = Argument(int, HIGHEST_NUMBER)
OPTIONAL_SEQ = Argument(int, optional=True)
OPTIONAL_TEXT = Argument(str, optional=True)

ARGUMENTS: dict[str, dict[str, Argument]] = {
    "rows": {
        "first": SEQ,
        "last": OPTIONAL_SEQ,
        "control": Argument(bool),
        "limit": Argument(int, ROWS_LIMIT, low=1),
    },
    "events": {},
    "row": {"seq": SEQ},
    "cone": {"seq": OPTIONAL_SEQ, "producer": OPTIONAL_TEXT, "number": OPTIONAL_SEQ, "marker": OPTIONAL_SEQ},
    "curve": {"from_us": INSTANT, "to_us": INSTANT},
    "passages": {"from_us": INSTANT, "to_us": INSTANT},
    "node-messages": {
        "group": TEXT,
        "clients": Argument(str, many=CLIENTS),
        "from_us": INSTANT,
        "to_us": INSTANT,
    },
    "latest": {"group": TEXT, "client": TEXT, "stream": TEXT, "after": SEQ},
    "landmarks": {},
    "marker": {"number": SEQ},
    "summary": {},
    "admin": {"tool": TEXT, "cluster": TEXT, "topic": TEXT},
    "inputs": {},
    "branches": {},
    "trace-head": {},
    "tile": {
        "branch": NUMBER,
        "cluster": TEXT,
        "topic": TEXT,
        "level": Argument(int, HIGHEST_LEVEL),
        "index": Argument(int, HIGHEST_TILE),
    },
    "why-duplicates": {},
    "messages": {
        "failover": NUMBER,
        "kind": TEXT,
        "cause": TEXT,
        "first": SEQ,
        "limit": Argument(int, MESSAGES_LIMIT, low=1),
    },
    "story": {
        "failover": NUMBER,
        "kind": TEXT,
        "place": OPTIONAL_SEQ,
        "producer": OPTIONAL_TEXT,
        "number": OPTIONAL_SEQ,
    },
    "what-if": {},
    "tour": {},
    "forecast": {"subscription": TEXT, "topic": TEXT, "after_us": INSTANT},
    "creation": {"of": OPTIONAL_TEXT},
    "brokers": {},
}
"""The arguments of each question."""


def check_arguments(what: str, given: Mapping[str, Any]) -> None:
    """Raise Refused unless the question exists and every argument is within its bounds."""
    known = ARGUMENTS.get(what)
    if known is None:
        raise Refused(
            "bad-argument", f"There is no question {shown(what)}.", f"Questions are {', '.join(ARGUMENTS)}."
        )
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
