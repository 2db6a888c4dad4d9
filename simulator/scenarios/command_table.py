"""The table of all commands, by name.

Each protocol declares its own (`simulator.protocols.declared`). The `kind` of an argument is an entry of
`kinds.KINDS`. Defaults are written as in a file. Scenario files, menus, docs and the engine's `apply`
(through `commands.normalise_command`) read this table.
"""

from __future__ import annotations

from typing import Any

from simulator.protocols.declared import DECLARED
from simulator.scenarios.declarations import Command, Key, as_json

COMMANDS: dict[str, Command] = {
    command.name: command for declared in DECLARED.values() for command in declared.commands
}


def command_forms(protocol: str) -> dict[str, Any]:
    """The label, consequence and arguments of each command of a protocol, by name, for menus and forms."""
    return {
        command.name: {
            "label": command.label or command.says,
            "consequence": as_json(command.consequence),
            "arguments": [_field(key) for key in command.arguments],
        }
        for command in DECLARED[protocol].commands
    }


def _field(key: Key) -> dict[str, Any]:
    """An argument of a form; keys that are false, empty or None are left out."""
    begin = True if key.kind == "boolean" and key.default else key.begin
    optional = {"required": key.required, "choices": list(key.choices)}
    field = {"name": key.name, "kind": key.kind, **{name: value for name, value in optional.items() if value}}
    return field if begin is None else {**field, "begin": begin}
