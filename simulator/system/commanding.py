"""Applies commands from the calendar, from the log, or given now, whatever the protocol.

Rules: a function of `handlers` first checks and raises CommandError. Then it calls `begin()`, which writes
the `command.applied` row and returns the cause of all that follows, and then it acts. So a refused command
has changed nothing. Arguments are normalised by `simulator.scenarios.declarationss`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from simulator.kernel.clock import COMMAND_RANK
from simulator.scenarios.commands import CommandError
from simulator.system.system import System
from simulator.trace.registry import NULL

if TYPE_CHECKING:
    from simulator.scenarios.model import CommandSpec

Begin = Callable[..., int]
"""The function `begin`, called with the fields of the answer beside "ok", if any.

Examples are a status code and the requested value.
"""

Handler = Callable[[Any, dict, Begin], None]


class CommandRunner:
    """Runs commands of the calendar as the target of their events."""

    def __init__(self, system: System) -> None:
        self.system = system

    def run(self, command: dict) -> None:
        """Run a command of the scenario file or the log; a refused one writes a row and the run continues."""
        try:
            execute(self.system, command)
        except CommandError as error:
            self.system.rows.command_refused(
                NULL, reason=command["do"], detail=f"{error} {error.hint}".strip()
            )
            self.system.command_results.append(_result(self.system, command, error))

    def run_by_hand(self, command: dict) -> None:
        """Run a command of the log; it was accepted when it was given, so it is accepted again."""
        self.system.command_count += 1
        execute(self.system, command)


def execute(system: System, command: dict) -> None:
    """Apply a normalised command now.

    Raises CommandError, and then nothing has changed.
    """
    arguments = {name: value for name, value in command.items() if name != "do"}

    def begin(**answer: Any) -> int:
        system.command_results.append({**_result(system, command, None), **answer})
        return system.rows.command_applied(
            NULL, reason=command["do"], detail=json.dumps(arguments, sort_keys=True, ensure_ascii=False)
        )

    system.handlers[command["do"]](system, arguments, begin)


def schedule_command(system: System, at_us: int, command: dict, by_hand: bool = False) -> None:
    """Put a normalised command on the calendar; it takes effect at the end of its instant."""
    runner = CommandRunner(system)
    system.schedule(at_us, COMMAND_RANK, runner.run_by_hand if by_hand else runner.run, command)


def schedule_commands(system: System, commands: Iterable[CommandSpec]) -> None:
    """Put commands of a scenario on the calendar, in the order of their instants."""
    for command in sorted(commands, key=lambda command: command.at_us):
        schedule_command(system, command.at_us, {"do": command.do, **command.arguments})


def schedule_planned(system: System) -> None:
    """Put the scenario's commands on the calendar, as the last step of building a system."""
    schedule_commands(system, system.scenario.commands)


def _result(system: System, command: dict, error: CommandError | None) -> dict:
    code, message, hint = (error.code, str(error), error.hint) if error else (None, None, None)
    return {
        "at_us": system.now_us,
        "command": command["do"],
        "ok": error is None,
        "code": code,
        "error": message,
        "hint": hint,
    }
