"""Commands about namespaces, topics and schemas of one cluster: what pulsar-admin offers, under its names
(docs/topic-creation.md).
"""

from __future__ import annotations

from simulator.scenarios.shape import PARTITIONS_MOST, SCHEMA_STRATEGIES, TOPIC_TYPES, Key

_CLUSTER = Key("cluster", "cluster", "cluster whose admin service gets the request", required=True)
_NAMESPACE = Key("namespace", "namespace", "which namespace", required=True)
_TOPIC = Key("topic", "topic", "which topic", required=True)
_LISTED = Key("clusters", "names", "the whole new list", required=True)
_PARTITIONS = Key(
    "partitions", "integer", "how many it shall have", required=True, minimum=1, maximum=PARTITIONS_MOST
)

DECLARED: tuple[tuple[str, str, tuple[Key, ...]], ...] = (
    ("namespace.create", "create a namespace in one cluster", (_CLUSTER, _NAMESPACE)),
    (
        "namespace.set-clusters",
        "set a namespace's replication clusters, as one cluster has them",
        (
            _CLUSTER,
            _NAMESPACE,
            _LISTED,
            Key(
                "compareTopicPartitions",
                "boolean",
                (
                    "compare topics and policies of both sides first: the command line does, a plain "
                    "REST call "
                    "does not"
                ),
                default=True,
            ),
        ),
    ),
    (
        "namespace.set-auto-topic-creation",
        "override what clients may create in a namespace",
        (
            _CLUSTER,
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
    ),
    ("namespace.remove-auto-topic-creation", "let the broker's settings count again", (_CLUSTER, _NAMESPACE)),
    (
        "namespace.set-schema-compatibility-strategy",
        "set what a new schema must be to those before",
        (
            _CLUSTER,
            _NAMESPACE,
            Key("strategy", "choice", "the strategy", required=True, choices=SCHEMA_STRATEGIES),
        ),
    ),
    (
        "namespace.set-is-allow-auto-update-schema",
        "let clients register schemas, or not",
        (
            _CLUSTER,
            _NAMESPACE,
            Key("enabled", "boolean", "clients may", required=True),
            Key("enableForReplicator", "boolean", "replicators may; without it as before"),
        ),
    ),
    (
        "topic.create",
        (
            "create a topic in one cluster; a partitioned one's request is copied to the clusters that it "
            "replicates to"
        ),
        (
            _CLUSTER,
            _TOPIC,
            Key(
                "partitions",
                "integer",
                "how many; 0 is a plain topic",
                default=0,
                minimum=0,
                maximum=PARTITIONS_MOST,
            ),
            Key(
                "createLocalTopicOnly", "boolean", "do not copy the request to other clusters", default=False
            ),
        ),
    ),
    (
        "topic.delete",
        "delete a topic in one cluster",
        (_CLUSTER, _TOPIC, Key("force", "boolean", "even if it is still in use", default=False)),
    ),
    (
        "topic.update-partitions",
        "give a partitioned topic more partitions in one cluster, and in those that it replicates to",
        (_CLUSTER, _TOPIC, _PARTITIONS),
    ),
    (
        "topic.set-replication-clusters",
        "give a topic a replication list of its own in one cluster",
        (
            _CLUSTER,
            _TOPIC,
            _LISTED,
            Key(
                "global",
                "boolean",
                "a global policy: it travels to the namespace's other clusters",
                default=False,
            ),
        ),
    ),
    (
        "topic.remove-replication-clusters",
        "let the namespace's list count again",
        (_CLUSTER, _TOPIC, Key("global", "boolean", "the global policy, in all clusters", default=False)),
    ),
    (
        "schema.upload",
        "register a schema as a person, whatever clients may",
        (_CLUSTER, _TOPIC, Key("schema", "schema", "which declared schema", required=True)),
    ),
    ("schema.delete", "delete all schemas of a topic", (_CLUSTER, _TOPIC)),
    (
        "producer.use-schema",
        "let a producer's messages carry another schema from now on",
        (
            Key("producer", "producer", "which producer", required=True),
            Key("schema", "schema", "which declared schema; without it none"),
        ),
    ),
)
