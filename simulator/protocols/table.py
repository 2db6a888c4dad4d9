"""The table of protocols, and functions over all of them.

To add one: a folder beside the others with a `manifest.py`, and one entry here (CONTRIBUTING.md, "A
protocol").
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from simulator.protocols.emqx.manifest import MANIFEST as EMQX
from simulator.protocols.pulsar.manifest import MANIFEST as PULSAR
from simulator.scenarios.command_table import command_forms

if TYPE_CHECKING:
    from simulator.protocols.manifest import Manifest
    from simulator.scenarios.model import Scenario
    from simulator.system.live_rows import LiveRows

PROTOCOLS: dict[str, Manifest] = {manifest.name: manifest for manifest in (PULSAR, EMQX)}
"""The protocols in the order of their sections in a summary and of their claims in the list of all claims."""


def protocol_of(scenario: Scenario) -> Manifest:
    """The protocol of the scenario's family, for a recorded run its part for recordings."""
    manifest = PROTOCOLS[scenario.protocol]
    return manifest.recorded or manifest if scenario.recording else manifest


def tables_of(scenario: Scenario) -> dict[str, Any]:
    """The tables that a page draws of a scenario's protocol, and its commands for menus and forms."""
    return {**protocol_of(scenario).tables(), "commands": command_forms(scenario.protocol)}


def live_rows_of(scenario: Scenario) -> LiveRows:
    """The rows of a scenario's protocol that a live page holds and marks."""
    return protocol_of(scenario).live


def cause_texts(protocol: str) -> Mapping[str, tuple[str, str]]:
    """The heading and a sentence of each cause of a duplicate, as the protocol's stories have them."""
    return PROTOCOLS[protocol].stories.causes


def section_names() -> tuple[str, ...]:
    """The names of the protocols' sections of the summary, of all protocols in order."""
    return tuple(dict.fromkeys(name for protocol in PROTOCOLS.values() for name in protocol.sections))


def admin_tools() -> tuple[str, ...]:
    """The operator's tools that some protocol prints."""
    return tuple(tool for protocol in PROTOCOLS.values() for tool in protocol.admin.tools)


def claims() -> tuple[str, ...]:
    """All claims: those about rows, protocol by protocol, then those about counted failovers."""
    lists = [protocol.checks for protocol in PROTOCOLS.values()]
    return (
        *(check.claim for checks in lists for check in checks.of_rows),
        *(check.claim for checks in lists for check in checks.of_counts),
    )
