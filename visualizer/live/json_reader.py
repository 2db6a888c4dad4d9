"""Reads JSON from outside within bounds: the only reader of request bodies and socket messages.

Rules: any text gives plain values or raises `ValueError` with a reason. Input that the standard reader
accepts and later code cannot handle is refused here: deep nesting, numbers of thousands of digits,
infinities, NUL and lone surrogates (neither can be stored in PostgreSQL, and a lone surrogate cannot be
encoded at all).
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

DEEPEST_JSON = 32
"""Most nested levels of objects and lists. A lab's own messages have five."""

LONGEST_NUMBER = 32
"""Most characters of a number. 2^53 has 16 digits, a decimal as precise as a double 24."""

_NOT_TEXT = re.compile("[\x00\ud800-\udfff]")


def is_text(value: str) -> bool:
    """Whether the text can be stored and sent: no NUL, no lone surrogate."""
    return _NOT_TEXT.search(value) is None


def read_json(text: str | bytes) -> Any:
    """The values of a JSON text.

    Raises ValueError with the reason, in about a hundred characters at most.
    """
    try:
        found = json.loads(text, parse_int=_whole, parse_float=_decimal, parse_constant=_constant)
    except RecursionError:
        raise ValueError(f"it is nested deeper than {DEEPEST_JSON} levels") from None
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8 text") from None
    _check(found)
    return found


def _check(found: Any) -> None:
    """Check depth and texts, level by level."""
    level, depth = [found], 0
    while level:
        below: list[Any] = []
        for value in level:
            if isinstance(value, str):
                _check_text(value)
            elif isinstance(value, list):
                below.append(value)
            elif isinstance(value, dict):
                for key in value:
                    _check_text(key)
                below.append(value.values())
        depth += 1
        if below and depth > DEEPEST_JSON:
            raise ValueError(f"it is nested deeper than {DEEPEST_JSON} levels")
        level = [value for members in below for value in members]


def _check_text(text: str) -> None:
    if not is_text(text):
        raise ValueError("a text in it has a NUL character or half of a surrogate pair")


def _whole(digits: str) -> int:
    return int(_bounded(digits))


def _decimal(digits: str) -> float:
    number = float(_bounded(digits))
    if not math.isfinite(number):
        raise ValueError("a number in it is too large")
    return number


def _bounded(digits: str) -> str:
    if len(digits) > LONGEST_NUMBER:
        raise ValueError(f"a number in it has more than {LONGEST_NUMBER} characters")
    return digits


def _constant(word: str) -> None:
    raise ValueError(f"{word} is not a JSON number")
