"""The rules for namespaces, schemas and a topic's `exists` in a scenario (see `consistency`)."""

from __future__ import annotations

from simulator.protocols.pulsar.scenario.check import PulsarCheck
from simulator.scenarios.problems import suggestion

WITH_DEFINITION = ("AVRO", "JSON")


def check_creation(check: PulsarCheck) -> None:
    _namespaces(check)
    _schemas(check)
    for name in check.scenario.topics:
        _exists(check, name)


def _namespaces(check: PulsarCheck) -> None:
    for name, namespace in check.scenario.namespaces.items():
        here = ("namespaces", name)
        places = tuple(check.scenario.clusters) if namespace.clusters is None else namespace.clusters
        for cluster in namespace.overrides:
            if cluster not in places:
                check.fail(
                    (*here, "overrides", cluster),
                    "the namespace does not exist there",
                    suggestion(cluster, places),
                )
        for cluster in places:
            policies = {
                **{key: getattr(namespace, key) for key in _CHECKED},
                **namespace.overrides.get(cluster, {}),
            }
            _auto_creation(check, here, policies)
            listed = policies["replication_clusters"]
            if listed == ():
                check.fail(
                    (*here, "replicationClusters"),
                    "is empty",
                    "leave it out: a namespace without it is not replicated",
                )
            allowed = policies["allowed_clusters"]
            for other in listed or ():
                if allowed and other not in allowed:
                    check.fail(
                        (*here, "replicationClusters"),
                        f'"{other}" is not among the allowed clusters',
                        suggestion(other, allowed),
                    )


_CHECKED = (
    "replication_clusters",
    "allowed_clusters",
    "allow_auto_topic_creation_type",
    "default_num_partitions",
)


def _auto_creation(check: PulsarCheck, here: tuple[str, str], policies: dict) -> None:
    number, kind = policies["default_num_partitions"], policies["allow_auto_topic_creation_type"]
    if kind == "non-partitioned" and number is not None and number > 1:
        check.fail(
            (*here, "defaultNumPartitions"),
            f"{number} partitions of a non-partitioned topic",
            "leave it out, or choose partitioned",
        )
    if kind == "partitioned" and number == 0:
        check.fail((*here, "defaultNumPartitions"), "a partitioned topic without partitions", "at least 1")


def _schemas(check: PulsarCheck) -> None:
    for name, schema in check.scenario.schemas.items():
        needs = schema.type in WITH_DEFINITION
        if needs and schema.definition is None:
            check.fail(
                ("schemas", name, "definition"),
                "is missing",
                f"{schema.type} needs the Avro schema of its records",
            )
        if not needs and schema.definition is not None:
            check.fail(
                ("schemas", name, "definition"),
                f"has no effect for {schema.type}",
                "leave it out, or choose AVRO or JSON",
            )


def _exists(check: PulsarCheck, name: str) -> None:
    topic = check.scenario.topics[name]
    namespace = check.scenario.namespaces.get(topic.namespace)
    for cluster in topic.shapes:
        if topic.exists is not None and cluster not in topic.clusters:
            check.fail(
                ("topics", name, "exists", cluster),
                f"topic {name} is not in {cluster}",
                suggestion(cluster, topic.clusters),
            )
        if namespace is not None and namespace.clusters is not None and cluster not in namespace.clusters:
            right = f"let {topic.namespace} exist there, or leave the topic out of {cluster}"
            check.fail(
                ("topics", name), f"its namespace {topic.namespace} does not exist in {cluster}", right
            )
    if topic.exists is not None and topic.partitions:
        check.fail(
            ("topics", name, "partitions"),
            "does not go with exists",
            "leave it out: exists gives the number for each cluster",
        )
