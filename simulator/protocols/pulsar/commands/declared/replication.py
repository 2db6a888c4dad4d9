"""Commands about the clusters that a topic replicates to."""

from __future__ import annotations

from simulator.protocols.pulsar.commands.declared.arguments import ADMIN_CLUSTER, CLUSTER, TOPIC, command
from simulator.scenarios.command import Command
from simulator.scenarios.key import Key

_LISTED = Key("clusters", "names", "the whole new list", required=True)

CLUSTERS: tuple[Command, ...] = (
    command(
        "replication.remove-cluster",
        "take a cluster off a topic's replication list; the cursors towards it go with it",
        (TOPIC, CLUSTER),
        refusals=("namespace-replication", "not-listed"),
    ),
    command(
        "replication.add-cluster",
        "put a cluster on a topic's replication list; cursors towards it begin at replicationStartAt",
        (TOPIC, CLUSTER),
        refusals=("listed", "namespace-replication", "no-topic"),
    ),
)
LISTS: tuple[Command, ...] = (
    command(
        "topic.set-replication-clusters",
        "give a topic a replication list of its own in one cluster",
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
        "let the namespace's list count again",
        (ADMIN_CLUSTER, TOPIC, Key("global", "boolean", "the global policy, in all clusters", default=False)),
        refusals=("404", "cluster-down"),
    ),
)
