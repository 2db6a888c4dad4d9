"""Commands about shadow topics.

Rules: requests to the admin interface respond with its status code (`PersistentTopicsBase`, PIP-180): 204;
403 no permission or no name; 404; 405 policies off; 409 it exists, or a change is being written; 412 a
condition that is not met.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.protocols.pulsar.commands.named import cluster_up
from simulator.protocols.pulsar.commands.topic_shapes import refuse_in_use
from simulator.protocols.pulsar.creation import catalogue
from simulator.protocols.pulsar.shadow import reads
from simulator.protocols.pulsar.shadow.source import NO_SHADOWS, SHADOW_TOPIC, ShadowList, refusal
from simulator.scenarios.commands import CommandError
from simulator.system.commanding import Begin, Handler

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.cluster import Cluster
    from simulator.protocols.pulsar.pulsar import Pulsar


# --- the list of shadow topics


def _named(text: str) -> reads.Address:
    address = reads.parse(text)
    if address is None:
        raise CommandError(
            "403", f'"{text}" is not a topic name', "write a name, or persistent://tenant/namespace/name"
        )
    return address


def _source(runtime: Pulsar, arguments: dict) -> tuple[Cluster, str]:
    """The source topic of a request, after the checks that precede all others."""
    cluster = cluster_up(runtime, arguments["cluster"])
    address = _named(arguments["topic"])
    if not cluster.setting("topicLevelPoliciesEnabled"):
        raise CommandError(
            "405",
            "Topic level policies is disabled, to enable the topic level policy and retry.",
            f"turn topicLevelPoliciesEnabled on in {cluster.name}",
        )
    if address.name in cluster.topics and cluster.topics[address.name].partition >= 0:
        raise CommandError(
            "412",
            "Not allowed to set/get topic policy for a partition",
            f"name the whole topic, {cluster.topics[address.name].base}",
        )
    _permitted(runtime, arguments, address.name)
    if not address.persistent:
        raise CommandError(
            "412", "Only persistent source topic is supported with shadow topics.", "name a persistent topic"
        )
    if not address.names_in(cluster):
        raise CommandError(
            "404",
            f"topic {arguments['topic']} does not exist in {cluster.name}",
            "name a topic that is there",
        )
    return cluster, address.name


def _permitted(runtime: Pulsar, arguments: dict, source: str) -> None:
    """Raises 403 unless the request's role may write the policy SHADOW_TOPIC of the source."""
    if arguments.get("role") is None:
        return
    why = refusal(runtime.scenario, arguments["role"], SHADOW_TOPIC, source)
    if why is not None:
        raise CommandError(
            "403",
            why,
            "grant the role shadowTopicPolicy on this topic: produce and consume do not include it",
        )


def _write_list(runtime: Pulsar, cluster: Cluster, base: str, names: tuple[str, ...], begin: Begin) -> None:
    """Change the policy; the brokers of the source's partitions apply it at once."""
    before = runtime.shadow_lists.get((cluster.name, base), NO_SHADOWS)
    if before.busy_until_us > runtime.now_us:
        raise CommandError(
            "409", f"the policies of {base} are being changed", "repeat the command once they are written"
        )
    cause = begin(code="204")
    runtime.shadow_lists[cluster.name, base] = ShadowList(
        names, runtime.now_us + runtime.option("shadowMetadataLatency")
    )
    seq = runtime.rows.shadow_topics_set(
        cause, cluster=cluster.number, topic=base, count=len(names), detail=", ".join(names)
    )
    for topic in cluster.logs_of(base):
        if topic.loaded:
            topic.shadows.check_replication(seq)
            topic.shadows.begin_policy_check()


def set_list(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """shadow.set: PUT …/shadowTopics.

    Whether a topic on the list is a shadow of this source is not checked, as in Pulsar.
    """
    cluster, base = _source(runtime, arguments)
    if not arguments["shadows"]:
        raise CommandError(
            "412",
            "Cannot specify empty shadow topics, please use remove command instead.",
            "use shadow.remove",
        )
    names = []
    for text in arguments["shadows"]:
        shadow = _named(text)
        if not shadow.persistent:
            raise CommandError(
                "412",
                "Only persistent topic can be set as shadow topic",
                f"name a persistent topic, not {text}",
            )
        if not shadow.names_in(cluster):
            raise CommandError(
                "412", f"Shadow topic [{text}] not exists.", "create it first, in a separate command"
            )
        names.append(shadow.name)
    _write_list(runtime, cluster, base, tuple(dict.fromkeys(names)), begin)


def remove_list(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """shadow.remove: DELETE …/shadowTopics."""
    cluster, base = _source(runtime, arguments)
    _write_list(runtime, cluster, base, (), begin)


def get_list(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """shadow.list: GET …/shadowTopics."""
    cluster, base = _source(runtime, arguments)
    begin(code="200", answer=list(runtime.shadow_lists.get((cluster.name, base), NO_SHADOWS).names))


# --- the shadow topics themselves


def create(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """shadow.create: a topic with the property PULSAR.SHADOW_SOURCE, not fed yet.

    It gets as many partitions as the source has now.
    """
    cluster = cluster_up(runtime, arguments["cluster"])
    shadow, source = _named(arguments["topic"]), _named(arguments["source"])
    _permitted(runtime, arguments, source.name)
    if not shadow.persistent or not source.persistent:
        raise CommandError(
            "412", "Source topic and shadow topic must be persistent", "name persistent topics"
        )
    if not source.names_in(cluster):
        raise CommandError(
            "404", f"source topic {arguments['source']} does not exist in {cluster.name}", "create it first"
        )
    if shadow.names_in(cluster):
        raise CommandError("409", "This topic already exists", "delete it first, or choose another name")
    spec = runtime.scenario.topics.get(shadow.name)
    if spec is None or spec.shadow_of != source.name or cluster.name not in spec.clusters:
        raise CommandError(
            "not-declared",
            f"the scenario does not declare {shadow.name} as a shadow of {source.name} in {cluster.name}",
            (f"topics: {shadow.name}: {{clusters: [{cluster.name}], shadowOf: {source.name}, exists: {{}}}}"),
        )
    catalogue.create(cluster, shadow.name, cluster.shape(source.name) or 0, "command", begin(code="204"))


def delete(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """shadow.delete: the topic and its subscriptions; the source keeps the ledgers.

    It is refused while the topic is in use, unless forced.
    """
    cluster = cluster_up(runtime, arguments["cluster"])
    shadow = _named(arguments["topic"])
    spec = runtime.scenario.topics.get(shadow.name)
    if not shadow.names_in(cluster) or spec is None or spec.shadow_of is None:
        raise CommandError(
            "404",
            f"{cluster.name} has no shadow topic {arguments['topic']}",
            "name a shadow topic that is there",
        )
    _permitted(runtime, arguments, spec.shadow_of)
    if not arguments["force"]:
        refuse_in_use(runtime, cluster, shadow.name)
    catalogue.delete(cluster, shadow.name, "forced" if arguments["force"] else "command", begin(code="204"))


def get_source(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """shadow.source: which topic a shadow reads (get-shadow-source)."""
    cluster = cluster_up(runtime, arguments["cluster"])
    topic = _named(arguments["topic"])
    if not topic.names_in(cluster):
        raise CommandError(
            "404",
            f"topic {arguments['topic']} does not exist in {cluster.name}",
            "name a topic that is there",
        )
    begin(code="200", answer=runtime.scenario.topics[topic.name].shadow_of)


HANDLERS: dict[str, Handler] = {
    "shadow.create": create,
    "shadow.delete": delete,
    "shadow.source": get_source,
    "shadow.set": set_list,
    "shadow.list": get_list,
    "shadow.remove": remove_list,
}
