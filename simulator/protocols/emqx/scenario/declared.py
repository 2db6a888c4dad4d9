"""The declarations of EMQX for scenario files and traces."""

from __future__ import annotations

from simulator.protocols.declaration import Declared
from simulator.protocols.emqx import events
from simulator.protocols.emqx.commands import declared as commands
from simulator.protocols.emqx.scenario import sections, settings
from simulator.protocols.emqx.scenario.model import FAMILIES, MECHANISMS, EmqxScenario
from simulator.protocols.emqx.scenario.sections import check_consistency, remarks

EMQX_DECLARED = Declared(
    families=FAMILIES,
    scenario=EmqxScenario,
    sections=sections.SECTIONS,
    order=sections.ORDER,
    commands=commands.DECLARED,
    refusals=commands.REFUSALS,
    events=events.EVENTS,
    settings=settings.SETTINGS,
    options=settings.OPTIONS,
    profiles=settings.PROFILES,
    kinds=sections.KINDS,
    link_keys=sections.LINK_KEYS,
    consistency=check_consistency,
    remarks=remarks,
    mechanisms=MECHANISMS,
)
