"""Texts of scenarios: the canonical text, a scenario with one change, and under another strategy."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from simulator.protocols.declared import DECLARED
from simulator.scenarios import shape
from simulator.scenarios.commands import write_arguments
from simulator.scenarios.declarations import Key, Section, Strategy, StrategyRules
from simulator.scenarios.model import FORMAT_VERSION, CommandSpec, Scenario
from simulator.scenarios.names import format_link
from simulator.scenarios.reader import KINDS
from simulator.scenarios.tour import write_tour
from simulator.scenarios.tree import Problem, ScenarioError, suggestion
from simulator.scenarios.units import format_duration

# --- the canonical text of a scenario: YAML with everything that decides the run, in a fixed form
#
# Rules: defaults of sections are written out, so that a later default does not change a saved lab. Each
# object is one line. Loading the text gives an equal scenario. The YAML library does not write it, so that
# no version of that library changes a byte.


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


# --- variants: the inputs of runs, and changes to one setting, option or command of them
#
# Rules: a change takes a scenario and a command log and returns a `Variant`, or None where it does not
# apply. It reads inputs, never an outcome. Each protocol lists its own. The changed scenario is loaded from
# its canonical text like any other, so mappings keep the declared order. A change that an operator can make
# by a setting names it as it is written there. Any other change says in one of `NO_SETTING` what it is
# instead.


CommandLog = list[dict[str, Any]]
NO_SETTING = {
    "application": "a change of the application, not a setting",
    "procedure": "a procedure, not a setting",
    "release": "the broker's code, not a setting",
    "failure": "assumes that the failure does not happen",
}
"""What a change is that no setting makes, by kind, in words. Such a change is never recommended."""


@dataclass(frozen=True, slots=True)
class PlacedSetting:
    """A setting that an operator can paste.

    It has its key, its value, the line or call to paste, and the file, command or code that it belongs in.
    """

    key: str
    value: str
    paste: str
    where: str


@dataclass(frozen=True, slots=True)
class Variant:
    """The inputs of one run: its scenario, with its canonical text, and its command log.

    `key` is for links, `name` for readers. `settings` make the change on real brokers; without them
    `no_setting` is a key of `NO_SETTING`. Seed and end are the scenario's unless given. A run with `fork_us`
    shares its past with others: up to the end of that instant it is equal to theirs, and has no command by
    hand.
    """

    key: str
    name: str
    scenario: Scenario
    commands: CommandLog
    settings: tuple[PlacedSetting, ...] = ()
    no_setting: str = ""
    seed: int | None = None
    until_us: int | None = None
    fork_us: int | None = None

    @property
    def end_us(self) -> int:
        """The instant at whose end the run ends."""
        return self.scenario.until_us if self.until_us is None else self.until_us


Change = Callable[[Any, CommandLog], Variant | None]
"""A change takes a scenario of its own protocol."""


def ordered(values: dict[str, Any], declared: dict[str, Any]) -> dict[str, Any]:
    """The values in the order of the declaration, as the loader would return them."""
    return {name: values[name] for name in declared if name in values}


def given(scenario: Scenario, commands: CommandLog) -> list[tuple[str, dict[str, Any], int]]:
    """Every command of the run as (name, arguments, instant)."""
    return [(spec.do, spec.arguments, spec.at_us) for spec in scenario.commands] + [
        (entry["do"], entry, entry["at_us"]) for entry in commands
    ]


def without(scenario: Scenario, commands: CommandLog, *gone: str) -> tuple[Scenario, CommandLog] | None:
    """The inputs without the commands of these names; None when there is none."""
    kept: tuple[CommandSpec, ...] = tuple(spec for spec in scenario.commands if spec.do not in gone)
    log = [entry for entry in commands if entry["do"] not in gone]
    if len(kept) == len(scenario.commands) and len(log) == len(commands):
        return None
    return replace(scenario, commands=kept), log


def instead(
    scenario: Scenario, commands: CommandLog, old: str, new: str, **more: Any
) -> tuple[Scenario, CommandLog] | None:
    """The inputs with every command `old` given as `new`, or None when there is none.

    `new` takes the same arguments and `more`.
    """
    if all(do != old for do, _arguments, _at_us in given(scenario, commands)):
        return None
    kept = tuple(
        replace(spec, do=new, arguments={**spec.arguments, **more}) if spec.do == old else spec
        for spec in scenario.commands
    )
    return replace(scenario, commands=kept), [
        {**entry, "do": new, **more} if entry["do"] == old else entry for entry in commands
    ]


# --- the strategies that replicate progress to another cluster, and a scenario under each of them
#
# Rules: each protocol declares its own, if it has any. A strategy changes only what the protocol's rules
# define. Seed, publishes, faults and the failover are the same.


_RULES = tuple(declared.strategies for declared in DECLARED.values() if declared.strategies is not None)

STRATEGIES: tuple[Strategy, ...] = tuple(strategy for rules in _RULES for strategy in rules.strategies)
STRATEGY_NAMES = tuple(strategy.name for strategy in STRATEGIES)


def strategy_named(name: str) -> Strategy:
    """The strategy of this name; raises ScenarioError with the names that exist."""
    found = next((strategy for strategy in STRATEGIES if strategy.name == name), None)
    if found is None:
        raise ScenarioError(
            [
                Problem(
                    f"--strategy {name}",
                    None,
                    None,
                    "",
                    "there is no such strategy",
                    str(suggestion(name, STRATEGY_NAMES)),
                )
            ]
        )
    return found


def under(scenario: Scenario, strategy: Strategy) -> Scenario:
    """The scenario under this strategy, with its expectations for it.

    Raises ScenarioError for a scenario in which the strategy changes nothing.
    """
    changed = replace(
        _rules_of(strategy).change(scenario, strategy),
        title=f"{scenario.title} · {strategy.title}",
        expect=scenario.compare.get(strategy.name, {}),
        compare={},
        tour=None,
        pair={},
    )
    return replace(changed, canonical_text=canonical_text(changed))


def with_strategy(do: str, arguments: dict[str, Any], strategy: Strategy) -> dict[str, Any]:
    """A command's arguments under a strategy."""
    return _rules_of(strategy).arguments(do, arguments, strategy)


def obeyed(do: str, strategy: Strategy) -> bool:
    """Whether a command makes sense under a strategy."""
    return _rules_of(strategy).obeyed(do, strategy)


def _rules_of(strategy: Strategy) -> StrategyRules:
    return next(rules for rules in _RULES if strategy in rules.strategies)
