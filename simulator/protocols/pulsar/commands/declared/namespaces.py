"""Commands about namespaces of one cluster, under pulsar-admin's names (docs/pulsar.md)."""

from __future__ import annotations

from simulator.protocols.pulsar.commands.declared.arguments import ADMIN_CLUSTER, command
from simulator.protocols.pulsar.scenario.policies import (
    EVICTION,
    PARTITIONS_MOST,
    QUOTA_POLICIES,
    QUOTA_TYPES,
    SCHEMA_STRATEGIES,
    SIZE,
    TOPIC_TYPES,
)
from simulator.scenarios.declarations import Command, Key, When

_NAMESPACE = Key("namespace", "namespace", "which namespace", required=True, begin="public/default")

_QUOTA_TYPE = Key("type", "choice", "what is limited", default=SIZE, choices=QUOTA_TYPES)
_LISTED = Key("clusters", "names", "the whole new list", required=True)

NAMESPACES: tuple[Command, ...] = (
    command(
        "namespace.create",
        "create a namespace in one cluster",
        (ADMIN_CLUSTER, _NAMESPACE),
        refusals=("404", "409", "cluster-down"),
        label="create a namespace",
        consequence="{namespace} exists in {cluster} with default policies.",
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
        label="set a namespace's replication clusters",
        consequence=(
            (
                "From {cluster}, topics of {namespace} replicate to {clusters|the clusters you name}; "
                "other clusters keep their own lists. "
            ),
            When(
                "compareTopicPartitions",
                {
                    "false": (
                        "Nothing is compared first: topics that differ are refused one by one when their "
                        "replicators start."
                    )
                },
                "Refused with 409 if topics or auto-creation differ between the two sides.",
            ),
        ),
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
                "what they create; without it non-partitioned topics",
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
        label="set a namespace's auto topic creation",
        consequence=(
            "Clients that connect to a missing topic of {namespace} in {cluster} follow this policy. "
            "Replicators do not check it."
        ),
    ),
    command(
        "namespace.remove-auto-topic-creation",
        "remove the override: the broker's settings apply",
        (ADMIN_CLUSTER, _NAMESPACE),
        refusals=("404", "cluster-down"),
        label="remove a namespace's auto topic creation",
        consequence="The broker settings of {cluster} apply again.",
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
        label="set a schema compatibility strategy",
        consequence=(
            "New schemas must satisfy {strategy}. A replicator that has stopped stays stopped until its "
            "topic is unloaded."
        ),
    ),
    command(
        "namespace.set-backlog-quota",
        "limit the backlog of each topic of a namespace",
        (
            ADMIN_CLUSTER,
            _NAMESPACE,
            Key("limit", "size", "size of the backlog, which destination_storage needs", begin="10MB"),
            Key(
                "limitTime",
                "duration",
                "age of the oldest message, in whole seconds, which message_age needs",
            ),
            Key(
                "policy",
                "choice",
                "what the broker does when the limit is reached",
                required=True,
                choices=QUOTA_POLICIES,
                begin=EVICTION,
            ),
            _QUOTA_TYPE,
        ),
        refusals=("400", "404", "cluster-down"),
        label="set a backlog quota",
        consequence=(
            "Each topic of {namespace} in {cluster} is checked each backlogQuotaCheckIntervalInSeconds. ",
            When(
                "policy",
                {
                    "consumer_backlog_eviction": (
                        "Above the limit the slowest cursors are moved forward. If one is a replication "
                        "cursor, its region never gets those messages."
                    ),
                    "producer_exception": (
                        "Above the limit producers are closed, replicators of other regions included, and "
                        "their sends fail."
                    ),
                },
                "Above the limit producers are closed, replicators of other regions included, and wait.",
            ),
        ),
    ),
    command(
        "namespace.remove-backlog-quota",
        "remove a backlog quota: the broker's default applies",
        (ADMIN_CLUSTER, _NAMESPACE, _QUOTA_TYPE),
        refusals=("404", "cluster-down"),
        label="remove a backlog quota",
        consequence="The default backlog quota of {cluster} applies again.",
    ),
    command(
        "namespace.set-is-allow-auto-update-schema",
        "allow or forbid schema updates by clients",
        (
            ADMIN_CLUSTER,
            _NAMESPACE,
            Key("enabled", "boolean", "clients may", required=True, begin=True),
            Key("enableForReplicator", "boolean", "replicators may; without it as before", begin=True),
        ),
        refusals=("400", "404", "cluster-down"),
        consequence=(
            When(
                "enabled",
                {"true": "Clients may register compatible schemas."},
                "Clients can use existing schemas only.",
            ),
            When(
                "enableForReplicator",
                {"false": " So can replicators: a new schema at the source stops replication."},
            ),
        ),
    ),
)
