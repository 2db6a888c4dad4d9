"""Commands about namespaces; codes are pulsar-admin's HTTP status, 204 on success."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.protocols.pulsar.commands.named import cluster_up
from simulator.protocols.pulsar.creation import catalogue, policies, remote_admin
from simulator.protocols.pulsar.migration.resources import TENANT
from simulator.protocols.pulsar.scenario.sections import backlog_quota
from simulator.scenarios.commands import CommandError
from simulator.scenarios.tree import Wrong
from simulator.system.commanding import Begin, Handler

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.cluster import Cluster
    from simulator.protocols.pulsar.pulsar import Pulsar
    from simulator.protocols.pulsar.scenario.policies import BacklogQuota


_INVALID = "Invalid configuration for autoTopicCreationOverride. the detail is "


def _present(runtime: Pulsar, arguments: dict) -> Cluster:
    """The cluster of the arguments, in which their namespace exists."""
    cluster = cluster_up(runtime, arguments["cluster"])
    if policies.of_namespace(runtime, cluster.name, arguments["namespace"]) is None:
        raise CommandError(
            "404",
            "Namespace does not exist",
            f"create {arguments['namespace']} in {cluster.name}, or name one that the scenario declares",
        )
    return cluster


def create(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """namespace.create: with default policies.

    The tenant must exist (`validateClusterForTenantAsync`). Only tenants that can migrate may be missing.
    """
    cluster, namespace = cluster_up(runtime, arguments["cluster"]), arguments["namespace"]
    tenant = namespace.partition("/")[0]
    if tenant in runtime.scenario.tenants and (TENANT, tenant) not in runtime.directory[cluster.name]:
        raise CommandError(
            "404", "Tenant does not exist", f"{cluster.name} gets {tenant} when it is migrated there"
        )
    if policies.of_namespace(runtime, cluster.name, namespace) is not None:
        raise CommandError(
            "409", "Namespace already exists", f"{cluster.name} has {namespace}; change its policies instead"
        )
    cause = begin(code="204")
    runtime.policies.add_namespace(cluster.name, namespace)
    catalogue.apply(runtime, runtime.rows.namespace_created(cause, cluster=cluster.number, detail=namespace))


def set_namespace_clusters(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """namespace.set-clusters: checked as in PIP-433, then replicators start and stop accordingly."""
    cluster_up(runtime, arguments["cluster"])
    remote_admin.members(runtime, tuple(arguments["clusters"]))
    cluster = _present(runtime, arguments)
    remote_admin.validate(
        runtime,
        cluster,
        arguments["namespace"],
        tuple(arguments["clusters"]),
        arguments["compareTopicPartitions"],
    )
    cause = policies.change(
        runtime,
        cluster.name,
        arguments["namespace"],
        begin(code="204"),
        replication_clusters=tuple(arguments["clusters"]),
    )
    catalogue.apply(runtime, cause)


def set_auto_creation(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """namespace.set-auto-topic-creation: replaces the whole override.

    Its type is non-partitioned unless it is given, as in pulsar-admin. An override that forbids creation is
    not checked (`AutoTopicCreationOverrideImpl.validateOverride`).
    """
    cluster_up(runtime, arguments["cluster"])
    kind = arguments.get("allowAutoTopicCreationType", "non-partitioned")
    number = arguments.get("defaultNumPartitions")
    wrong = None
    if kind == "non-partitioned" and (number or 0) > 1:  # since #25163
        wrong = f"is not allowed to be {number} when the type is non-partition."
    elif kind == "partitioned" and not number:
        wrong = (
            "cannot be null when the type is partitioned."
            if number is None
            else "cannot be less than 1 for partition type."
        )
    if wrong is not None and arguments["allowAutoTopicCreation"]:
        raise CommandError(
            "412",
            f"{_INVALID}[defaultNumPartitions] {wrong}",
            "give the number of partitions"
            if kind == "partitioned"
            else "leave it out, or choose partitioned",
        )
    cluster = _present(runtime, arguments)
    policies.change(
        runtime,
        cluster.name,
        arguments["namespace"],
        begin(code="204"),
        allow_auto_topic_creation=arguments["allowAutoTopicCreation"],
        allow_auto_topic_creation_type=kind,
        default_num_partitions=number,
    )


def remove_auto_creation(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """namespace.remove-auto-topic-creation."""
    cluster = _present(runtime, arguments)
    policies.change(
        runtime,
        cluster.name,
        arguments["namespace"],
        begin(code="204"),
        allow_auto_topic_creation=None,
        allow_auto_topic_creation_type=None,
        default_num_partitions=None,
    )


def set_strategy(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """namespace.set-schema-compatibility-strategy."""
    cluster = _present(runtime, arguments)
    policies.change(
        runtime,
        cluster.name,
        arguments["namespace"],
        begin(code="204"),
        schema_compatibility_strategy=arguments["strategy"],
    )


def set_auto_update(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """namespace.set-is-allow-auto-update-schema: for clients, or PIP-433's flag for replicators."""
    cluster_up(runtime, arguments["cluster"])
    enabled, for_replicator = arguments["enabled"], arguments.get("enableForReplicator")
    if for_replicator is not None and runtime.option("replicationTopicCreation") == "before":
        raise CommandError(
            "400",
            "there is no --enable-for-replicator before PIP-433",
            "leave it out, or choose another replicationTopicCreation",
        )
    if enabled and for_replicator is False:
        raise CommandError(
            "400",
            "Can not enable for all producers but denies for replicators, which is meaningless",
            "disable it for clients too, or leave replicators enabled",
        )
    cluster = _present(runtime, arguments)
    known = policies.existing(runtime, cluster.name, arguments["namespace"])[
        "is_allow_auto_update_schema_with_replicator"
    ]
    policies.change(
        runtime,
        cluster.name,
        arguments["namespace"],
        begin(code="204"),
        is_allow_auto_update_schema=enabled,
        is_allow_auto_update_schema_with_replicator=known if for_replicator is None else for_replicator,
    )


def set_backlog_quota(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """namespace.set-backlog-quota: the quota of one type, for all topics of the namespace.

    The broker also compares it with the namespace's retention, which only settings set here.
    """
    limits = {
        key: arguments[name]
        for key, name in (("limit_bytes", "limit_bytes"), ("limit_us", "limitTime_us"))
        if name in arguments
    }
    try:
        quota = backlog_quota(arguments["type"], {**limits, "policy": arguments["policy"]})
    except Wrong as wrong:
        raise CommandError("400", wrong.what, str(wrong.right)) from None
    _change_quota(runtime, arguments, quota, begin)


def remove_backlog_quota(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """namespace.remove-backlog-quota: nothing changes where there is none."""
    _change_quota(runtime, arguments, None, begin)


def _change_quota(runtime: Pulsar, arguments: dict, quota: BacklogQuota | None, begin: Begin) -> None:
    cluster, namespace = _present(runtime, arguments), arguments["namespace"]
    quotas = dict(policies.existing(runtime, cluster.name, namespace)["backlog_quotas"] or {})
    quotas.pop(arguments["type"], None)
    if quota is not None:
        quotas[arguments["type"]] = quota
    policies.change(runtime, cluster.name, namespace, begin(code="204"), backlog_quotas=quotas or None)
    for topic in cluster.topics.values():
        if runtime.scenario.topics[topic.base].namespace == namespace:
            topic.timers.quota_changed()


HANDLERS: dict[str, Handler] = {
    "namespace.create": create,
    "namespace.set-clusters": set_namespace_clusters,
    "namespace.set-auto-topic-creation": set_auto_creation,
    "namespace.remove-auto-topic-creation": remove_auto_creation,
    "namespace.set-schema-compatibility-strategy": set_strategy,
    "namespace.set-is-allow-auto-update-schema": set_auto_update,
    "namespace.set-backlog-quota": set_backlog_quota,
    "namespace.remove-backlog-quota": remove_backlog_quota,
}
