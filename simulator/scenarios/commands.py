"""Reads, checks and normalises commands, for scenario files, the page and the engine.

Rules: a command is a dict `{"do": name, …}`. Normalised, it is JSON-able and complete: defaults are filled
in, and an optional argument without default is absent when not given. Its units are read: durations are
integers under `<key>_us`, shares under `<key>_millionths`, a distribution is a dict of `Distribution`'s
fields, links and messages are texts for `names.parse_link` and `names.parse_message`. Normalising a
normalised command changes nothing, so a command log replays.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simulator.scenarios import units
from simulator.scenarios.command_table import COMMANDS
from simulator.scenarios.declarations import Command, Key, belongs
from simulator.scenarios.kinds import BAD
from simulator.scenarios.model import Distribution, Scenario
from simulator.scenarios.reader import KINDS, Reader, read_setting_value
from simulator.scenarios.shape import KnownNames
from simulator.scenarios.tree import Node, node_of, suggestion

__all__ = ["COMMANDS", "Command", "CommandError", "normalise_command", "read_command", "write_arguments"]


class CommandError(ValueError):
    """A refused command: code, what is wrong, what would be right.

    Nothing was changed.
    """

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.code, self.message, self.hint = code, message, hint


def normalise_command(command: Mapping[str, Any], names: KnownNames | Scenario) -> dict[str, Any]:
    """The complete, JSON-able form of a command.

    Raises CommandError with the first problem.
    """
    known, protocol = (KnownNames.of(names), names.protocol) if isinstance(names, Scenario) else (names, "")
    reader = Reader(known, protocol)
    arguments = read_command(node_of(dict(command), "command"), "", reader, from_log=True)
    if arguments is BAD:
        first = reader.problems.kept[0]
        raise CommandError(
            first.code, f"{first.path}: {first.what}" if first.path else first.what, first.right
        )
    return arguments


def read_command(node: Node, path: str, reader: Reader, from_log: bool = False) -> Any:
    """`{"do": …, arguments}` of a node, normalised, or BAD.

    `from_log` also takes the normalised keys (`latency_us`).
    """
    if not isinstance(node.value, dict):
        reader.fail(node, path, "is not a command", "write {at: 3s, do: link.cut, link: a -> b}")
        return BAD
    do = node.value.get("do")
    if do is None:
        reader.fail(node, _inner(path, "do"), "is missing", "name a command", "missing-argument")
        return BAD
    if do.text not in COMMANDS:
        reader.fail(
            do,
            _inner(path, "do"),
            f'there is no command "{do.plain()}"',
            suggestion(do.plain(), COMMANDS),
            "unknown-command",
        )
        return BAD
    command = COMMANDS[do.text]
    if not belongs(command.protocol, reader.protocol):
        there = [name for name, known in COMMANDS.items() if belongs(known.protocol, reader.protocol)]
        reader.fail(
            do,
            _inner(path, "do"),
            f"{do.text} is no command of this family",
            suggestion(do.text, there),
            "unknown-command",
        )
        return BAD
    members = {name: member for name, member in node.value.items() if name not in ("do", "at")}
    if from_log:
        members = _units_written(command, members)
    rest = Node(members, node.source, node.line, node.column)
    before = len(reader.problems)
    values = reader.members(rest, command.arguments, path, noun=f"argument of {do.text}")
    if values is BAD or not _agree(command, values, rest, path, reader) or len(reader.problems) > before:
        return BAD
    return {"do": do.text, **_normalised(command, values)}


def write_arguments(do: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Normalised arguments as they are written in a scenario file."""
    written: dict[str, Any] = {}
    for key in COMMANDS[do].arguments:
        kind = KINDS[key.kind]
        if key.name + kind.suffix not in arguments:
            continue
        value = arguments[key.name + kind.suffix]
        if key.kind == "distribution":
            value = Distribution(**value)
        written[key.name] = kind.write(value) if kind.suffix or key.kind == "distribution" else value
    return written


def _units_written(command: Command, members: dict[str, Node]) -> dict[str, Node]:
    """The members of a normalised command under the keys and with the units of a file."""
    written = dict(members)
    for key in command.arguments:
        suffix = KINDS[key.kind].suffix
        member = written.get(key.name + suffix) if suffix else None
        if member is not None and type(member.value) is int and member.value >= 0:
            del written[key.name + suffix]
            written[key.name] = node_of(KINDS[key.kind].write(member.value), member.source)
    return written


def _agree(command: Command, values: dict[str, Any], node: Node, path: str, reader: Reader) -> bool:
    """Check what one argument requires of another; False after a problem was reported."""
    before = len(reader.problems)
    if command.one_of:
        given = [name for name in command.one_of if name in values]
        if len(given) != 1:
            words = " and ".join(command.one_of)
            what = f"gives both {words}" if given else f"gives neither {words.replace(' and ', ' nor ')}"
            reader.fail(
                node, path, what, f"give exactly one of {', '.join(command.one_of)}", "missing-argument"
            )
    objection = command.check(values) if command.check is not None else None
    if objection is not None:
        name, what, right, code = objection
        reader.fail(
            node.value[name] if name else node, _inner(path, name) if name else path, what, right, code
        )
    for key in command.arguments:
        if key.kind == "setting-value":
            values[key.name] = read_setting_value(
                values["setting"], node.value[key.name], _inner(path, key.name), reader
            )
    return len(reader.problems) == before


def _normalised(command: Command, values: dict[str, Any]) -> dict[str, Any]:
    normal: dict[str, Any] = {}
    for key in command.arguments:
        kind = KINDS[key.kind]
        if key.name in values:
            normal[key.name + kind.suffix] = kind.plain(values[key.name])
        elif key.default is not None:
            normal[key.name + kind.suffix] = _default(key)
    return normal


def _default(key: Key) -> Any:
    parse = {"duration": units.parse_duration, "share": units.parse_share}.get(key.kind)
    return parse(key.default) if parse else key.default


def _inner(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
