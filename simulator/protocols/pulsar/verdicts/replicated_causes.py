"""The ordered causes of replicated subscriptions, numbered 0 to 10 in `docs/counting.md`."""

from __future__ import annotations

from simulator.protocols.pulsar.verdicts.causes import Cause, register_causes
from simulator.protocols.pulsar.verdicts.cursor_causes import (
    ack_hole,
    ack_not_registered,
    cursor_went_back,
    not_in_target_yet,
    not_replicated,
    resent_copy,
    subscription_missing,
)
from simulator.protocols.pulsar.verdicts.nominal import snapshot_incomplete
from simulator.protocols.pulsar.verdicts.snapshot_causes import (
    after_newest_snapshot,
    snapshot_evicted,
    snapshot_unused,
    update_in_flight,
)

FAMILIES = ("replicated-subscriptions", "shadow-topics")
"""Shadow topics have no mechanism that moves a subscription.

A failover of their source's subscriptions is explained as usual.
"""

CAUSES: tuple[Cause, ...] = (
    Cause("resent_copy", resent_copy),
    Cause("subscription_missing", subscription_missing),
    Cause("not_replicated", not_replicated),
    Cause("cursor_went_back", cursor_went_back),
    Cause("ack_not_registered", ack_not_registered),
    Cause("not_in_target_yet", not_in_target_yet),
    Cause("ack_hole", ack_hole),
    Cause("update_in_flight", update_in_flight),
    Cause("snapshot_evicted", snapshot_evicted),
    Cause("snapshot_unused", snapshot_unused),
    Cause("snapshot_incomplete", snapshot_incomplete),
    Cause("after_newest_snapshot", after_newest_snapshot),
)

for _family in FAMILIES:
    register_causes(_family, CAUSES)
