"""Messages that a page may send, field by field with types and bounds, and how answers are encoded.

Rules: a message that does not fit is refused with a reason. Nothing outside this table reaches a lab. The
engine checks what a `command` contains. Here only its size is bounded. `docs/http-api.md` describes the same
in prose.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from visualizer.live.json_reader import read_json

# --- what a presenter's page shows beyond the frames, with bounds for each field


SHOWN_MOST = 4_000
"""Most characters of what is shown, since every follower gets it: a tenth of an ordinary frame."""

TOUR_STEPS = 99
"""Most steps of a tour that a page may show or answer."""

_LONGEST_TEXT = 200
_LARGEST = 1 << 52
_CHOICES = frozenset({"topic", "subscription", "target", "group"})
_ITEM_FIELDS = 8


def is_shown(value: Any) -> bool:
    """Whether this is what a page may show: only known fields, each within its bounds."""
    if not isinstance(value, dict) or not set(value) <= set(_FIELDS):
        return False
    if not all(part is None or _FIELDS[name](part) for name, part in value.items()):
        return False
    return len(json.dumps(value, ensure_ascii=False)) <= SHOWN_MOST


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= _LONGEST_TEXT


def _is_number(value: Any) -> bool:
    return type(value) is int and 0 <= value <= _LARGEST


def _are_choices(value: Any) -> bool:
    return isinstance(value, dict) and set(value) <= _CHOICES and all(map(_is_text, value.values()))


def _is_lit(value: Any) -> bool:
    """A row, a marker or a message, whose causes and effects are highlighted."""
    if not isinstance(value, dict) or len(value) != 1:
        return False
    message = value.get("message")
    if message is not None:
        return (
            isinstance(message, list)
            and len(message) == 2
            and _is_text(message[0])
            and _is_number(message[1])
        )
    return _is_number(value.get("seq", value.get("marker")))


def _is_item(value: Any) -> bool:
    """The thing that the inspector shows, as the protocol's view names it."""
    return (
        isinstance(value, dict)
        and len(value) <= _ITEM_FIELDS
        and all(map(_is_text, value))
        and all(part is None or _is_text(part) or _is_number(part) for part in value.values())
    )


def is_step(value: Any) -> bool:
    """Whether this is the number of a tour's step."""
    return _is_number(value) and 1 <= value <= TOUR_STEPS


def _is_tour(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and {"step", "asks"} <= set(value) <= {"step", "asks", "reveals", "whole"}
        and is_step(value["step"])
        and isinstance(value["asks"], bool)
        and (value.get("reveals") is None or is_step(value["reveals"]))
        and isinstance(value.get("whole", False), bool)
    )


_FIELDS: dict[str, Callable[[Any], bool]] = {
    "panel": _is_text,
    "choices": _are_choices,
    "lit": _is_lit,
    "item": _is_item,
    "mark": _is_text,
    "tour": _is_tour,
}


WIRE_VERSION = 2

MESSAGE_LIMIT = 65_536
"""Most characters of one message from a page. A command with a thousand message names has 20,000."""

LATEST_US = 1 << 52
"""Latest instant that a message may name: 142 simulated years, which is exact in JavaScript."""

SLOWEST, FASTEST = 0.0001, 1000.0
"""Lowest and highest speed: simulated seconds per second of wall time."""

LONGEST_NAME = 200
MOST_ARGUMENTS = 20
MOST_ITEMS = 1000
DEEPEST = 3

FILTER_WORDS = ("everything", "control")


def problems_counted(count: int) -> str:
    """How many problems a text has, in words."""
    return "1 problem" if count == 1 else f"{count:,} problems"


class Refused(Exception):
    """A request that is refused: `code`, what is wrong, what would be right."""

    def __init__(self, code: str, error: str, hint: str) -> None:
        super().__init__(error)
        self.code, self.error, self.hint = code, error, hint

    def answer(self) -> dict[str, Any]:
        return {"type": "error", "code": self.code, "error": self.error, "hint": self.hint}


def json_object(body: bytes, example: str) -> dict[str, Any]:
    """The JSON object of a request's body.

    Raises Refused, with `example` as what would be right.
    """
    try:
        read = read_json(body)
    except ValueError as error:
        raise Refused("bad-json", f"The body is not JSON: {error}.", f"Send {example}.") from error
    if not isinstance(read, dict):
        raise Refused("bad-json", "The body is not an object.", f"Send {example}.")
    return read


def encode(message: dict[str, Any]) -> str:
    """Encode a message as compact JSON.

    An infinity raises ValueError, since browsers refuse it.
    """
    return json.dumps(message, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def decode(text: str | None) -> dict[str, Any]:
    """Check a message of a page, with its fields as declared below. Raises Refused."""
    if text is None:
        raise Refused("bad-json", "The message is binary.", "Send JSON as text.")
    if len(text) > MESSAGE_LIMIT:
        raise Refused(
            "too-long", f"The message has {len(text):,} characters.", f"At most {MESSAGE_LIMIT:,} are taken."
        )
    try:
        message = read_json(text)
    except ValueError as error:
        raise Refused(
            "bad-json", f"The message is not JSON: {error}.", 'Send one object, such as {"type":"pause"}.'
        ) from error
    if not isinstance(message, dict):
        raise Refused(
            "bad-json", "The message is not an object.", 'Send one object, such as {"type":"pause"}.'
        )
    kind = message.pop("type", None)
    if not isinstance(kind, str) or kind not in INBOUND:
        raise Refused(
            "unknown-type", f"There is no message of type {_shown(kind)}.", f"Types are {', '.join(INBOUND)}."
        )
    return {"type": kind, **checked(kind, message)}


def _shown(value: Any) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= 60 else text[:57] + "…"


def checked(kind: str, given: dict[str, Any]) -> dict[str, Any]:
    """The fields of a message of this type, as declared below. Raises Refused."""
    fields, required = INBOUND[kind]
    for name in given:
        if name not in fields:
            known = ", ".join(fields) or "none"
            raise Refused("bad-message", f"{kind} has no field {_shown(name)}.", f"Its fields: {known}.")
    taken = {}
    for name, (test, words) in fields.items():
        value = given.get(name)
        if value is None and name not in required:
            continue
        if not test(value):
            raise Refused("bad-message", f"{name} of {kind} is {_shown(value)}.", f"It is {words}.")
        taken[name] = value
    if kind == "seek" and ("at_us" in taken) == ("seq" in taken):
        raise Refused(
            "bad-message", "seek names an instant by at_us, or a row by seq.", "Give exactly one of them."
        )
    return taken


def _whole(low: int, high: int) -> tuple[Callable[[Any], bool], str]:
    return (lambda value: type(value) is int and low <= value <= high), f"a whole number from {low} to {high}"


def _matches(pattern: re.Pattern[str]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and value.isascii() and bool(pattern.fullmatch(value))


def _is_speed(value: Any) -> bool:
    return type(value) in (int, float) and SLOWEST <= value <= FASTEST


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= LONGEST_NAME


def _is_identifier(value: Any) -> bool:
    return _is_name(value) or (type(value) is int and 0 <= value <= LATEST_US)


def _is_filter(value: Any) -> bool:
    if isinstance(value, str):
        return value in FILTER_WORDS
    if not isinstance(value, dict) or len(value) != 1:
        return False
    if "subscription" in value:
        return _is_name(value["subscription"])
    message = value.get("message")
    return (
        isinstance(message, list)
        and len(message) == 2
        and _is_name(message[0])
        and type(message[1]) is int
        and 0 <= message[1] <= LATEST_US
    )


def _is_command(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and _is_name(value.get("do"))
        and len(value) <= MOST_ARGUMENTS
        and _is_bounded(value, DEEPEST)
    )


def _is_bounded(value: Any, depth: int) -> bool:
    """Whether the value is plain JSON of bounded size, as the engine may receive it."""
    if value is None or isinstance(value, bool):
        return True
    if isinstance(value, int | float):
        return abs(value) <= LATEST_US
    if isinstance(value, str):
        return len(value) <= LONGEST_NAME
    if depth == 0 or len(value) > MOST_ITEMS:
        return False
    parts = value if isinstance(value, list) else [*value, *value.values()]
    return all(_is_bounded(part, depth - 1) for part in parts)


_TEXT = (_is_name, f"text of at most {LONGEST_NAME} characters")
_SPEED = (_is_speed, f"a number from {SLOWEST} to {FASTEST:.0f}")
_INSTANT = _whole(0, LATEST_US)
_FILTER = (_is_filter, '"everything", "control", {"message": [producer, number]} or {"subscription": name}')
_COMMAND = (
    _is_command,
    f'an object with "do" and at most {MOST_ARGUMENTS} arguments, lists of at most {MOST_ITEMS}',
)
_FLAG = (lambda value: isinstance(value, bool), "true or false")
_IDENTIFIER = (_is_identifier, "text or a whole number that is returned with the result")
_EPOCH = _whole(-1, LATEST_US)
_SHOWN = (
    is_shown,
    f"an object with panel, choices, lit, item, mark and tour as docs/http-api.md describes them, "
    f"at most {SHOWN_MOST:,} characters",
)

PAGE_NAME = re.compile(r"[a-p]{12}")
"""The name that a page makes for itself: random letters, which say nothing about who uses it."""

GUESS = re.compile(r"\d{1,9}|\d{1,12}:-?\d{1,12}")
"""A prediction: a whole number, or a position as ledger:entry."""

_PAGE_NAME = (_matches(PAGE_NAME), "12 letters from a to p")
_GUESS = (_matches(GUESS), "a whole number, or a position as ledger:entry")

INBOUND: dict[str, tuple[dict[str, tuple[Callable[[Any], bool], str]], frozenset[str]]] = {
    # type: ({field: (test, what it is)}, required fields)
    "hello": ({"token": _TEXT, "epoch": _EPOCH, "number": _EPOCH}, frozenset()),
    "seen": ({"epoch": _EPOCH, "number": _EPOCH}, frozenset({"epoch", "number"})),
    "play": ({"speed": _SPEED, "until_us": _INSTANT}, frozenset()),
    "pause": ({}, frozenset()),
    "speed": ({"speed": _SPEED}, frozenset({"speed"})),
    "seek": ({"at_us": _INSTANT, "seq": _INSTANT, "id": _IDENTIFIER}, frozenset()),
    "step": ({"filter": _FILTER}, frozenset()),
    "step-back": ({"filter": _FILTER}, frozenset()),
    "command": (
        {"id": _IDENTIFIER, "command": _COMMAND, "apart": _FLAG, "at_us": _INSTANT},
        frozenset({"command"}),
    ),
    "branch": ({"number": _whole(0, 1_000_000)}, frozenset({"number"})),
    "present": ({"by": _TEXT, "shown": _SHOWN}, frozenset({"by", "shown"})),
    "predict": (
        {"by": _PAGE_NAME, "step": _whole(1, TOUR_STEPS), "guess": _GUESS},
        frozenset({"by", "step", "guess"}),
    ),
}

CONTROLS = frozenset(INBOUND) - {"hello", "seen", "predict"}
"""Messages that only the owner may send."""
