"""Policies of a namespace in scenario files, with the texts and bounds that commands use, too."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.scenarios.declarations import Key
from simulator.scenarios.units import format_size

TOPIC_TYPES = ("non-partitioned", "partitioned")

SCHEMA_STRATEGIES = (
    "FULL",
    "BACKWARD",
    "FORWARD",
    "FULL_TRANSITIVE",
    "BACKWARD_TRANSITIVE",
    "FORWARD_TRANSITIVE",
    "ALWAYS_COMPATIBLE",
    "ALWAYS_INCOMPATIBLE",
)

SCHEMA_TYPES = (
    "AVRO",
    "JSON",
    "STRING",
    "BOOLEAN",
    "INT8",
    "INT16",
    "INT32",
    "INT64",
    "FLOAT",
    "DOUBLE",
    "BYTES",
)

PARTITIONS_MOST = 256

SIZE, MESSAGE_AGE = QUOTA_TYPES = ("destination_storage", "message_age")
HOLD, EXCEPTION, EVICTION = QUOTA_POLICIES = (
    "producer_request_hold",
    "producer_exception",
    "consumer_backlog_eviction",
)


@dataclass(frozen=True, slots=True)
class BacklogQuota:
    """A limit of a topic's backlog, and what the broker does when it is reached; -1 is no limit."""

    policy: str
    limit_bytes: int = -1
    limit_s: int = -1

    def __str__(self) -> str:
        """As in the row of a changed policy."""
        size = [f"limit {format_size(self.limit_bytes)}"] if self.limit_bytes >= 0 else []
        age = [f"limitTime {self.limit_s}s"] if self.limit_s >= 0 else []
        return ", ".join((*size, *age, f"policy {self.policy}"))


QUOTA_KEYS = (
    Key(
        "limit",
        "size",
        "size of the backlog at which it applies; destination_storage needs it",
        attribute="limit_bytes",
    ),
    Key(
        "limitTime",
        "duration",
        "age of the oldest message at which it applies, in whole seconds; message_age needs it",
        attribute="limit_us",
    ),
    Key(
        "policy",
        "choice",
        "hold or refuse producers, or drop the oldest messages of the slowest cursors",
        required=True,
        choices=QUOTA_POLICIES,
    ),
)
"""The keys of a backlog quota, as of `pulsar-admin namespaces set-backlog-quota`."""


POLICIES = (
    Key(
        "replicationClusters",
        "clusters",
        "clusters that get what is published here; without it only itself",
        attribute="replication_clusters",
    ),
    Key(
        "allowedClusters",
        "clusters",
        "clusters where its topics may live without replication (PIP-321)",
        attribute="allowed_clusters",
    ),
    Key(
        "allowAutoTopicCreation",
        "boolean",
        "a client that connects to a missing topic creates it",
        attribute="allow_auto_topic_creation",
    ),
    Key(
        "allowAutoTopicCreationType",
        "choice",
        "what it creates",
        attribute="allow_auto_topic_creation_type",
        choices=TOPIC_TYPES,
    ),
    Key(
        "defaultNumPartitions",
        "integer",
        "with how many partitions, where that is partitioned",
        attribute="default_num_partitions",
        minimum=0,
        maximum=PARTITIONS_MOST,
    ),
    Key(
        "schemaCompatibilityStrategy",
        "choice",
        "what a new schema must be to those before",
        attribute="schema_compatibility_strategy",
        choices=SCHEMA_STRATEGIES,
    ),
    Key(
        "isAllowAutoUpdateSchema",
        "boolean",
        "clients may register schemas",
        attribute="is_allow_auto_update_schema",
    ),
    Key(
        "isAllowAutoUpdateSchemaWithReplicator",
        "boolean",
        "replicators may, also where clients may not (PIP-433)",
        attribute="is_allow_auto_update_schema_with_replicator",
    ),
    Key(
        "schemaValidationEnforced",
        "boolean",
        "producers without a schema are refused where the topic has one",
        attribute="schema_validation_enforced",
    ),
    Key(
        "backlogQuotas",
        "backlog-quotas",
        "limits of each topic's backlog, by type; without one the broker's default",
        attribute="backlog_quotas",
    ),
    Key(
        "changeEventsPartitions",
        "integer",
        (
            "the system topic `__change_events` exists with so many partitions, 0 as a plain topic; without "
            "it not yet"
        ),
        attribute="change_events_partitions",
        minimum=0,
        maximum=PARTITIONS_MOST,
    ),
)
"""Policies of a namespace in one cluster."""
