"""The names that a scenario declares, by kind."""

from __future__ import annotations

from simulator.protocols.declared import DECLARED
from simulator.scenarios.model import Scenario


def names_of(scenario: Scenario) -> dict[str, list[str]]:
    """The names that a scenario declares, by section, each list sorted.

    The protocol may add further names.
    """
    declared = DECLARED[scenario.protocol]
    of_sections = {section.name: getattr(scenario, section.name) for section in declared.sections}
    return {what: sorted(names) for what, names in {**of_sections, **declared.names(scenario)}.items()}


def sites_of(scenario: Scenario) -> list[str]:
    """The ends of links, such as clusters or nodes, in the order of the scenario file."""
    sections = (section.name for section in DECLARED[scenario.protocol].sections if section.sites)
    return [name for section in sections for name in getattr(scenario, section)]
