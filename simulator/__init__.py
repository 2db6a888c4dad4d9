"""Failover Lab's engine: a deterministic simulator of geo-replicated messaging.

`docs/http-api.md` describes it.
"""

from simulator.counting import enough_until_us
from simulator.protocols.manifest import NotOffered
from simulator.protocols.table import (
    admin_tools,
    cause_texts,
    live_rows_of,
    tables_of,
)
from simulator.scenarios.builtin import scenario_names
from simulator.scenarios.commands import COMMANDS, CommandError, normalise_command
from simulator.scenarios.loader import load_scenario, load_scenario_text
from simulator.scenarios.model import Scenario
from simulator.scenarios.rule_files import RuleError, load_rules, loaded_rules
from simulator.scenarios.shape import FAMILY_MECHANISMS, names_of, sites_of
from simulator.scenarios.tree import ScenarioError, Wrong
from simulator.scenarios.units import format_duration, parse_duration
from simulator.system.admin_tools import AdminError
from simulator.trace.trace import Trace
from simulator.version import ENGINE_VERSION
from simulator.world import ROWS_MAX, CommandResult, Seek, World

TOOLS = admin_tools()

__all__ = [
    "COMMANDS",
    "ENGINE_VERSION",
    "FAMILY_MECHANISMS",
    "ROWS_MAX",
    "TOOLS",
    "AdminError",
    "CommandError",
    "CommandResult",
    "NotOffered",
    "RuleError",
    "Scenario",
    "ScenarioError",
    "Seek",
    "Trace",
    "World",
    "Wrong",
    "cause_texts",
    "enough_until_us",
    "format_duration",
    "live_rows_of",
    "load_rules",
    "load_scenario",
    "load_scenario_text",
    "loaded_rules",
    "names_of",
    "normalise_command",
    "parse_duration",
    "scenario_names",
    "sites_of",
    "tables_of",
]
