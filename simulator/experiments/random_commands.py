"""Random commands for any scenario, drawn from the table of commands.

Each argument is drawn by its kind from the scenario's names. Rules: a command may be refused by the run. A
kind that the scenario has no name for gives no command.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from simulator.kernel.random import draw, stream_key
from simulator.protocols.table import protocol_of
from simulator.scenarios.command_table import COMMANDS
from simulator.scenarios.declarations import Command, Key, belongs
from simulator.scenarios.model import Scenario

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
