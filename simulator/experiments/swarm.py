"""A swarm: random settings and commands on built-in scenarios, the checks, and the smallest example.

Rules: a run is a pure function of family and seed. It begins with a built-in scenario of the family, none of
which breaks a claim, with a seed, some settings and some commands beside its own. A violation is shrunk to
the fewest commands, then to the fewest changed settings, with which the same claim is broken.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from typing import Any, TypeVar

from simulator.kernel.random import draw, stream_key
from simulator.protocols.table import protocol_of
from simulator.scenarios.builtin import builtin_text, scenario_names
from simulator.scenarios.canonical import canonical_text
from simulator.scenarios.command_table import COMMANDS
from simulator.scenarios.commands import normalise_command
from simulator.scenarios.declarations import Command, Key, belongs
from simulator.scenarios.loader import load_scenario_text
from simulator.scenarios.model import CommandSpec, Scenario
from simulator.scenarios.rule_files import BUILT_IN, RuleError
from simulator.scenarios.settings import OPTIONS, RULE
from simulator.scenarios.shape import PROTOCOL_OF
from simulator.scenarios.tree import ScenarioError
from simulator.world import World

# --- random commands for any scenario, drawn from the table of commands
#
# Each argument is drawn by its kind from the scenario's names. Rules: a command may be refused by the run.
# A kind that the scenario has no name for gives no command.


Item = TypeVar("Item")


class Draws:
    """The choices of one thing, such as a command; `name` says which, so that other things keep theirs."""

    def __init__(self, seed: int, name: str) -> None:
        self._key = stream_key(seed, name)
        self._count = 0

    def below(self, end: int) -> int:
        """A number from 0 to `end` - 1."""
        self._count += 1
        return draw(self._key, self._count) % end

    def percent(self, share: int) -> bool:
        """True in `share` of a hundred draws."""
        return self.below(100) < share

    def choice(self, items: Sequence[Item]) -> Item:
        """One of the items."""
        return items[self.below(len(items))]

    def sample(self, items: Sequence[Item], count: int) -> list[Item]:
        """Some of the items, each at most once."""
        left = list(items)
        return [left.pop(self.below(len(left))) for _ in range(count)]


DURATIONS = ("1ms", "20ms", "150ms", "300ms", "1s", "4s")
OPTIONAL_PERCENT = 40
"""Probability that an optional argument is given."""
MESSAGES_MAX = 4
SEQUENCE_IDS = 200
"""Messages are named by sequence ids below this: those of the first seconds."""

_PLAIN = {
    "share": ("10%", "50%"),
    "distribution": ("1ms", "80ms", "2s"),
    "position": ("earliest", "latest"),
    "entry-position": ("0:0", "1:4", "200:7"),
}
_SECTIONS = {
    "cluster": "clusters",
    "producer": "producers",
    "consumer": "consumers",
    "subscription": "subscriptions",
    "topic": "topics",
    "address": "topics",
    "broker": "brokers",
    "tenant": "tenants",
    "role": "roles",
    "schema": "schemas",
    "node": "nodes",
    "session": "sessions",
    "publisher": "publishers",
    "server": "servers",
}


class _NoneHere(Exception):
    """The scenario has nothing of this kind."""


def random_command(scenario: Scenario, draws: Draws) -> dict[str, Any]:
    """One command in the form a person writes it."""
    names = sorted(name for name, command in COMMANDS.items() if belongs(command.protocol, scenario.protocol))
    while True:
        command = COMMANDS[draws.choice(names)]
        try:
            return {"do": command.name, **_arguments(scenario, command, draws)}
        except _NoneHere:
            continue


def _arguments(scenario: Scenario, command: Command, draws: Draws) -> dict[str, Any]:
    settings = protocol_of(scenario).swarm_settings
    if command.name == "setting.change":
        if not settings:
            raise _NoneHere
        setting = draws.choice(sorted(settings))
        return {"setting": setting, "value": draws.choice(settings[setting])}
    one = draws.choice(command.one_of) if command.one_of else None
    chosen: dict[str, Any] = {}
    for key in command.arguments:
        if key.name in command.one_of:
            if key.name == one:
                chosen[key.name] = _value(scenario, key, draws)
        elif key.required or draws.percent(OPTIONAL_PERCENT):
            try:
                chosen[key.name] = _value(scenario, key, draws)
            except _NoneHere:
                if key.required:
                    raise
    return chosen


def _value(scenario: Scenario, key: Key, draws: Draws) -> Any:
    if key.kind == "choice":
        return draws.choice(key.choices)
    if key.kind == "boolean":
        return draws.percent(50)
    if key.kind == "integer":
        least = key.minimum or 0
        return min(least + draws.choice((0, 1, 2, 7, 40)), key.maximum or 40)
    if key.kind == "duration":
        return draws.choice(DURATIONS)
    if key.kind in ("names", "clusters", "addresses"):
        names = _names(scenario, "topics" if key.kind == "addresses" else "clusters")
        return draws.sample(names, 1 + draws.below(len(names)))
    if key.kind == "link":
        source, target = draws.sample(_sites(scenario), 2)
        return f"{source} {draws.choice(('->', '<->'))} {target}"
    if key.kind == "messages":
        producers = _names(scenario, "producers")
        return [
            f"{draws.choice(producers)}/{draws.below(SEQUENCE_IDS)}"
            for _ in range(1 + draws.below(MESSAGES_MAX))
        ]
    if key.kind in _PLAIN:
        return draws.choice(_PLAIN[key.kind])
    return draws.choice(_names(scenario, _SECTIONS.get(key.kind, key.kind), key.name))


def _sites(scenario: Scenario) -> list[str]:
    """The ends of links, at least two."""
    names = sorted({site: None for pair in scenario.links for site in pair})
    if len(names) < 2:
        raise _NoneHere
    return names


def _names(scenario: Scenario, section: str, key: str = "") -> list[str]:
    if section == "client":
        names = [*scenario.producers, *scenario.consumers]
    elif section == "topic-or-partition":
        names = [
            part
            for name, topic in scenario.topics.items()
            for part in (name, *(f"{name}-partition-{number}" for number in range(topic.partitions)))
        ]
    elif section == "namespace":
        names = [*scenario.namespaces, *(topic.namespace for topic in scenario.topics.values())]
    elif section == "subscription-filter":
        names = [name for session in scenario.sessions.values() for name in session.subscriptions]
    elif section == "text":
        names = list(scenario.groups) if key == "group" else []
    else:
        names = list(getattr(scenario, section, ()))
    if not names:
        raise _NoneHere
    return sorted(dict.fromkeys(names))


KEPT, BROKEN = "kept", "broken"
COMMANDS_MAX = 5
"""The most commands beside the scenario's own."""
SETTINGS_MAX = 3
"""The most settings that are changed at the start."""
LONGEST_US = 20_000_000
"""A run ends here at the latest: what a scenario shows is over by then."""
ROWS_MAX = 300_000
"""The most rows of a run: a few seconds."""
SEEDS = 1 << 32
SHRINKING_RUNS_MAX = 300
"""The most runs for one violation: all sets of two of twenty commands, and a few larger ones."""

CRASHED = "the engine does not fail"
"""The claim that an internal error breaks."""
RULE_FAILED = "the rule does not fail"
"""The claim that an error in a rule of one's own breaks."""

Broken = tuple[str, int, str]
"""A claim, the instant of its first violation, and the reason."""


@dataclass(frozen=True, slots=True)
class SwarmRun:
    """The result of one seed; `scenario` is the run, or the smallest one found that breaks the claim."""

    family: str
    seed: int
    built_in: str
    scenario: Scenario
    status: str
    claim: str | None = None
    at_us: int | None = None
    reason: str | None = None

    def as_row(self) -> dict[str, Any]:
        """The result as a row of plain values."""
        return {
            "family": self.family,
            "seed": self.seed,
            "built_in": self.built_in,
            "status": self.status,
            "claim": self.claim,
            "at_us": self.at_us,
            "reason": self.reason,
            "commands": len(self.scenario.commands),
            "scenario": self.scenario.canonical_text,
        }


def swarm_families(with_rule: bool = False) -> tuple[str, ...]:
    """The families that have built-in scenarios, sorted; only those that a rule of one's own is for."""
    wanted = OPTIONS[RULE].protocol if with_rule else None
    return tuple(sorted(name for name in _of_families() if wanted in (None, PROTOCOL_OF[name])))


def swarm_run(family: str, seed: int, rule: str = BUILT_IN) -> SwarmRun:
    """Run one seed, and shrink its first violation. Raises KeyError for a family without scenarios.

    `rule` is the value of the option that chooses a rule of one's own.
    """
    draws = Draws(seed, f"swarm/{family}")
    built_in = draws.choice(_of_families()[family])
    scenario = _drawn(built_in, family, seed, draws)
    if rule != BUILT_IN:
        scenario = load_scenario_text(scenario.canonical_text, overrides=((f"options.{RULE}", rule),))
    broken = first_broken(scenario)
    if broken is None:
        return SwarmRun(family, seed, built_in, scenario, KEPT)
    smallest = shrunk(scenario, _built_in(built_in).settings, broken[0])
    claim, at_us, reason = first_broken(smallest, broken[0]) or broken
    return SwarmRun(family, seed, built_in, smallest, BROKEN, claim, at_us, reason)


@cache
def _of_families() -> dict[str, tuple[str, ...]]:
    """The built-in simulated scenarios by family."""
    found: dict[str, list[str]] = {}
    for name in scenario_names():
        text = builtin_text(name)
        family = re.search(r"^family: *(\S+)", text, re.MULTILINE)
        if family is not None and not re.search(r"^recording:", text, re.MULTILINE):
            found.setdefault(family[1], []).append(name)
    return {family: tuple(names) for family, names in found.items()}


def _drawn(built_in: str, family: str, seed: int, draws: Draws) -> Scenario:
    """The scenario of a seed; what its file format refuses is left out.

    Most drawn commands are accepted, so all of them are read at once, and one by one only if they are not.
    """
    plain = _built_in(built_in)
    until_us = min(plain.until_us, LONGEST_US)
    kept = tuple(spec for spec in plain.commands if spec.at_us <= until_us)
    start = replace(plain, commands=kept, seed=draws.below(SEEDS), until_us=until_us, expect={}, compare={})
    start = _with_settings(start, draws)
    commands = _drawn_commands(start, f"swarm/{family}", seed, draws)
    together = _with(start, commands=(*start.commands, *commands))
    if together is not None:
        return together
    scenario = _with(start) or plain
    for spec in commands:
        scenario = _with(scenario, commands=(*scenario.commands, spec)) or scenario
    return scenario


def _with_settings(scenario: Scenario, draws: Draws) -> Scenario:
    """The scenario with some settings of its protocol's swarm; one that its format refuses is left out."""
    values = protocol_of(scenario).swarm_settings
    for name in draws.sample(sorted(values), min(len(values), draws.below(SETTINGS_MAX + 1))):
        written = str(draws.choice(values[name])).lower()
        scenario = _loaded(scenario, ((f"settings.{name}", written),)) or scenario
    return scenario


def _drawn_commands(scenario: Scenario, stream: str, seed: int, draws: Draws) -> list[CommandSpec]:
    """The random commands of a seed, each from a stream of its own."""
    found = []
    for number in range(1 + draws.below(COMMANDS_MAX)):
        own = Draws(seed, f"{stream}/command/{number}")
        until_us = scenario.until_us
        at_us = own.choice((0, own.below(until_us), own.below(until_us)))
        command = random_command(scenario, own)
        try:
            normal = normalise_command(command, scenario)
        except ValueError:
            continue
        found.append(CommandSpec(at_us, normal.pop("do"), normal))
    return found


@cache
def _built_in(name: str) -> Scenario:
    """A built-in scenario, read once."""
    return load_scenario_text(builtin_text(name))


def _with(scenario: Scenario, **fields: Any) -> Scenario | None:
    """The scenario with these fields; None if its format refuses it."""
    return _loaded(replace(scenario, **fields, expect={}, compare={}))


def _loaded(scenario: Scenario, overrides: Sequence[tuple[str, str]] = ()) -> Scenario | None:
    """The scenario as its own text loads it, so that the text gives the same run."""
    try:
        return load_scenario_text(canonical_text(scenario), overrides=overrides)
    except ScenarioError:
        return None


def first_broken(scenario: Scenario, claim: str | None = None) -> Broken | None:
    """The first claim that a run breaks, or the first violation of one claim; None if all hold."""
    try:
        world = World.from_scenario(scenario, rows_max=ROWS_MAX)
        world.run()
        found = world.all_violations(world.failovers())
    except RuleError as error:
        return (RULE_FAILED, 0, str(error)) if claim in (None, RULE_FAILED) else None
    except Exception as error:  # the engine's own assertions are what a swarm looks for
        internal = (CRASHED, 0, f"{type(error).__name__}: {error}")
        return internal if claim in (None, CRASHED) else None
    for one in found:
        if claim in (None, one.claim):
            return one.claim, one.at_us, one.reason
    return None


def shrunk(scenario: Scenario, settings: dict[str, Any], claim: str) -> Scenario:
    """The scenario with the fewest commands, and settings beside `settings`, that breaks a claim.

    All sets of commands are tried by size, within SHRINKING_RUNS_MAX runs. Beyond them, commands are left out
    one by one, so that none of the rest can be.
    """

    def breaks(candidate: Scenario | None) -> bool:
        return candidate is not None and first_broken(candidate, claim) is not None

    smaller = _fewest_commands(scenario, breaks)
    for name in sorted(smaller.settings):
        if name not in settings:
            rest = {other: value for other, value in smaller.settings.items() if other != name}
            candidate = _with(smaller, settings=rest)
            smaller = candidate if candidate is not None and breaks(candidate) else smaller
    return smaller


def _fewest_commands(scenario: Scenario, breaks: Callable[[Scenario | None], bool]) -> Scenario:
    for tried, chosen in enumerate(_by_size(scenario.commands)):
        if tried >= SHRINKING_RUNS_MAX:
            break
        candidate = _with(scenario, commands=chosen)
        if candidate is not None and breaks(candidate):
            return candidate
    place = 0
    while place < len(scenario.commands):
        rest = (*scenario.commands[:place], *scenario.commands[place + 1 :])
        candidate = _with(scenario, commands=rest)
        if candidate is not None and breaks(candidate):
            scenario, place = candidate, 0
        else:
            place += 1
    return scenario


def _by_size(commands: tuple[CommandSpec, ...]) -> Iterator[tuple[CommandSpec, ...]]:
    for size in range(len(commands)):
        yield from combinations(commands, size)
