"""What a scenario says that has no effect: no problem, since a person may still make it come true while it
runs, but seldom meant. Each protocol declares its own remarks.
"""

from __future__ import annotations

from simulator.protocols.declared import DECLARED
from simulator.scenarios.model import Scenario


def remarks(scenario: Scenario) -> list[str]:
    """A sentence for each such place, in the order of the protocol's rules."""
    return list(DECLARED[scenario.protocol].remarks(scenario))
