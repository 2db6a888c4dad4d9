"""The canonical text of a scenario: YAML with everything that decides the run, in a fixed form.

Rules: defaults of sections are written out, so that a later default does not change a saved lab. Each object
is one line. Loading the text gives an equal scenario. The YAML library does not write it, so that no version
of that library changes a byte.
"""

from __future__ import annotations

import re
from typing import Any

from simulator.scenarios import shape
from simulator.scenarios.commands import write_arguments
from simulator.scenarios.compound import KINDS
from simulator.scenarios.key import Key, Section
from simulator.scenarios.model import FORMAT_VERSION, Scenario
from simulator.scenarios.names import format_link
from simulator.scenarios.tour import write_tour
from simulator.scenarios.units import format_duration

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_.:/ <>\[\]-]*")
_PLAIN_QUANTITY = re.compile(r"\d+(\.\d+)?(us|ms|s|m|h|B|KB|KiB|MB|MiB|GB|%)(/s)?")
_RESERVED = frozenset(("true", "false", "null", "yes", "no", "on", "off", "y", "n"))
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t"}
_BREAKS = "\u0085\u2028\u2029\ufeff\ufffe\uffff"


def canonical_text(scenario: Scenario) -> str:
    lines = [f"format: {FORMAT_VERSION}"]
    for key in shape.head()[1:]:
        lines += _head_lines(key, getattr(scenario, key.field))
    sections = {section.name: section for section in shape.sections()}
    for name in shape.order()[len(shape.head()) :]:
        section = sections.get(name)
        lines += _OTHER_LINES[name](scenario) if section is None else _objects(section, scenario)
    return "\n".join(lines) + "\n"


def flow(value: Any) -> str:
    """A value on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{flow(key)}: {flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(flow(item) for item in value) + "]"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, (int, float)) else _text(value)


def _text(text: str) -> str:
    plain = _PLAIN.fullmatch(text) and not text.endswith((" ", ":")) and ": " not in text and " #" not in text
    if plain and "[" not in text and "]" not in text and text.lower() not in _RESERVED:
        return text
    if _PLAIN_QUANTITY.fullmatch(text):
        return text
    return '"' + "".join(_escaped(character) for character in text) + '"'


def _escaped(character: str) -> str:
    return _ESCAPES.get(character) or (f"\\u{ord(character):04x}" if character in _BREAKS else character)


def _head_lines(key: Key, value: Any) -> list[str]:
    if value in ("", {}):
        return []
    if key.kind == "text" and "\n" in value and not any(character in value for character in _BREAKS + "\t"):
        return [f"{key.name}: |", *(f"  {line}" if line else "" for line in value.split("\n"))]
    if isinstance(value, dict):
        written = KINDS[key.kind].write(value)
        return [f"{key.name}:", *(f"  {flow(name)}: {flow(item)}" for name, item in written.items())]
    return [f"{key.name}: {flow(KINDS[key.kind].write(value))}"]


def _members(keys: tuple[Key, ...], thing: Any) -> dict[str, Any]:
    """The keys of one object that have a value.

    Of two keys for one field only the first is written (`every`, not `rate`).
    """
    written: dict[str, Any] = {}
    done: list[str] = []
    for key in keys:
        value = getattr(thing, key.field)
        if value is None or value == {} or key.field in done:
            continue
        done.append(key.field)
        written[key.name] = KINDS[key.kind].write(value)
    return written


def _objects(section: Section, scenario: Scenario) -> list[str]:
    found = getattr(scenario, section.name)
    entries = [f"  {flow(name)}: {flow(_members(section.keys, thing))}" for name, thing in found.items()]
    return [f"{section.name}:", *entries] if entries else []


def _links(scenario: Scenario) -> list[str]:
    keys = shape.link_keys()
    entries = [
        f"  {format_link((pair,))}: {flow(_members(keys, link))}" for pair, link in scenario.links.items()
    ]
    return ["links:", *entries] if entries else []


def _commands(scenario: Scenario) -> list[str]:
    entries = []
    for command in scenario.commands:
        at = format_duration(command.at_us)
        entry = {"at": at, "do": command.do, **write_arguments(command.do, command.arguments)}
        entries.append(f"  - {flow(entry)}")
    return ["commands:", *entries] if entries else []


def _expect(scenario: Scenario) -> list[str]:
    entries = [f"  {flow(path)}: {flow(value)}" for path, value in scenario.expect.items()]
    return ["expect:", *entries] if entries else []


def _compare(scenario: Scenario) -> list[str]:
    entries = [f"  {flow(name)}: {flow(expect)}" for name, expect in scenario.compare.items()]
    return ["compare:", *entries] if entries else []


def _tour(scenario: Scenario) -> list[str]:
    if scenario.tour is None:
        return []
    head, steps = write_tour(scenario.tour)
    lines = [f"  {name}: {flow(value)}" for name, value in head.items()]
    return ["tour:", *lines, "  steps:", *(f"    - {flow(step)}" for step in steps)]


_OTHER_LINES = {
    "links": _links,
    "commands": _commands,
    "expect": _expect,
    "compare": _compare,
    "tour": _tour,
}
