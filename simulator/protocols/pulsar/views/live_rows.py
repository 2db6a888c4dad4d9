"""The rows of Pulsar that a live page keeps, marks and shows in the time diagram."""

from __future__ import annotations

from simulator.protocols.pulsar.events import EVENTS
from simulator.system.live_rows import LiveRows, Passages

STOPS = ("snapshot.completed", "snapshot.timed-out", "snapshot.abandoned")
"""Ended snapshots."""

LIVE_ROWS = LiveRows(
    kept={
        # about forty snapshots
        "snapshots": (
            (
                "snapshot.requested",
                "snapshot.answered",
                "snapshot.position",
                *STOPS,
                "snapshot.cached",
                "snapshot.used",
                "snapshot.evicted",
            ),
            400,
        ),
        "created": (("subscription.created",), 100),  # every cursor
        "held": (("message.held",), 200),
    },
    faults=("cluster.crashed", "cluster.restarted", "cluster.lost", "failover.started"),
    stops=STOPS,
    jumps=("update.applied", "subscription.created", "subscription.deleted"),
    jumps_of_all=(
        "cluster.crashed",
        "cluster.restarted",
        "cluster.lost",
        "failover.started",
        "failover.finished",
    ),
    passages=Passages(
        listed=tuple(
            event.name
            for event in EVENTS
            if event.plane == "control" and event.name.startswith(("marker.", "snapshot."))
        ),
        sent=("marker.sent",),
        lost=("marker.lost", "marker.dropped"),
    ),
)
