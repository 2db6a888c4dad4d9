"""The `expect` block: paths into the summary and their expected values.

Rules: an expectation is met when the values are equal, or when a number is inside a range [low, high], ends
included. A list that is not two numbers must be equal as a list. A path that does not exist is a broken
expectation, never a met one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from simulator.scenarios.problems import suggestion
from simulator.scenarios.reader import Reader
from simulator.scenarios.strategies import STRATEGY_NAMES
from simulator.scenarios.tree import Node

_STEP = r"[A-Za-z0-9_-]+(?:\[\d{1,9}\])*"
PATH = re.compile(rf"{_STEP}(?:\.{_STEP})*")
MOST_EXPECTATIONS = 1000


def read_comparison(node: Node | None, reader: Reader) -> dict[str, dict[str, Any]]:
    """The block `compare`: expectations by strategy, in the order of the file."""
    if node is None or node.value is None:
        return {}
    if not isinstance(node.value, dict):
        reader.fail(node, "compare", "is not a mapping", "write strategy: {path: value}")
        return {}
    found = {}
    for name, member in node.value.items():
        if name not in STRATEGY_NAMES:
            reader.fail(
                member,
                f"compare.{name}",
                "there is no such strategy",
                suggestion(name, STRATEGY_NAMES),
                at_key=True,
            )
        found[name] = read_expectations(member, reader, f"compare.{name}")
    return found


def read_expectations(node: Node | None, reader: Reader, block: str = "expect") -> dict[str, Any]:
    """The block as written, with its paths and ranges checked."""
    if node is None or node.value is None:
        return {}
    if not isinstance(node.value, dict) or len(node.value) > MOST_EXPECTATIONS:
        reader.fail(
            node,
            block,
            "is not a mapping of this size",
            f"write path: value, at most {MOST_EXPECTATIONS} times",
        )
        return {}
    for path, member in node.value.items():
        if not PATH.fullmatch(path):
            right = "write a path into the summary, such as failovers[0].duplicates"
            reader.fail(member, f"{block}.{path}", "is not a path", right, at_key=True)
        if isinstance(member.value, dict):
            reader.fail(member, f"{block}.{path}", "is a mapping", "name a path for each value")
        if _is_range(member.plain()) and member.plain()[0] > member.plain()[1]:
            reader.fail(member, f"{block}.{path}", "the range is empty", "write [low, high]")
    return node.plain()


def broken_expectations(expect: Mapping[str, Any], summary: Mapping[str, Any]) -> list[str]:
    """One sentence for each expectation that the summary does not meet."""
    broken = []
    for path, wanted in expect.items():
        try:
            seen = value_at(summary, path)
        except LookupError as error:
            broken.append(f"{path}: expected {wanted!r}, but {error.args[0]}")
            continue
        if not meets(seen, wanted):
            broken.append(f"{path}: expected {wanted!r}, saw {seen!r}")
    return broken


def meets(seen: Any, wanted: Any) -> bool:
    if _is_range(wanted) and _is_number(seen):
        return wanted[0] <= seen <= wanted[1]
    return seen == wanted and isinstance(seen, bool) is isinstance(wanted, bool)


def value_at(summary: Mapping[str, Any], path: str) -> Any:
    """The value at a path. Raises LookupError with a sentence when there is none."""
    value: Any = summary
    walked = ""
    for part in path.split("."):
        name, *indexes = re.findall(r"[^\[\]]+", part)
        if not isinstance(value, Mapping) or name not in value:
            raise LookupError(f"there is no {name} in {walked or 'the summary'}")
        value, walked = value[name], f"{walked}.{name}" if walked else name
        for index in indexes:
            if not isinstance(value, list) or int(index) >= len(value):
                raise LookupError(f"there is no [{index}] in {walked}")
            value, walked = value[int(index)], f"{walked}[{index}]"
    return value


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_range(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(_is_number(end) for end in value)
