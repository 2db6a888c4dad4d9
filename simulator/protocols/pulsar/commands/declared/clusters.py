"""Commands about clusters: crash and restart, settings, and faults of the markers that they send."""

from __future__ import annotations

from simulator.protocols.pulsar.commands.declared.arguments import CLUSTER, command
from simulator.scenarios.declarations import Command, Key, When

MARKER_WORDS = ("snapshot_request", "snapshot_response", "snapshot", "subscription_update")
"""Marker types as the trace's registry names them (a test compares)."""

_PEER = Key("peer", "cluster", "only on the way to this cluster; without it to any")
_MARKER = Key("type", "choice", "type of the marker", required=True, choices=MARKER_WORDS)
_NEXT_MARKER = (
    "The next ",
    When(
        "type",
        {
            "": "marker",
            "snapshot_request": "snapshot request",
            "snapshot_response": "snapshot response",
            "subscription_update": "update",
        },
        "{type}",
    ),
    When("peer", {"": ""}, " for {peer}"),
)

LIVES: tuple[Command, ...] = (
    command(
        "cluster.crash",
        "crash all brokers of a cluster; what was not persisted is lost",
        (
            CLUSTER,
            Key(
                "fault",
                "choice",
                (
                    "what fails: the hosts, with what their kernels hold, as without it, or only the broker "
                    "processes: kernel and network still deliver what they had sent"
                ),
                choices=("host", "process"),
            ),
            Key(
                "clients",
                "boolean",
                "the region's producers and consumers die with it; false: they live and try again",
                default=True,
            ),
            Key(
                "proxy",
                "boolean",
                (
                    "true: a proxy or load balancer in front of the brokers stays up and accepts "
                    "connections, so the probes of AutoClusterFailover succeed; lookups are answered with "
                    "an error, or, without fault: process, not in time"
                ),
            ),
        ),
        refusals=("not-up",),
        label="crash a cluster",
        consequence=(
            "{cluster} stops at once. ",
            When(
                "fault",
                {
                    "process": (
                        "What its brokers had not written is lost. Entries and receipts that they had sent "
                        "still arrive; what is in flight to them is lost."
                    ),
                },
                "What its brokers had not written and what is in flight is lost.",
            ),
            When("clients", {"false": " Its clients keep running and cannot reach it."}),
            When(
                "proxy",
                {
                    "true": (
                        " Its proxy accepts connections, and no lookup through it finds a broker: clients "
                        "retry, sends time out, and AutoClusterFailover does not move, because its probe is "
                        "only a TCP connect. Failover by lookups moves with "
                        "markTopicNotFoundAsAvailable: false."
                    )
                },
            ),
        ),
    ),
    command(
        "cluster.restart",
        "start a crashed cluster from what it had persisted",
        (CLUSTER,),
        refusals=("not-down",),
        label="restart a crashed cluster",
        consequence=(
            "{cluster} restarts with what it had written. Replicators reconnect and send what is missing; "
            "snapshots continue."
        ),
    ),
    command(
        "cluster.lose",
        "lose a cluster and its data permanently",
        (CLUSTER,),
        refusals=("not-up",),
        label="lose a cluster permanently",
        consequence="{cluster} is lost permanently, with every message that only it had.",
    ),
)
PARTITIONS: tuple[Command, ...] = (
    command(
        "link.partition",
        "partition a link: connections hold what is sent until link.heal, or break by their keep-alive",
        (Key("link", "link", "which link: a -> b one way, a <-> b both", required=True),),
        refusals=("already-cut",),
        label="partition a link",
        consequence=(
            "Nothing crosses {link} any more. Connections hold what is sent until the link is healed; "
            "without an answer to a keep-alive ping they break after one to two keepAliveIntervalSeconds."
        ),
    ),
)
MARKERS: tuple[Command, ...] = (
    command(
        "marker.delay",
        "delay the next marker of a type",
        (CLUSTER, _PEER, _MARKER, Key("by", "duration", "by how much", required=True, begin="500ms")),
        label="delay the next marker",
        consequence=(
            *_NEXT_MARKER,
            " that leaves {cluster} arrives ",
            When("by", {"": "later"}, "{by} later"),
            ". What follows it on that connection waits, too.",
        ),
    ),
    command(
        "marker.drop",
        "drop the next marker of a type",
        (CLUSTER, _PEER, _MARKER),
        label="drop the next marker",
        consequence=(
            *_NEXT_MARKER,
            (
                " that leaves {cluster} never arrives. Real links do not lose single markers: this shows "
                "what the marker is for."
            ),
        ),
    ),
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
        consequence="{setting} becomes {value|another value} without a restart.",
    ),
)
