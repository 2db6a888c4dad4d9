"""The requests in the scenario's commands.

The row of a refusal holds only the reason. The request is in the plan, unless two commands of a kind share an
instant.
"""

from __future__ import annotations

from typing import Any

from simulator.scenarios.model import Scenario


def planned_arguments(scenario: Scenario) -> dict[tuple[int, str], dict[str, Any] | None]:
    """(instant, command) -> its arguments; None where two of a kind are planned for one instant."""
    planned: dict[tuple[int, str], dict[str, Any] | None] = {}
    for command in scenario.commands:
        key = command.at_us, command.do
        planned[key] = None if key in planned else command.arguments
    return planned
