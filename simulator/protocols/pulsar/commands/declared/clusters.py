"""Commands about clusters: their lives, their settings, and faults of the markers that leave them."""

from __future__ import annotations

from simulator.protocols.pulsar.commands.declared.arguments import CLUSTER, command
from simulator.scenarios.command import Command
from simulator.scenarios.key import Key

MARKER_WORDS = ("snapshot_request", "snapshot_response", "snapshot", "subscription_update")
"""Marker types as the trace's registry names them (a test compares)."""

_PEER = Key("peer", "cluster", "only on the way to this cluster; without it to any")
_MARKER = Key("type", "choice", "type of the marker", required=True, choices=MARKER_WORDS)

LIVES: tuple[Command, ...] = (
    command(
        "cluster.crash",
        "crash all brokers of a cluster; what was not persisted is lost",
        (
            CLUSTER,
            Key(
                "clients",
                "boolean",
                "the region's producers and consumers die with it; false: they live and try again",
                default=True,
            ),
        ),
        refusals=("not-up",),
    ),
    command(
        "cluster.restart",
        "start a crashed cluster from what it had persisted",
        (CLUSTER,),
        refusals=("not-down",),
    ),
    command("cluster.lose", "lose a cluster and its data permanently", (CLUSTER,), refusals=("not-up",)),
)
MARKERS: tuple[Command, ...] = (
    command(
        "marker.delay",
        "delay the next marker of a type",
        (CLUSTER, _PEER, _MARKER, Key("by", "duration", "by how much", required=True)),
    ),
    command("marker.drop", "drop the next marker of a type", (CLUSTER, _PEER, _MARKER)),
)
SETTINGS: tuple[Command, ...] = (
    command(
        "setting.change",
        "change a broker setting",
        (
            Key("cluster", "cluster", "only there; without it everywhere"),
            Key("setting", "setting-name", "which setting", required=True),
            Key("value", "setting-value", "its new value", required=True),
        ),
    ),
)
