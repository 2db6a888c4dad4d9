"""Variants: the inputs of runs, and changes to one setting, option or command of them.

Rules: a change takes a scenario and a command log and returns a `Variant`, or None where it does not apply.
It reads inputs, never an outcome. Each protocol lists its own. The changed scenario is loaded from its
canonical text like any other, so mappings keep the declared order. A change that an operator can make by a
setting names it as it is written there. Any other change says in one of `NO_SETTING` what it is instead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from simulator.scenarios.model import CommandSpec, Scenario

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
