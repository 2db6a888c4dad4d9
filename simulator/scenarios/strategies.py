"""The strategies that replicate progress to another cluster, and a scenario under each of them.

Rules: each protocol declares its own, if it has any. A strategy changes only what the protocol's rules
define. Seed, publishes, faults and the failover are the same.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from simulator.protocols.declared import DECLARED
from simulator.scenarios.canonical import canonical_text
from simulator.scenarios.model import Scenario
from simulator.scenarios.problems import Problem, ScenarioError, suggestion
from simulator.scenarios.strategy import Strategy, StrategyRules

_RULES = tuple(declared.strategies for declared in DECLARED.values() if declared.strategies is not None)

STRATEGIES: tuple[Strategy, ...] = tuple(strategy for rules in _RULES for strategy in rules.strategies)
STRATEGY_NAMES = tuple(strategy.name for strategy in STRATEGIES)


def strategy_named(name: str) -> Strategy:
    """The strategy of this name; raises ScenarioError with the names that exist."""
    found = next((strategy for strategy in STRATEGIES if strategy.name == name), None)
    if found is None:
        raise ScenarioError(
            [
                Problem(
                    f"--strategy {name}",
                    None,
                    None,
                    "",
                    "there is no such strategy",
                    str(suggestion(name, STRATEGY_NAMES)),
                )
            ]
        )
    return found


def under(scenario: Scenario, strategy: Strategy) -> Scenario:
    """The scenario under this strategy, with its expectations for it.

    Raises ScenarioError for a scenario in which the strategy changes nothing.
    """
    changed = replace(
        _rules_of(strategy).change(scenario, strategy),
        title=f"{scenario.title} · {strategy.title}",
        expect=scenario.compare.get(strategy.name, {}),
        compare={},
        tour=None,
        pair={},
    )
    return replace(changed, canonical_text=canonical_text(changed))


def with_strategy(do: str, arguments: dict[str, Any], strategy: Strategy) -> dict[str, Any]:
    """A command's arguments under a strategy."""
    return _rules_of(strategy).arguments(do, arguments, strategy)


def obeyed(do: str, strategy: Strategy) -> bool:
    """Whether a command makes sense under a strategy."""
    return _rules_of(strategy).obeyed(do, strategy)


def _rules_of(strategy: Strategy) -> StrategyRules:
    return next(rules for rules in _RULES if strategy in rules.strategies)
