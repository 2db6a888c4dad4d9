"""What a presenter's page shows beyond the frames, with bounds for each field."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

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
