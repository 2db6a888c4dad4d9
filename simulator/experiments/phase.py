"""The phase of a run: its faults, and everything after the first of them, later by an offset."""

from __future__ import annotations

from dataclasses import replace

from simulator.protocols.table import protocol_of
from simulator.scenarios.canonical import canonical_text
from simulator.scenarios.model import CommandSpec, Scenario


def first_fault(scenario: Scenario) -> CommandSpec | None:
    """The first command that begins a fault or a failover."""
    faults = protocol_of(scenario).measured.faults
    found = [spec for spec in scenario.commands if spec.do in faults]
    return min(found, key=lambda spec: spec.at_us, default=None)


def first_fault_us(scenario: Scenario) -> int | None:
    """The instant of the first command that begins a fault or a failover."""
    first = first_fault(scenario)
    return None if first is None else first.at_us


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
