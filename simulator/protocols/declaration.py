"""What a protocol declares for scenario files and traces, without its engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from simulator.scenarios.declarations import Check, Command, Key, Profile, Section, Setting, StrategyRules
from simulator.scenarios.kinds import Kind
from simulator.scenarios.model import Scenario
from simulator.trace.registry import COLUMNS, INTEGER, EventType, WordTable
from simulator.trace.shared_events import SHARED_EVENTS

NUMBER_COLUMNS = frozenset(name for name, (kind, _says) in COLUMNS.items() if kind == INTEGER)
"""The columns of rows that hold a number, not a name."""


def _no_remarks(scenario: Scenario) -> Iterable[str]:
    return ()


def _no_names(scenario: Any) -> Mapping[str, Iterable[str]]:
    return {}


def _no_rules(check: Check) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Declared:
    """The declarations of one protocol.

    Required:

    - `families` of scenarios that show the protocol.
    - `scenario`: the subclass whose fields are its `sections`; `order`, their names in the canonical text.
    - `commands`, and `refusals`: the meaning of each code with which a running system refuses one.
    - `events` of the trace that only this protocol writes.

    Optional:

    - `settings` under the broker's own names, `options`: the lab's switches.
    - `profiles`: named sets of option values, such as a release. The first is the default.
    - `kinds` of value beside the common ones, `key_groups` that they refer to in the JSON Schema.
    - `link_keys` beside latency and bandwidth.
    - `consistency(check)` reports contradictions between parts, `remarks(scenario)` lists parts without
      effect.
    - `strategies` under which a scenario can be compared.
    - `word_tables`: the meaning of words in events, for `docs/trace.md`.
    - `names(scenario)`: further names by kind, beside those of its sections, for a page to choose from.
    - `mechanisms`: what each family shows, in one or two sentences for the gallery.
    - `recordings`: whether a scenario may name a recorded run.
    """

    families: tuple[str, ...]
    scenario: type[Scenario]
    sections: tuple[Section, ...]
    order: tuple[str, ...]
    commands: tuple[Command, ...]
    refusals: Mapping[str, str]
    events: tuple[EventType, ...]
    settings: tuple[Setting, ...] = ()
    options: tuple[Setting, ...] = ()
    profiles: tuple[Profile, ...] = ()
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    key_groups: Mapping[str, tuple[Key, ...]] = field(default_factory=dict)
    link_keys: tuple[Key, ...] = ()
    consistency: Callable[[Check], None] = _no_rules
    remarks: Callable[[Scenario], Iterable[str]] = _no_remarks
    strategies: StrategyRules | None = None
    word_tables: tuple[WordTable, ...] = ()
    names: Callable[[Any], Mapping[str, Iterable[str]]] = _no_names
    mechanisms: Mapping[str, str] = field(default_factory=dict)
    recordings: bool = False

    def columns_of_events(self) -> dict[str, tuple[str, ...]]:
        """The columns of each event that a run of this protocol may have."""
        return {event.name: event.fields for event in (*SHARED_EVENTS, *self.events)}
