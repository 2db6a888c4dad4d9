"""The kinds of value in scenario files and commands: reading, writing, description and JSON Schema.

Rules: `read` takes a node and returns the model's value; otherwise it raises `Wrong`, or reports several
problems to the reader and returns `BAD`. `write` returns the value as written in a file, `plain` the
JSON-able value of a command log. Kinds made of several keys are in `reader.py`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from simulator.scenarios import names, units
from simulator.scenarios.declarations import Key
from simulator.scenarios.limits import INSTANTS_MAX, LARGEST_COUNT, LISTED_MAX
from simulator.scenarios.rule_files import BUILT_IN, DIGEST_DIGITS, how_to_load, loaded_rules
from simulator.scenarios.tree import Node, Wrong, suggestion

if TYPE_CHECKING:
    from simulator.scenarios.reader import Reader


class _Bad:
    """The value of a key whose problem has been reported."""


BAD = _Bad()


def same(value: Any) -> Any:
    return value


@dataclass(frozen=True, slots=True)
class Kind:
    says: str
    schema: Callable[[Key], dict[str, Any]]
    read: Callable[[Node, Key, str, Reader], Any]
    write: Callable[[Any], Any] = same
    plain: Callable[[Any], Any] = same
    suffix: str = ""  # added to the key in a normalised command: the unit


def _scalar(node: Node, wanted: type | tuple[type, ...], words: str) -> Any:
    if isinstance(node.value, bool) is not (wanted is bool) or not isinstance(node.value, wanted):
        shown = (
            "nothing"
            if node.value is None
            else "a mapping"
            if isinstance(node.value, dict)
            else ("a list" if isinstance(node.value, list) else f'"{node.value}"')
        )
        raise Wrong(f"{shown} is not {words}", f"write {words}")
    return node.value


def read_text(node: Node, key: Key, path: str, reader: Reader) -> str:
    text = node.value if isinstance(node.value, str) else str(_scalar(node, (int, float), "text"))
    if any(unicodedata.category(character) in ("Cc", "Cs") and character not in "\n\t" for character in text):
        raise Wrong("holds a control character", "write plain text")
    if key.required and not text.strip():
        raise Wrong("is empty", f"give it: {key.says}")
    return text.strip()


def _read_name(node: Node, key: Key, path: str, reader: Reader) -> str:
    return names.check_name(node.text)


def _read_namespace(node: Node, key: Key, path: str, reader: Reader) -> str:
    return names.check_namespace(node.plain())


def _read_digest(node: Node, key: Key, path: str, reader: Reader) -> str:
    text = node.plain()
    if not re.fullmatch("[0-9a-f]{64}", text):
        raise Wrong(f'"{text[:80]}" is no SHA-256 digest', "write its 64 hexadecimal digits")
    return text


def _read_rule(node: Node, key: Key, path: str, reader: Reader) -> str:
    text, found = node.plain(), loaded_rules()
    if text == BUILT_IN:
        return text
    if found is None or text not in (found.name, found.value):
        what, right = how_to_load(text)
        raise Wrong(what, right)
    return found.value


def _read_integer(node: Node, key: Key, path: str, reader: Reader) -> int:
    value = _scalar(node, int, "a whole number")
    return _bounded(value, replace(key, maximum=integer_maximum(key)), str)


def _read_boolean(node: Node, key: Key, path: str, reader: Reader) -> bool:
    return _scalar(node, bool, "true or false")


def _read_choice(node: Node, key: Key, path: str, reader: Reader) -> str:
    if node.value in key.choices:
        return node.value
    if node.text not in key.choices:
        raise Wrong(f'"{node.plain()}" is not one of the choices', suggestion(node.plain(), key.choices))
    if node.line is not None:  # in a file other readers take it for a number, and 5.10 for 5.1
        raise Wrong(f"{node.text} is a number without quotes", f'write "{node.text}"')
    return node.text


def _measured(
    parse: Callable[[object], int], write: Callable[[int], Any]
) -> Callable[[Node, Key, str, Reader], int]:
    """The reader of a quantity; `parse` raises Wrong outside its limits, and the key may narrow them."""

    def read(node: Node, key: Key, path: str, reader: Reader) -> int:
        return _bounded(parse(node.plain()), key, write)

    return read


def _bounded(value: int, key: Key, write: Callable[[int], Any]) -> int:
    low, high = key.minimum, key.maximum
    if low is not None and value < low:
        raise Wrong(
            f"{write(value)} is too small", f"at least {write(low)}" if low != high else f"write {write(low)}"
        )
    if high is not None and value > high:
        raise Wrong(
            f"{write(value)} is too large",
            f"at most {write(high)}" if low != high else f"write {write(high)}",
        )
    return value


def integer_maximum(key: Key) -> int:
    """The largest whole number that a key takes."""
    return LARGEST_COUNT if key.maximum is None else key.maximum


def _name_schema(key: Key) -> dict[str, Any]:
    # A name of digits only is a number in YAML; the pattern applies only to text.
    return {"type": ["string", "number"], "pattern": f"^{names.NAME_PATTERN}$"}


def reference(noun: str, *sections: str) -> Kind:
    """A name that one of these sections declares."""

    def read(node: Node, key: Key, path: str, reader: Reader) -> str:
        known = tuple(name for section in sections for name in reader.names.of_section(section))
        if node.text not in known:
            shown = node.plain() if node.text is None else node.text
            raise Wrong(f'there is no {noun} "{shown}"', suggestion(shown, known), code="unknown-name")
        return node.text

    return Kind(f"name of a {noun}", lambda key: {**_name_schema(key), "x-names": list(sections)}, read)


def _read_link(node: Node, key: Key, path: str, reader: Reader) -> tuple[tuple[str, str], ...]:
    pairs = names.parse_link(node.plain())
    for cluster in pairs[0]:
        if cluster not in reader.names.sites:
            raise Wrong(
                f'there is no cluster "{cluster}"',
                suggestion(cluster, reader.names.sites),
                code="unknown-name",
            )
    return pairs


def _read_message(node: Node, key: Key, path: str, reader: Reader) -> tuple[str, int]:
    message = names.parse_message(node.plain())
    producers = reader.names.of_section("producers")
    if message[0] not in producers:
        raise Wrong(
            f'there is no producer "{message[0]}"',
            suggestion(message[0], producers),
            code="unknown-name",
        )
    return message


def checked(check: Callable[[str], Any]) -> Callable[[Node, Key, str, Reader], str]:
    """The reader of a text that `check` accepts (it raises Wrong), unchanged."""

    def read(node: Node, key: Key, path: str, reader: Reader) -> str:
        text = read_text(node, key, path, reader)
        check(text)
        return text

    return read


def list_of(item: Kind, words: str, most: int = LISTED_MAX) -> Kind:
    def read(node: Node, key: Key, path: str, reader: Reader) -> Any:
        if not isinstance(node.value, list):
            raise Wrong(f'"{node.plain()}" is not a list', f"write {words}")
        if len(node.value) > most:
            raise Wrong(f"lists {len(node.value):,} items", f"at most {most:,}")
        items = [
            reader.attempt(item, entry, key, f"{path}[{index}]") for index, entry in enumerate(node.value)
        ]
        if any(value is BAD for value in items):
            return BAD
        seen: dict[Any, None] = {}
        for index, value in enumerate(items):
            if value in seen and item is not DURATION:  # two messages may be published at one instant
                reader.fail(
                    node.value[index],
                    f"{path}[{index}]",
                    f'"{node.value[index].text}" is given twice',
                    "name each once",
                )
                return BAD
            seen[value] = None
        return tuple(items)

    return Kind(
        words,
        lambda key: {"type": "array", "items": item.schema(key), "maxItems": most},
        read,
        write=lambda value: [item.write(entry) for entry in value],
        plain=lambda value: [item.plain(entry) for entry in value],
    )


def pattern(text: str, **more: Any) -> Callable[[Key], dict[str, Any]]:
    """The JSON Schema of a text; `more` are annotations, whose first underscore stands for a hyphen."""
    notes = {name.replace("_", "-", 1): value for name, value in more.items()}
    return lambda key: {"type": "string", "pattern": f"^{text}$", **notes}


def _integer_schema(key: Key) -> dict[str, Any]:
    bounds = {"minimum": key.minimum, "maximum": integer_maximum(key)}
    return {"type": "integer", **{name: bound for name, bound in bounds.items() if bound is not None}}


_NUMBER = r"\d+(\.\d+)?\s*"

DURATION = Kind(
    "duration (us ms s m h)",
    pattern(rf"\s*{_NUMBER}(us|ms|s|m|h)\s*"),
    _measured(units.parse_duration, units.format_duration),
    units.format_duration,
    suffix="_us",
)
SIZE = Kind(
    "size (B KB MB GB KiB MiB)",
    pattern(rf"\s*{_NUMBER}(B|KB|MB|GB|KiB|MiB)\s*"),
    _measured(units.parse_size, units.format_size),
    units.format_size,
    suffix="_bytes",
)
BANDWIDTH = Kind(
    "size per second, such as 100MB/s",
    pattern(rf"\s*{_NUMBER}(B|KB|MB|GB|KiB|MiB)\s*/\s*s\s*"),
    _measured(units.parse_bandwidth, units.format_bandwidth),
    units.format_bandwidth,
)
RATE = Kind(
    "rate, such as 100/s",
    pattern(rf"\s*{_NUMBER}/\s*s\s*"),
    _measured(units.parse_rate, str),
    units.format_rate,
)
SHARE = Kind(
    "percentage, such as 1%",
    pattern(rf"\s*{_NUMBER}%\s*"),
    _measured(units.parse_share, units.format_share),
    units.format_share,
    suffix="_millionths",
)
DECIMAL = Kind(
    "number with at most six decimals",
    lambda key: {"type": "number", "minimum": units.format_decimal(key.minimum or 0), "maximum": 10},
    _measured(units.parse_decimal, units.format_decimal),
    units.format_decimal,
)
MESSAGE = Kind(
    "message: producer/number",
    pattern(rf"{names.NAME_PATTERN}/\d+", x_messages=["producers"]),
    _read_message,
    names.format_message,
    names.format_message,
)
LINK = Kind(
    "link: a -> b, or a <-> b for both ways",
    pattern(rf"\s*{names.NAME_PATTERN}\s*(<->|->)\s*{names.NAME_PATTERN}\s*", x_links=True),
    _read_link,
    names.format_link,
    names.format_link,
)
LINKS = list_of(LINK, "a list of links (a -> b, a <-> b)")

NAME = Kind("name", _name_schema, _read_name)

TEXT: Callable[[Key], dict[str, Any]] = lambda key: {"type": ["string", "number"]}  # noqa: E731
"""The JSON Schema of a text; a text of digits is a number in YAML."""
CHOICE = Kind("one of the choices", lambda key: {"enum": list(key.choices)}, _read_choice)

KINDS: dict[str, Kind] = {
    "text": Kind("text", TEXT, read_text),
    "name": NAME,
    "names": list_of(NAME, "a list of names"),
    "digest": Kind("SHA-256 in 64 hexadecimal digits", pattern("[0-9a-f]{64}"), _read_digest),
    "namespace": Kind(
        "tenant/namespace, two names", pattern(f"{names.NAME_PATTERN}/{names.NAME_PATTERN}"), _read_namespace
    ),
    "integer": Kind("whole number", _integer_schema, _read_integer),
    "rule": Kind(
        "name of a rule, which is saved with the digest of its text",
        pattern(rf"({BUILT_IN}|[a-z][a-z0-9_]*(@[0-9a-f]{{{DIGEST_DIGITS}}})?)", x_words=[BUILT_IN]),
        _read_rule,
    ),
    "boolean": Kind("true or false", lambda key: {"type": "boolean"}, _read_boolean),
    "choice": CHOICE,
    "choices": list_of(CHOICE, "a list of the choices"),
    "duration": DURATION,
    "size": SIZE,
    "bandwidth": BANDWIDTH,
    "rate": RATE,
    "share": SHARE,
    "decimal": DECIMAL,
    "message": MESSAGE,
    "messages": list_of(MESSAGE, "a list of messages (producer/number)"),
    "link": LINK,
    "instants": list_of(DURATION, "a list of instants (durations from the start)", INSTANTS_MAX),
}
"""The common kinds; `reader.py` adds those made of several keys, references and what protocols declare."""
