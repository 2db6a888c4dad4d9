"""The syntax of names in scenarios, and of the short texts made of them.

Rules: names match `[a-z0-9][a-z0-9-]*`. A message is `producer/number` (from 0). A link is `a -> b`, or for
both directions `a <-> b`. A partition of topic t is `t-partition-n`. A namespace is `tenant/namespace`, two
names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from simulator.scenarios.tree import Wrong

NAME_PATTERN = "[a-z0-9][a-z0-9-]*"
LONGEST_NAME = 64
NAME = re.compile(NAME_PATTERN)
MESSAGE = re.compile(rf"({NAME_PATTERN})/(\d{{1,12}})")
LINK = re.compile(rf"\s*({NAME_PATTERN})\s*(<->|->)\s*({NAME_PATTERN})\s*")
POSITION = re.compile(r"(\d{1,12}):(-1|\d{1,12})")
PARTITION_SUFFIX = re.compile(r"-partition-\d+$")


def base_of(topics: Iterable[str], log: str) -> str:
    """The topic of a log: `orders` of `orders-partition-2`; a declared name is its own topic."""
    return log if log in topics else PARTITION_SUFFIX.sub("", log)


def check_name(text: object) -> str:
    if not isinstance(text, str) or not NAME.fullmatch(text):
        raise Wrong(
            f'"{text}" is not a name', "names are lower-case letters, digits and hyphens, not first a hyphen"
        )
    if len(text) > LONGEST_NAME:
        raise Wrong(f"the name has {len(text)} characters", f"at most {LONGEST_NAME}")
    return text


def parse_message(text: object) -> tuple[str, int]:
    """("web", 5) of "web/5"."""
    match = MESSAGE.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise Wrong(f'"{text}" is not a message', "write producer/number, such as web/5; numbers begin at 0")
    return match[1], int(match[2])


def format_message(message: tuple[str, int]) -> str:
    return f"{message[0]}/{message[1]}"


def parse_link(text: object) -> tuple[tuple[str, str], ...]:
    """The ordered pairs of "a -> b" (one) or "a <-> b" (two)."""
    match = LINK.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise Wrong(f'"{text}" is not a link', "write a -> b for one way or a <-> b for both")
    source, arrow, target = match.groups()
    if source == target:
        raise Wrong(f"a link from {source} to itself", "name two clusters")
    return ((source, target),) if arrow == "->" else ((source, target), (target, source))


def format_link(pairs: tuple[tuple[str, str], ...]) -> str:
    source, target = pairs[0]
    return f"{source} {'->' if len(pairs) == 1 else '<->'} {target}"


def check_namespace(text: object) -> str:
    """`tenant/namespace` unchanged, if both parts are names."""
    tenant, slash, rest = text.partition("/") if isinstance(text, str) else ("", "", "")
    if not slash:
        raise Wrong(f'"{text}" is not a namespace', "write tenant/namespace, such as public/default")
    return f"{check_name(tenant)}/{check_name(rest)}"


def parse_position(text: object) -> tuple[int, int]:
    """(1, 4) of "1:4"; entry -1 is before the first of its ledger."""
    match = POSITION.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise Wrong(f'"{text}" is not a position', "write ledger:entry, such as 1:4")
    return int(match[1]), int(match[2])
