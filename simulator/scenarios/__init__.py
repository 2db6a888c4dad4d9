"""Scenarios: the format, its loader, the commands and the built-in library.

Rules: all other code reads `model.py`. A `Scenario` is always complete and checked.
"""

from simulator.scenarios.builtin import builtin_text, scenario_names
from simulator.scenarios.commands import COMMANDS, CommandError, normalise_command
from simulator.scenarios.loader import broken_expectations, load_scenario, load_scenario_text, parse_overrides
from simulator.scenarios.model import Scenario
from simulator.scenarios.names import format_link, parse_link, parse_message, parse_position
from simulator.scenarios.shape import KnownNames
from simulator.scenarios.tree import Node, Problem, Problems, ScenarioError, read_tree, suggestion
from simulator.scenarios.units import (
    format_duration,
    format_size,
    parse_duration,
    parse_rate,
    parse_size,
)

__all__ = [
    "COMMANDS",
    "CommandError",
    "KnownNames",
    "Node",
    "Problem",
    "Problems",
    "Scenario",
    "ScenarioError",
    "broken_expectations",
    "builtin_text",
    "format_duration",
    "format_link",
    "format_size",
    "load_scenario",
    "load_scenario_text",
    "normalise_command",
    "parse_duration",
    "parse_link",
    "parse_message",
    "parse_overrides",
    "parse_position",
    "parse_rate",
    "parse_size",
    "read_tree",
    "scenario_names",
    "suggestion",
]
