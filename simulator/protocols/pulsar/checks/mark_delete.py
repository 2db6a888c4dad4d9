"""Mark-delete moves back only by a reset, a recovery, or an earlier last entry of its topic.

A recovery sets the persisted value. A new cursor counts as persisted, because its creation is a write of its
own. A recovery is compared with the persisted value even where it does not move back. Only "before the first
entry" may name another ledger, because empty ledgers are dropped.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from simulator.checks.check import Check
from simulator.checks.stretch import Stretch, position_words
from simulator.protocols.pulsar.checks.cursors import CREATED, MOVED, NOWHERE, RECOVERED, Cursor
from simulator.protocols.pulsar.checks.knowledge import Knowledge


class MarkDelete(Check):
    """Follows every cursor by its rows."""

    claim = (
        "Mark-delete moves back only by a reset, by recovery to its persisted value, or to "
        "the last entry in its topic's ledgers."
    )

    def read(self, stretch: Stretch, known: Knowledge) -> Iterable[tuple[int, str]]:
        """Moves back for another reason, and recoveries to another position than the persisted one."""
        for (cluster, topic, subscription), cursor in known.cursors.touched():
            before = cursor.places_before()
            back = (cursor.places < before) & (cursor.places != NOWHERE) & (cursor.kinds != CREATED)
            for at in np.flatnonzero(back | (cursor.kinds == RECOVERED)).tolist():
                fault = self._fault(stretch, cursor, at, int(before[at]))
                if fault:
                    words = (
                        f"{stretch.name(subscription)} of {stretch.name(topic)} at {stretch.name(cluster)}"
                    )
                    yield int(cursor.stood[at]), f"{words}: {fault}"

    def _fault(self, stretch: Stretch, cursor: Cursor, at: int, before: int) -> str | None:
        """The fault of its `at`-th row of the stretch, which moved it back, in words."""
        reason = stretch.name(int(cursor.reasons[at])) if cursor.kinds[at] == MOVED else "recovery"
        if reason in ("reset", "ahead-of-last"):
            return None
        to = int(cursor.places[at])
        if reason != "recovery":
            return f"mark-delete went back from {position_words(before)} to {position_words(to)} by {reason}"
        persisted = cursor.persisted_at(int(cursor.stood[at]))
        if to == persisted or (to > persisted and position_words(to).endswith(":-1")):
            return None
        step = f"mark-delete went from {position_words(before)} to {position_words(to)} by recovery"
        return f"{step}, but what had been persisted was {position_words(persisted)}"
