"""The phase of a run: its faults, and everything after the first of them, later by an offset."""

from __future__ import annotations

from dataclasses import replace

from simulator.protocols.table import protocol_of
from simulator.scenarios.canonical import canonical_text
from simulator.scenarios.model import CommandSpec, Scenario
from simulator.scenarios.units import format_duration


def first_fault(scenario: Scenario) -> CommandSpec | None:
    """The first command that begins a fault or a failover."""
    faults = protocol_of(scenario).measured.faults
    found = [spec for spec in scenario.commands if spec.do in faults]
    return min(found, key=lambda spec: spec.at_us, default=None)


def first_fault_us(scenario: Scenario) -> int | None:
    """The instant of the first command that begins a fault or a failover."""
    first = first_fault(scenario)
    return None if first is None else first.at_us


def happening(scenario: Scenario) -> str:
    """Begins a sentence about what the scenario's first fault costs, such as "If node n1 crashes".

    A command that is no fault is given with its names; it counts where the scenario has no fault.
    """
    faults = protocol_of(scenario).measured.faults
    first = first_fault(scenario) or min(scenario.commands, key=lambda spec: spec.at_us, default=None)
    if first is None:
        return "In this scenario"
    if first.do in faults:
        more = sum(spec.do in faults for spec in scenario.commands) - 1
        follow = f" and {more} more {'fault follows' if more == 1 else 'faults follow'}" if more else ""
        return f"If {faults[first.do].format_map(_Arguments(first.arguments))}{follow}"
    names = [value for value in first.arguments.values() if isinstance(value, str)]
    return " ".join(["After", first.do, *names])


class _Arguments(dict):
    """The arguments of a command; a duration is written with its unit, and a missing one left out."""

    def __getitem__(self, name: str) -> str:
        value = self.get(name, "")
        return format_duration(value) if isinstance(value, int) else value

    def __missing__(self, name: str) -> str:
        return ""


def moved(scenario: Scenario, offset_us: int) -> Scenario:
    """The scenario whose commands from the first fault on, and whose end, are later by `offset_us`.

    What it expects is left out: a value of the grid, a seed or an offset may change it.
    """
    changed = replace(moved_without_text(scenario, offset_us), expect={}, compare={})
    return replace(changed, canonical_text=canonical_text(changed))


def moved_without_text(scenario: Scenario, offset_us: int) -> Scenario:
    """The same commands and end, with the text of the scenario as it was."""
    from_us = first_fault_us(scenario)
    if from_us is None:
        return scenario
    commands = tuple(
        replace(spec, at_us=spec.at_us + offset_us) if spec.at_us >= from_us else spec
        for spec in scenario.commands
    )
    return replace(scenario, commands=commands, until_us=scenario.until_us + offset_us)
