"""Remarks about parts of a scenario that have no effect.

They are not problems, since a command may give them an effect while the scenario runs, but they are seldom
intended. Each protocol declares its own remarks.
"""

from __future__ import annotations

from simulator.protocols.declared import DECLARED
from simulator.scenarios.model import Scenario


def remarks(scenario: Scenario) -> list[str]:
    """A sentence for each part without effect, in the order of the protocol's rules."""
    return list(DECLARED[scenario.protocol].remarks(scenario))
