"""Commands about the clusters that a topic replicates to."""

from __future__ import annotations

from simulator.protocols.pulsar.commands.declared.arguments import ADMIN_CLUSTER, CLUSTER, TOPIC, command
from simulator.scenarios.command import Command
from simulator.scenarios.consequence import When
from simulator.scenarios.key import Key

_LISTED = Key("clusters", "names", "the whole new list", required=True)

CLUSTERS: tuple[Command, ...] = (
    command(
        "replication.remove-cluster",
        "remove a cluster from a topic's replication list; the replication cursors to it are deleted",
        (TOPIC, CLUSTER),
        refusals=("namespace-replication", "not-listed"),
        label="remove a cluster from the replication list",
        consequence=(
            "{cluster} receives no more messages and markers. Snapshots of the other regions no longer "
            "wait for it."
        ),
    ),
    command(
        "replication.add-cluster",
        "add a cluster to a topic's replication list; replication cursors to it start at replicationStartAt",
        (TOPIC, CLUSTER),
        refusals=("listed", "namespace-replication", "no-topic"),
        label="add a cluster to the replication list",
        consequence="{cluster} receives messages from now on, and snapshots wait for its response, too.",
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
        refusals=("403", "404", "405", "409", "412", "500", "cluster-down"),
        label="give a topic its own replication list",
        consequence=(
            (
                "From {cluster} the topic replicates to {clusters|the clusters you name},"
                " whatever its namespace's list contains."
            ),
            When(
                "global",
                {
                    "true": (
                        " The policy is global: other clusters apply the same list, and one that is not "
                        "in it deletes the topic."
                    )
                },
            ),
        ),
    ),
    command(
        "topic.remove-replication-clusters",
        "remove a topic's own replication list: the namespace's applies",
        (ADMIN_CLUSTER, TOPIC, Key("global", "boolean", "the global policy, in all clusters", default=False)),
        refusals=("404", "405", "cluster-down"),
        label="remove a topic's own replication list",
        consequence="{cluster} uses the namespace's list again.",
    ),
)
