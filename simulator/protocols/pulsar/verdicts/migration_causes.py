"""The ordered causes of tenant migration, in one table for its three strategies.

The strategies are none, snapshots and acknowledgement-state sync.
Rules: a subscription that synchronises its acknowledgements has lines 0 to 5, except `not_replicated`, and
the two causes of sync. The causes about mark-deletes and snapshots (6 to 10) do not apply to it. Every other
subscription has the causes of replicated subscriptions.
"""

from __future__ import annotations

from collections.abc import Callable

from simulator.protocols.pulsar.verdicts.causes import Batch, Cause, Verdict, register_causes
from simulator.protocols.pulsar.verdicts.cursor_causes import nothing
from simulator.protocols.pulsar.verdicts.replicated_causes import CAUSES as SNAPSHOT_CAUSES
from simulator.protocols.pulsar.verdicts.sync_causes import after_last_sync, sync_in_flight, synchronises

FAMILY = "tenant-migration"
_FOR_ALL = (
    "resent_copy",
    "subscription_missing",
    "cursor_went_back",
    "ack_not_registered",
    "not_in_target_yet",
)


def _without_sync(judge: Callable[[Batch], Verdict]) -> Callable[[Batch], Verdict]:
    return lambda batch: nothing(batch) if synchronises(batch) else judge(batch)


def _table() -> tuple[Cause, ...]:
    lines = [
        cause if cause.name in _FOR_ALL else Cause(cause.name, _without_sync(cause.judge))
        for cause in SNAPSHOT_CAUSES
    ]
    after = 1 + [cause.name for cause in lines].index("not_in_target_yet")
    return (
        *lines[:after],
        Cause("sync_in_flight", sync_in_flight),
        Cause("after_last_sync", after_last_sync),
        *lines[after:],
    )


CAUSES: tuple[Cause, ...] = _table()

register_causes(FAMILY, CAUSES)
