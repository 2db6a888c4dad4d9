"""Pulsar's declarations for scenario files and traces."""

from __future__ import annotations

from simulator.protocols.declaration import Declared
from simulator.protocols.pulsar import events
from simulator.protocols.pulsar.commands import declared as commands
from simulator.protocols.pulsar.commands.declared.refusals import REFUSALS
from simulator.protocols.pulsar.scenario import sections, settings, strategies
from simulator.protocols.pulsar.scenario.consistency import check_consistency, remarks
from simulator.protocols.pulsar.scenario.model import FAMILIES, MECHANISMS, PulsarScenario


def names(scenario: PulsarScenario) -> dict[str, list[str]]:
    """The names of shadow topics."""
    return {"shadows": [name for name, topic in scenario.topics.items() if topic.shadow_of is not None]}


PULSAR_DECLARED = Declared(
    families=FAMILIES,
    scenario=PulsarScenario,
    sections=sections.SECTIONS,
    order=sections.ORDER,
    commands=commands.DECLARED,
    refusals=REFUSALS,
    events=events.EVENTS,
    settings=settings.SETTINGS,
    options=settings.OPTIONS,
    kinds=sections.KINDS,
    key_groups=sections.KEY_GROUPS,
    consistency=check_consistency,
    remarks=remarks,
    strategies=strategies.RULES,
    word_tables=events.WORD_TABLES,
    names=names,
    mechanisms=MECHANISMS,
    recordings=True,
)
