"""Commands about the clusters that a topic replicates to."""

from __future__ import annotations

from simulator.protocols.pulsar.commands.declared.arguments import ADMIN_CLUSTER, CLUSTER, TOPIC, command
from simulator.scenarios.command import Command
from simulator.scenarios.key import Key

_LISTED = Key("clusters", "names", "the whole new list", required=True)

CLUSTERS: tuple[Command, ...] = (
    command(
        "replication.remove-cluster",
        "remove a cluster from a topic's replication list; the replication cursors to it are deleted",
        (TOPIC, CLUSTER),
        refusals=("namespace-replication", "not-listed"),
    ),
    command(
        "replication.add-cluster",
        "add a cluster to a topic's replication list; replication cursors to it start at replicationStartAt",
        (TOPIC, CLUSTER),
        refusals=("listed", "namespace-replication", "no-topic"),
    ),
)
LISTS: tuple[Command, ...] = (
    command(
        "topic.set-replication-clusters",
        "set a topic's own replication list in one cluster",
        (
            ADMIN_CLUSTER,
            TOPIC,
            _LISTED,
            Key(
                "global",
                "boolean",
                "a global policy: it travels to the namespace's other clusters",
                default=False,
            ),
        ),
        refusals=("403", "404", "409", "412", "500", "cluster-down"),
    ),
    command(
        "topic.remove-replication-clusters",
        "remove a topic's own replication list: the namespace's applies",
        (ADMIN_CLUSTER, TOPIC, Key("global", "boolean", "the global policy, in all clusters", default=False)),
        refusals=("404", "cluster-down"),
    ),
)
