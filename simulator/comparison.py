"""One run under every strategy: the same seed, publishes, faults and move, side by side.

Rules: a strategy changes the options of subscriptions and nothing else (`scenarios/strategies.py`). Page,
command line and report use the same functions, so their figures agree. Each run is a world of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simulator.protocols.manifest import StrategyComparison
from simulator.scenarios.model import Scenario
from simulator.scenarios.strategies import (
    STRATEGIES,
    STRATEGY_NAMES,
    Strategy,
    obeyed,
    strategy_named,
    under,
    with_strategy,
)
from simulator.variants import Variant
from simulator.what_if import Rerun
from simulator.world import World

__all__ = [
    "STRATEGIES",
    "STRATEGY_NAMES",
    "Strategy",
    "column",
    "costs",
    "result",
    "strategy_named",
    "strategy_runs",
    "under",
]


def strategy_runs(scenario: Scenario, commands: Sequence[dict[str, Any]] = ()) -> list[Variant]:
    """The inputs of one run for each strategy, in the order of `STRATEGIES`."""
    return [
        Variant(
            strategy.name,
            strategy.title,
            under(scenario, strategy),
            [
                with_strategy(entry["do"], entry, strategy)
                for entry in commands
                if obeyed(entry["do"], strategy)
            ],
        )
        for strategy in STRATEGIES
    ]


def costs(world: World) -> dict[str, int]:
    """The cost of synchronising.

    It counts markers as stored entries and bytes in all logs, and requests and their bytes on the links.
    """
    return _declared(world).costs(world)


def _declared(world: World) -> StrategyComparison:
    declared = world.protocol.comparison
    if declared is None:
        raise ValueError(f"runs of {world.protocol.name} have no strategies to compare")
    return declared


def result(strategy: str, world: World) -> dict[str, Any]:
    """One strategy's entry of `comparison[]`: figures as in the summary."""
    summary = world.summary()
    kept = ("trace_sha256", *_declared(world).figures, "commands", "violations")
    return {"strategy": strategy, **{name: summary[name] for name in kept}, "costs": costs(world)}


def column(rerun: Rerun) -> dict[str, Any]:
    """Everything that a page draws of one strategy's finished run.

    That is its `result`, and each failover's messages with what was sent between the clusters meanwhile.
    """
    world = rerun.world
    outcome = result(rerun.variant.key, world)
    outcome["followed"] = _declared(world).followed(world)
    outcome["until_us"] = world.now_us
    # with commands given by hand the scenario text is not the whole run
    outcome["text"] = None if rerun.variant.commands else rerun.variant.scenario.canonical_text
    return outcome
