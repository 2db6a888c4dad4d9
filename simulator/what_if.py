"""What would have helped: the same seed and failure, run again with one thing changed at a time.

Rules: the first variant is the run as it was; the others are described by their differences to it. Page and
report use the same functions, so their figures agree. Each protocol declares what is changed and compared
(`changes.py` and `compared.py` in its folder). A rerun is a separate world and changes no other one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simulator.protocols.table import protocol_of
from simulator.scenarios.model import Scenario
from simulator.variants import Variant, variants
from simulator.world import World

__all__ = ["Rerun", "Variant", "beside", "looks", "variants"]


class Rerun:
    """A variant being run, in slices."""

    def __init__(self, variant: Variant, seed: int, until_us: int, rows_max: int | None = None) -> None:
        self.variant, self.until_us = variant, until_us
        self.world = World(variant.scenario, seed, rows_max, begun=False)
        for entry in variant.commands:
            self.world.schedule_logged(entry)

    def step(self, events: int) -> bool:
        """Run at most about `events` queue events; True while more is left."""
        return self.world.advance(self.until_us, events)

    def outcome(self) -> dict[str, Any]:
        """The outcome of the run so far.

        Returns {"key", "name", "cases", "digest"}; `cases` are the figures of each failover or group, as in
        the summary.
        """
        cases = protocol_of(self.variant.scenario).compared.cases(self.world)
        return {
            "key": self.variant.key,
            "name": self.variant.name,
            "cases": cases,
            "digest": self.world.digest(),
        }


def looks(scenario: Scenario) -> dict[str, Any]:
    """The layout of the table of reruns.

    Returns `noun`, what is compared, `columns` in order (name, title, unit `count` or `us`), and `nothing`,
    the text when there is nothing to compare.
    """
    compared = protocol_of(scenario).compared
    return {
        "noun": compared.noun,
        "columns": [figure.column() for figure in compared.figures],
        "nothing": compared.nothing,
    }


def beside(scenario: Scenario, outcomes: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The outcomes as differences to the real one, which is the first, with cases in its order.

    Each case has its `label` and `at_us`, `figures` (null where the case did not happen), and the effect of
    the change: `difference` in words, `harm` (a list of integers, small is good; null where it cannot be
    judged), `helps`, and `assumes`: what the change takes for granted that was not so in the real run (null
    for advice that could have been followed).
    """
    compared = protocol_of(scenario).compared
    names = [figure.name for figure in compared.figures]

    def described(key: str, real: dict[str, Any], other: dict[str, Any] | None) -> dict[str, Any]:
        place = {**{name: real[name] for name in ("label", "at_us")}, "assumes": compared.assumes(real, key)}
        if other is None:
            return {**place, "figures": None, "difference": compared.missing, "harm": None, "helps": False}
        harm = compared.harm(real, other)
        return {
            **place,
            "figures": {name: other[name] for name in names},
            "difference": compared.difference(real, other),
            "harm": list(harm),
            "helps": harm < compared.harm(real, real),
        }

    real_cases = outcomes[0]["cases"] if outcomes else []
    return [
        {
            **{name: outcome[name] for name in ("key", "name", "digest")},
            "cases": [
                described(
                    outcome["key"], real, outcome["cases"][place] if place < len(outcome["cases"]) else None
                )
                for place, real in enumerate(real_cases)
            ],
        }
        for outcome in outcomes
    ]
