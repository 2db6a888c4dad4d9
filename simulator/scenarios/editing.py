"""What an editor of scenarios offers: the schema, texts to start from, and a run as a text.

Rules: everything comes from the declarations and from files. There is one minimal example for each family.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import resources
from typing import Any

from simulator.scenarios.builtin import builtin_text
from simulator.scenarios.canonical import canonical_text
from simulator.scenarios.json_schema import scenario_schema
from simulator.scenarios.model import CommandSpec, Scenario
from simulator.scenarios.reader import KINDS
from simulator.scenarios.shape import PROTOCOL_OF

__all__ = [
    "builtin_text",
    "example_families",
    "minimal_example",
    "scenario_schema",
    "text_with_commands",
    "written_options",
]


def example_families() -> tuple[str, ...]:
    """The families in the order of their declaration; each has a minimal example."""
    return tuple(PROTOCOL_OF)


def minimal_example(family: str) -> str:
    """The shortest useful scenario of a family, as text. Raises KeyError for an unknown family."""
    if family not in PROTOCOL_OF:
        raise KeyError(family)
    folder = resources.files("simulator.scenarios") / "minimal"
    return (folder / f"{family}.yaml").read_text(encoding="utf-8")


def written_options(scenario: Scenario) -> dict[str, Any]:
    """The options that a scenario names, with their values as a file has them."""
    return KINDS["options"].write(scenario.options)


def text_with_commands(scenario: Scenario, commands: Sequence[Mapping[str, Any]]) -> str:
    """The canonical text of a scenario that also plans the commands of a log, at their instants."""
    planned = [
        CommandSpec(
            entry["at_us"],
            entry["do"],
            {name: value for name, value in entry.items() if name not in ("at_us", "number", "do")},
        )
        for entry in commands
    ]
    together = sorted((*scenario.commands, *planned), key=lambda command: command.at_us)
    return canonical_text(replace(scenario, commands=tuple(together)))
