"""Every command that a person may give, by name.

Each protocol declares its own (`simulator.protocols.declared`). The `kind` of an argument is an entry of
`kinds.KINDS`; defaults are written as in a file. Scenario files, menus, docs and the engine's
`apply` (through `commands.normalise_command`) read this table.
"""

from __future__ import annotations

from simulator.protocols.declared import DECLARED
from simulator.scenarios.command import Command

COMMANDS: dict[str, Command] = {
    command.name: command for declared in DECLARED.values() for command in declared.commands
}
