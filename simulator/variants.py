"""The variants of a run: as it was, and with each change of its protocol that applies to it.

Rules: a variant is inputs only (scenario and command log), so it can be run, saved and linked like any run.
Whether a change applies is decided from those inputs, never from the outcome.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from simulator.protocols.table import protocol_of
from simulator.scenarios.canonical import canonical_text
from simulator.scenarios.changes import CommandLog, PlacedSetting
from simulator.scenarios.model import Scenario

__all__ = ["CommandLog", "Variant", "variants"]


@dataclass(frozen=True, slots=True)
class Variant:
    """The inputs of one changed run: its scenario, with its canonical text, and its command log.

    `key` is for links, `name` for readers. `settings` and `no_setting` are those of the change
    (`simulator.scenarios.changes.Changed`).
    """

    key: str
    name: str
    scenario: Scenario
    commands: CommandLog
    settings: tuple[PlacedSetting, ...] = ()
    no_setting: str = ""


def variants(scenario: Scenario, commands: CommandLog) -> list[Variant]:
    """The run as it was, then every change that applies to it, in an order for reading."""
    found = [Variant("as-it-was", "as it was", scenario, commands)]
    for change in protocol_of(scenario).changes:
        made = change(scenario, commands)
        if made is not None:
            changed = replace(made.scenario, tour=None, pair={})  # they describe the run as it was
            text = canonical_text(changed)
            found.append(
                Variant(
                    made.key,
                    made.name,
                    replace(changed, canonical_text=text),
                    made.commands,
                    made.settings,
                    made.no_setting,
                )
            )
    return found
