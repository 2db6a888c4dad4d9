"""The strategies that sync a subscription's progress to another cluster, and a scenario under each.

Rules: a strategy changes only the keys of subscriptions: seed, publishes, faults and the move are the same.
Where a tenant is migrated, the migration syncs progress: then the migration is started with the strategy, and
the tenant's subscriptions have none. Its scenario is of the family that has the causes of all strategies.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from simulator.protocols.pulsar.scenario.model import TENANT_MIGRATION, PulsarScenario, SubscriptionSpec
from simulator.scenarios.declarations import Strategy, StrategyRules
from simulator.scenarios.model import CommandSpec, Scenario
from simulator.scenarios.tree import Problem, ScenarioError

SYNC_COMMAND = "subscription.sync-acknowledgements"
"""A command that requires acknowledgement-state sync; it is left out under other strategies."""
MIGRATE_COMMAND, COPIES_NOTHING = "migration.start", "blue-green"
"""A migration's own strategy is compared, except the one that syncs no progress."""


@dataclass(frozen=True, slots=True)
class PulsarStrategy(Strategy):
    """How progress is synced (`snapshots`, `synchronises`); `migration` is its name in a command."""

    snapshots: bool
    synchronises: bool

    @property
    def migration(self) -> str:
        return self.name if self.snapshots or self.synchronises else "none"


def may_sync_acks(scenario: Scenario) -> bool:
    """Whether a subscription may synchronise its acks: as declared, or when its tenant is migrated."""
    return bool(scenario.tenants) or any(
        spec.acknowledgement_sync != "none" for spec in scenario.subscriptions.values()
    )


STRATEGIES: tuple[PulsarStrategy, ...] = (
    PulsarStrategy(
        "local",
        "Local subscription",
        "Nothing is replicated. The subscription starts in the new cluster at its initial position.",
        False,
        False,
    ),
    PulsarStrategy(
        "snapshots",
        "Snapshots (PIP-33)",
        "Periodic snapshots map positions between clusters, and updates carry the mark-delete.",
        True,
        False,
    ),
    PulsarStrategy(
        "acknowledgement-sync",
        "Acknowledgement-state sync",
        (
            "Mark-delete and individual acknowledgements are sent outside the topic, by the messages' "
            "positions in the source cluster."
        ),
        False,
        True,
    ),
)


def change(scenario: Scenario, strategy: PulsarStrategy) -> Scenario:
    """The scenario with every subscription under this strategy.

    Raises ScenarioError for one without subscriptions.
    """
    if not scenario.subscriptions:
        raise ScenarioError(
            [
                Problem(
                    scenario.name,
                    None,
                    None,
                    "subscriptions",
                    "there is none whose acknowledgements could be replicated",
                    "compare a scenario of Pulsar's with subscriptions",
                )
            ]
        )
    moved = [
        command.arguments["tenant"]
        for command in scenario.commands
        if _carries(command.do, command.arguments)
    ]
    assert isinstance(scenario, PulsarScenario), "only a scenario of Pulsar has subscriptions"
    return replace(
        scenario,
        family=TENANT_MIGRATION,
        subscriptions={
            name: _spec(spec, strategy, scenario.topics[spec.topic].tenant in moved)
            for name, spec in scenario.subscriptions.items()
        },
        commands=tuple(
            _command(command, strategy) for command in scenario.commands if obeyed(command.do, strategy)
        ),
    )


def _spec(spec: SubscriptionSpec, strategy: PulsarStrategy, moved: bool) -> SubscriptionSpec:
    if moved:
        return replace(spec, replicate_subscription_state=False, acknowledgement_sync="none")
    asked = spec.acknowledgement_sync if spec.acknowledgement_sync != "none" else "periodic"
    return replace(
        spec,
        replicate_subscription_state=strategy.snapshots,
        acknowledgement_sync=asked if strategy.synchronises else "none",
    )


def _carries(do: str, arguments: dict[str, Any]) -> bool:
    """Whether a command starts a migration that syncs progress."""
    return do == MIGRATE_COMMAND and arguments["strategy"] != COPIES_NOTHING


def _command(command: CommandSpec, strategy: PulsarStrategy) -> CommandSpec:
    return replace(command, arguments=with_strategy(command.do, command.arguments, strategy))


def with_strategy(do: str, arguments: dict[str, Any], strategy: PulsarStrategy) -> dict[str, Any]:
    """A command's arguments under a strategy."""
    return {**arguments, "strategy": strategy.migration} if _carries(do, arguments) else arguments


def obeyed(do: str, strategy: PulsarStrategy) -> bool:
    """Whether a command applies under a strategy."""
    return strategy.synchronises or do != SYNC_COMMAND


RULES = StrategyRules(STRATEGIES, change, with_strategy, obeyed)
