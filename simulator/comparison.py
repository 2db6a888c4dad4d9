"""Runs side by side: one run under every strategy, or a run on real brokers and its simulated twin.

Rules: seed, publishes, faults and moves are the same in all columns. A strategy changes the options of
subscriptions and nothing else (`scenarios/canonical.py`). Page, command line and report use the same
functions, so their figures agree. Each run is a world of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from simulator import recordings
from simulator.differences import differences
from simulator.protocols.manifest import RunComparison
from simulator.scenarios.canonical import (
    STRATEGIES,
    STRATEGY_NAMES,
    Strategy,
    Variant,
    canonical_text,
    obeyed,
    ordered,
    strategy_named,
    under,
    with_strategy,
)
from simulator.scenarios.model import Scenario
from simulator.scenarios.rule_files import BUILT_IN, loaded_rules
from simulator.scenarios.settings import OPTIONS, RULE
from simulator.world import World

__all__ = [
    "REAL",
    "SIMULATED",
    "STRATEGIES",
    "STRATEGY_NAMES",
    "Strategy",
    "column",
    "costs",
    "differences",
    "real_and_simulated",
    "result",
    "rule_runs",
    "strategy_named",
    "strategy_runs",
    "under",
]


def strategy_runs(
    scenario: Scenario,
    commands: Sequence[dict[str, Any]] = (),
    seed: int | None = None,
    until_us: int | None = None,
) -> list[Variant]:
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
            seed=seed,
            until_us=until_us,
        )
        for strategy in STRATEGIES
    ]


REAL, SIMULATED = "real", "simulated"
"""Keys of the two runs of a recording."""


def real_and_simulated(recorded: recordings.RecordedFile) -> list[Variant]:
    """The inputs of a recorded run and of its simulated twin. Raises RecordingError."""
    return [
        Variant(REAL, "Real brokers", recordings.scenario_of(recorded), []),
        Variant(SIMULATED, "Simulated", recordings.simulated_twin(recorded), []),
    ]


def costs(world: World) -> dict[str, int]:
    """The cost of synchronising.

    It counts markers as stored entries and bytes in all logs, and requests and their bytes on the links.
    """
    return _declared(world).costs(world)


def _declared(world: World) -> RunComparison:
    declared = world.protocol.comparison
    if declared is None:
        raise ValueError(f"runs of {world.protocol.name} cannot be compared")
    return declared


def rule_runs(scenario: Scenario) -> list[Variant]:
    """The inputs of one run with the built-in rule, and of one with the rule that is loaded here."""
    found, options = loaded_rules(), scenario.options
    assert found is not None, "the command line has loaded it"
    runs = []
    for value in (BUILT_IN, found.value):
        changed = replace(scenario, options=ordered({**options, RULE: value}, OPTIONS), tour=None, pair={})
        runs.append(Variant(value, value, replace(changed, canonical_text=canonical_text(changed)), []))
    return runs


def result(key: str, world: World, noun: str = "strategy") -> dict[str, Any]:
    """The entry of `comparison[]` of one strategy, or of one rule: figures as in the summary."""
    summary = world.summary()
    kept = ("trace_sha256", *_declared(world).figures, "commands", "violations")
    return {noun: key, **{name: summary[name] for name in kept}, "costs": costs(world)}


def column(variant: Variant, world: World) -> dict[str, Any]:
    """Everything that a page draws of one strategy's finished run.

    That is its `result`, and each failover's messages with what was sent between the clusters meanwhile.
    """
    outcome = result(variant.key, world)
    outcome["followed"] = _declared(world).followed(world)
    outcome["until_us"] = world.now_us
    # with commands given by hand the scenario text is not the whole run
    outcome["text"] = None if variant.commands else variant.scenario.canonical_text
    return outcome
