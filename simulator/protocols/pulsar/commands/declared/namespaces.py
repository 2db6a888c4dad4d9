"""Commands about namespaces of one cluster, under pulsar-admin's names (docs/topic-creation.md)."""

from __future__ import annotations

from simulator.protocols.pulsar.commands.declared.arguments import ADMIN_CLUSTER, command
from simulator.protocols.pulsar.scenario.policies import PARTITIONS_MOST, SCHEMA_STRATEGIES, TOPIC_TYPES
from simulator.scenarios.command import Command
from simulator.scenarios.key import Key

_NAMESPACE = Key("namespace", "namespace", "which namespace", required=True)

_LISTED = Key("clusters", "names", "the whole new list", required=True)

NAMESPACES: tuple[Command, ...] = (
    command(
        "namespace.create",
        "create a namespace in one cluster",
        (ADMIN_CLUSTER, _NAMESPACE),
        refusals=("409", "cluster-down"),
    ),
    command(
        "namespace.set-clusters",
        "set a namespace's replication clusters, as one cluster has them",
        (
            ADMIN_CLUSTER,
            _NAMESPACE,
            _LISTED,
            Key(
                "compareTopicPartitions",
                "boolean",
                (
                    "compare topics and policies of both sides first: the command line does, a plain REST "
                    "call does not"
                ),
                default=True,
            ),
        ),
        refusals=("400", "403", "404", "409", "412", "500", "cluster-down"),
    ),
    command(
        "namespace.set-auto-topic-creation",
        "override what clients may create in a namespace",
        (
            ADMIN_CLUSTER,
            _NAMESPACE,
            Key("allowAutoTopicCreation", "boolean", "they may", default=True),
            Key(
                "allowAutoTopicCreationType",
                "choice",
                "what they create; without it as the broker says",
                choices=TOPIC_TYPES,
            ),
            Key(
                "defaultNumPartitions",
                "integer",
                "with how many partitions",
                minimum=0,
                maximum=PARTITIONS_MOST,
            ),
        ),
        refusals=("404", "412", "cluster-down"),
    ),
    command(
        "namespace.remove-auto-topic-creation",
        "remove the override: the broker's settings apply",
        (ADMIN_CLUSTER, _NAMESPACE),
        refusals=("404", "cluster-down"),
    ),
    command(
        "namespace.set-schema-compatibility-strategy",
        "set a namespace's schema compatibility strategy",
        (
            ADMIN_CLUSTER,
            _NAMESPACE,
            Key("strategy", "choice", "the strategy", required=True, choices=SCHEMA_STRATEGIES),
        ),
        refusals=("404", "cluster-down"),
    ),
    command(
        "namespace.set-is-allow-auto-update-schema",
        "allow or forbid schema updates by clients",
        (
            ADMIN_CLUSTER,
            _NAMESPACE,
            Key("enabled", "boolean", "clients may", required=True),
            Key("enableForReplicator", "boolean", "replicators may; without it as before"),
        ),
        refusals=("400", "404", "cluster-down"),
    ),
)
