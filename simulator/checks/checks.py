"""The checks of a run, in order, reading its trace as it grows.

To add a check: one file with a subclass of `Check` and its one-sentence claim, one line in its protocol's
table here, one section in `docs/checks.md`, and in the tests a run that passes and a mutation of a rule that
the check names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simulator.checks.check import Check
from simulator.checks.knowledge import NoKnowledge
from simulator.checks.stretch import Stretch
from simulator.checks.violation import Violation
from simulator.protocols.emqx.checks.groups import GROUP_CHECKS
from simulator.protocols.pulsar.checks.asked_again import AskedAgain
from simulator.protocols.pulsar.checks.audiences_served import AudiencesServed
from simulator.protocols.pulsar.checks.back_in_time import BackInTime
from simulator.protocols.pulsar.checks.blue_green import LeftEmpty
from simulator.protocols.pulsar.checks.broker_limits import BrokerLimits
from simulator.protocols.pulsar.checks.causes_add_up import CLAIM as CAUSES_ADD_UP
from simulator.protocols.pulsar.checks.causes_add_up import causes_that_do_not_add_up
from simulator.protocols.pulsar.checks.deletions import DeletedUnused, Terminated
from simulator.protocols.pulsar.checks.expired_rightly import ExpiredRightly
from simulator.protocols.pulsar.checks.filtered_rightly import FilteredRightly
from simulator.protocols.pulsar.checks.knowledge import Knowledge
from simulator.protocols.pulsar.checks.lists_agreed import ListsAgreed
from simulator.protocols.pulsar.checks.lookups import AnsweredWhenAble, StateAsSent
from simulator.protocols.pulsar.checks.mark_delete import MarkDelete
from simulator.protocols.pulsar.checks.markers_hidden import MarkersHidden
from simulator.protocols.pulsar.checks.migrations import CopiedBeforeDeleted, SentWhereTold, ToldBeforeDeleted
from simulator.protocols.pulsar.checks.moved_whole import BroughtWhole
from simulator.protocols.pulsar.checks.moves_in_order import DrainedBeforeSentOn, StepsInOrder
from simulator.protocols.pulsar.checks.nothing_gone import NothingGone
from simulator.protocols.pulsar.checks.one_hop import OneHop
from simulator.protocols.pulsar.checks.order_kept import OrderKept
from simulator.protocols.pulsar.checks.permissions import Permitted
from simulator.protocols.pulsar.checks.policies_sensible import PoliciesSensible
from simulator.protocols.pulsar.checks.read_where_it_is import ReadWhereItIs
from simulator.protocols.pulsar.checks.requests_copied import RequestsCopied
from simulator.protocols.pulsar.checks.retries_wait import RetriesWait
from simulator.protocols.pulsar.checks.safe_update import SafeUpdate
from simulator.protocols.pulsar.checks.same_shape import SameShape
from simulator.protocols.pulsar.checks.schema_first import SchemaFirst
from simulator.protocols.pulsar.checks.schemas_by_rule import SchemasByRule
from simulator.protocols.pulsar.checks.shadow_bookies import ShadowKnowsFromBookies
from simulator.protocols.pulsar.checks.shadow_feeding import ShadowFed, ShadowHears
from simulator.protocols.pulsar.checks.shadow_shape import ShadowShape
from simulator.protocols.pulsar.checks.shadow_told import ShadowToldAll
from simulator.protocols.pulsar.checks.shadows import (
    ShadowDeliversSource,
    ShadowLosesAloud,
    ShadowWithinSource,
    ShadowWritesNothing,
)
from simulator.protocols.pulsar.checks.states_in_time import StatesInTime
from simulator.protocols.pulsar.checks.synced_acks_kept import ToldKept
from simulator.protocols.pulsar.checks.topics_created import AutoCreated, CreatedWhereItMay
from simulator.scenarios.families import EMQX, PULSAR
from simulator.scenarios.model import Scenario
from simulator.trace.trace import BLOCK_ROWS, Trace

MIGRATION_CHECKS = (SentWhereTold, CopiedBeforeDeleted, ToldBeforeDeleted)
SHADOW_CHECKS = (ShadowWritesNothing, ShadowDeliversSource, ShadowWithinSource, ShadowLosesAloud)
FEEDING_CHECKS = (ShadowFed, ShadowToldAll, ShadowKnowsFromBookies, ShadowHears, ShadowShape)
ADMINISTRATION_CHECKS = (
    DeletedUnused,
    Terminated,
    Permitted,
    AnsweredWhenAble,
    StateAsSent,
    BroughtWhole,
    LeftEmpty,
)
CREATION_CHECKS = (ListsAgreed, CreatedWhereItMay, AutoCreated, SchemasByRule, RetriesWait)
LATER_CHECKS = (
    ExpiredRightly,
    StatesInTime,
    AskedAgain,
    ReadWhereItIs,
    PoliciesSensible,
    RequestsCopied,
    BackInTime,
)
ROW_CHECKS: tuple[type[Check], ...] = (
    SafeUpdate,
    MarkDelete,
    MarkersHidden,
    OrderKept,
    OneHop,
    NothingGone,
    FilteredRightly,
    BrokerLimits,
    SameShape,
    SchemaFirst,
    *SHADOW_CHECKS,
    AudiencesServed,
    *MIGRATION_CHECKS,
    StepsInOrder,
    DrainedBeforeSentOn,
    ToldKept,
    *FEEDING_CHECKS,
    *ADMINISTRATION_CHECKS,
    *CREATION_CHECKS,
    *LATER_CHECKS,
)

CHECKS_OF: dict[str, tuple[type, tuple[type[Check], ...]]] = {
    PULSAR: (Knowledge, ROW_CHECKS),
    EMQX: (NoKnowledge, GROUP_CHECKS),
}
"""By protocol: what its checks know in common, and the checks themselves."""

CLAIMS: tuple[str, ...] = (
    *(check.claim for _known, checks in CHECKS_OF.values() for check in checks),
    CAUSES_ADD_UP,
)
"""Every claim in order: what `Violation.claim` can say."""


class Checks:
    """Reads the trace of one branch from its first row on. `position` is the first row not read yet.

    Reading whole blocks of the trace costs a tenth of reading its open end row by row, so whoever runs
    without a viewer reads once per block and at the end.
    """

    def __init__(self, scenario: Scenario) -> None:
        self.position = 0
        self.violations: list[Violation] = []
        self._audiences = tuple(scenario.audiences)
        knowledge, checks = CHECKS_OF[scenario.protocol]
        self._known = knowledge()
        self._checks = [check(scenario) for check in checks]

    def read(self, trace: Trace, upto_seq: int | None = None) -> list[Violation]:
        """Read on up to row `upto_seq` (excluded; all there are by default) and return what is newly broken.

        What was read before is not read again: standing behind `position` costs nothing and finds nothing.
        """
        upto_seq = len(trace) if upto_seq is None else min(upto_seq, len(trace))
        found: list[Violation] = []
        while self.position < upto_seq:
            last = min(upto_seq, (self.position // BLOCK_ROWS + 1) * BLOCK_ROWS)
            found += self._read_stretch(Stretch(trace, self.position, last, self._audiences))
            self.position = last
        self.violations += found
        return found

    def _read_stretch(self, stretch: Stretch) -> list[Violation]:
        self._known.read(stretch)
        found = [violation for check in self._checks for violation in check.violations(stretch, self._known)]
        return sorted(found, key=lambda violation: violation.seq)

    def check_counts(self, failovers: Sequence[dict[str, Any]]) -> list[Violation]:
        """Judge counted failovers (the summary's). Not kept: counts change as a window goes on."""
        return [
            Violation(CAUSES_ADD_UP, max(self.position - 1, 0), at_us, reason)
            for at_us, reason in causes_that_do_not_add_up(failovers)
        ]

    # --- seek and fork

    def copy(self) -> Checks:
        """Independent checks at the same place; the cost does not grow with the rows read."""
        copy = object.__new__(Checks)
        copy._take(self)
        return copy

    def capture(self) -> Checks:
        """The state as it is now, which nothing changes any more, for `restore`."""
        return self.copy()

    def restore(self, captured: Checks) -> None:
        """Go back (or forth) to a captured state; it can be used again."""
        self._take(captured)

    def _take(self, other: Checks) -> None:
        self.position = other.position
        self.violations = list(other.violations)
        self._audiences = other._audiences
        self._known = other._known.copy()
        self._checks = [check.copy() for check in other._checks]
