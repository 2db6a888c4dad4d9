"""Tenants' migrations go step by step, and blue-green migration redirects no client too early.

A step begins when all before it are complete or not part of its strategy. Only a forced switch goes ahead of
them. Steps are undone from the last to the first. A consumer of a migrated topic is redirected when its
subscription has no backlog there: its mark-delete is at the end of the log (PIP-188).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Self

from simulator.checks.check import Check
from simulator.checks.stretch import PAST_EVERY_LEDGER, Stretch
from simulator.protocols.pulsar.checks.cursors import NOWHERE
from simulator.protocols.pulsar.checks.knowledge import Knowledge
from simulator.protocols.pulsar.events import CODE
from simulator.scenarios.model import Scenario

STEPS = ("metadata", "topic-data", "consumption-progress", "switch", "clean-up")
NOT_OF = {"none": ("consumption-progress",), "blue-green": ("topic-data", "consumption-progress")}
"""The steps that are empty in a strategy."""

_READ = (
    "migration.started",
    "migration.step-began",
    "migration.step-finished",
    "migration.step-undone",
    "command.applied",
)
_STARTED, _BEGAN, _FINISHED, _UNDONE, _COMMANDED = (CODE[name] for name in _READ)


class MigrationStepsInOrder(Check):
    """Keeps each tenant's present migration: steps begun, steps complete, and the forced switch."""

    claim = (
        "A migration's steps start in order, each when the previous ones are done, unless the "
        "switch is forced, and are rolled back from the last to the first."
    )

    def begin(self, scenario: Scenario) -> None:
        self.watching = bool(scenario.tenants)
        self.begun: dict[str, frozenset[str]] = {}  # by tenant: begun, and not undone
        self.through: dict[str, frozenset[str]] = {}
        self.forced: frozenset[str] = frozenset()

    def copy_into(self, copy: Self) -> None:
        copy.watching, copy.begun, copy.through, copy.forced = (
            self.watching,
            dict(self.begun),
            dict(self.through),
            self.forced,
        )

    def read(self, stretch: Stretch, known: Knowledge) -> Iterable[tuple[int, str]]:
        """Steps that began or were undone out of order."""
        if not self.watching:
            return []
        broken: list[tuple[int, str]] = []
        for seq, kind, tenant_number, reason_number, detail in stretch.of(*_READ).records(
            "type", "tenant", "reason", "detail"
        ):
            tenant, reason = stretch.name(tenant_number), stretch.name(reason_number)
            if kind == _COMMANDED:
                self._commanded(reason, stretch.name(detail))
            elif kind == _STARTED:
                self.begun[tenant], self.through[tenant] = frozenset(), frozenset(NOT_OF.get(reason, ()))
                self.forced -= {tenant}
            else:
                why = (
                    self._take_back(tenant, reason)
                    if kind == _UNDONE
                    else self._begin_or_finish(tenant, reason, kind)
                )
                if why:
                    broken.append((seq, f"{tenant}: {why}"))
        return broken

    def _commanded(self, command: str, arguments: str) -> None:
        if command == "migration.switch" and json.loads(arguments).get("force"):
            self.forced |= {json.loads(arguments)["tenant"]}

    def _begin_or_finish(self, tenant: str, step: str, kind: int) -> str | None:
        if kind == _FINISHED:
            self.through[tenant] |= {step}
            return None
        self.begun[tenant] |= {step}
        ahead = step == "switch" and tenant in self.forced
        missing = [other for other in STEPS[: STEPS.index(step)] if other not in self.through[tenant]]
        return (
            f"{step} began, and {' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not through"
            if missing and not ahead
            else None
        )

    def _take_back(self, tenant: str, step: str) -> str | None:
        later = [other for other in STEPS[STEPS.index(step) + 1 :] if other in self.begun[tenant]]
        self.begun[tenant] -= {step}
        self.through[tenant] -= {step}
        return f"{step} was taken back before {' and '.join(later)}" if later else None


class DrainedBeforeRedirect(Check):
    """Reads the cursors; keeps only which consumer reads which subscription."""

    claim = (
        "A broker whose topic is migrated redirects a consumer only when its subscription has no "
        "backlog there."
    )

    def begin(self, scenario: Scenario) -> None:
        self.subscriptions = {name: spec.subscription for name, spec in scenario.consumers.items()}

    def copy_into(self, copy: Self) -> None:
        copy.subscriptions = self.subscriptions

    def read(self, stretch: Stretch, known: Knowledge) -> Iterable[tuple[int, str]]:
        """Consumers that were redirected while their subscription had a backlog."""
        broken: list[tuple[int, str]] = []
        for seq, cluster, topic, client in stretch.of("client.redirected").records(
            "cluster", "topic", "client"
        ):
            if stretch.name(client) not in self.subscriptions:
                continue  # producers are redirected at once
            place = known.cursors.place_at(
                (cluster, topic, stretch.number(self.subscriptions[stretch.name(client)])), seq
            )
            left = known.logs.of(cluster, topic).between(place, PAST_EVERY_LEDGER, seq)
            if place != NOWHERE and left.stop > left.start:
                broken.append(
                    (
                        seq,
                        (
                            f"{stretch.name(client)} was sent on from {stretch.name(topic)} in "
                            f"{stretch.name(cluster)} with {left.stop - left.start} entries left"
                        ),
                    )
                )
        return broken
