"""The strategies by which a subscription's progress reaches another cluster, and a scenario under each of them.

Rules: a strategy changes what subscriptions ask for and nothing else: seed, publishes, faults and the move stay. Its
scenario is of the family that knows the causes of all strategies.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from simulator.scenarios.canonical import canonical_text
from simulator.scenarios.model import CommandSpec, Scenario, SubscriptionSpec
from simulator.scenarios.problems import Problem, ScenarioError, suggestion

FAMILY = "tenant-migration"
SYNC_COMMAND = "subscription.sync-acknowledgements"
"""A command that only a subscription with acknowledgement-state sync obeys; under other strategies it is left out."""


@dataclass(frozen=True, slots=True)
class Strategy:
    """`name` for commands and links, `title` for headings, `says` in one sentence."""

    name: str
    title: str
    says: str
    snapshots: bool
    synchronises: bool


STRATEGIES: tuple[Strategy, ...] = (
    Strategy("local", "Local subscription", "Nothing is told. The subscription begins in the new cluster where its own settings say.", False, False),
    Strategy("snapshots", "Snapshots (PIP-33)", "Now and then markers in the topic tie positions together, and the mark-delete is told by them.", True, False),
    Strategy(
        "acknowledgement-sync", "Acknowledgement-state sync",
        "Mark-delete and single acknowledgements are told beside the topic, by the positions that messages had at home.", False, True,
    ),
)  # fmt: skip
STRATEGY_NAMES = tuple(strategy.name for strategy in STRATEGIES)


def strategy_named(name: str) -> Strategy:
    """Raises ScenarioError with the names that there are."""
    found = next((strategy for strategy in STRATEGIES if strategy.name == name), None)
    if found is None:
        raise ScenarioError([Problem(f"--strategy {name}", None, None, "", "there is no such strategy", suggestion(name, STRATEGY_NAMES))])
    return found


def under(scenario: Scenario, strategy: Strategy) -> Scenario:
    """The scenario with every subscription under this strategy, and what it expects then."""
    changed = replace(
        scenario,
        title=f"{scenario.title} · {strategy.title}",
        family=FAMILY,
        subscriptions={name: _spec(spec, strategy) for name, spec in scenario.subscriptions.items()},
        commands=tuple(command for command in scenario.commands if _obeyed(command, strategy)),
        expect=scenario.compare.get(strategy.name, {}),
        compare={},
    )
    return replace(changed, canonical_text=canonical_text(changed))


def _spec(spec: SubscriptionSpec, strategy: Strategy) -> SubscriptionSpec:
    asked = spec.acknowledgement_sync if spec.acknowledgement_sync != "none" else "periodic"
    return replace(spec, replicate_subscription_state=strategy.snapshots, acknowledgement_sync=asked if strategy.synchronises else "none")


def _obeyed(command: CommandSpec, strategy: Strategy) -> bool:
    return strategy.synchronises or command.do != SYNC_COMMAND
