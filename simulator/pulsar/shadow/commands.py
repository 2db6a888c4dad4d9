"""Commands about shadow topics and about the life of a topic at its broker (rules: see `simulator.pulsar.commands`).

Rules: what goes by the admin interface answers with its status code (fact sheet C1): 204; 403 no permission or no name;
404; 405 policies off; 409 a change is being written; 412 a condition that is not met. What a broker answers to a client has its own name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.pulsar import upkeep
from simulator.pulsar.commands_topics import _topics as topics_of
from simulator.pulsar.commands_topics import _up as cluster_up
from simulator.pulsar.shadow import addresses
from simulator.pulsar.shadow.authorisation import SHADOW_TOPIC, refusal
from simulator.pulsar.shadow.source import NO_SHADOWS, ShadowList
from simulator.pulsar.shadow.storage import NO_DRIVER, driver_of
from simulator.scenarios.commands import CommandError
from simulator.scenarios.names import parse_position

if TYPE_CHECKING:
    from simulator.pulsar.cluster import Cluster
    from simulator.pulsar.runtime import Runtime
    from simulator.pulsar.topic import Topic

NOT_ALLOWED = "NotAllowed"


# --- the list of shadow topics


def _named(text: str) -> addresses.Address:
    address = addresses.parse(text)
    if address is None:
        raise CommandError("403", f'"{text}" is not a topic name', "write a name, or persistent://tenant/namespace/name")
    return address


def _source(runtime: Runtime, arguments: dict) -> tuple[Cluster, str]:
    """The source topic that a request names, after the checks that come before all others."""
    cluster = cluster_up(runtime, arguments["cluster"])
    address = _named(arguments["topic"])
    if not cluster.setting("topicLevelPoliciesEnabled"):
        raise CommandError("405", f"topic policies are off in {cluster.name}", "turn topicLevelPoliciesEnabled on")
    if arguments.get("role") is not None:
        why = refusal(runtime.scenario, arguments["role"], SHADOW_TOPIC, address.name)
        if why is not None:
            raise CommandError("403", why, "give the role shadowTopicPolicy for this topic: produce and consume do not bring it")
    if not address.persistent:
        raise CommandError("412", "Only persistent source topic is supported with shadow topics", "name a persistent topic")
    if not address.names_in(cluster):
        raise CommandError("404", f"topic {arguments['topic']} does not exist in {cluster.name}", "name a topic that is there")
    return cluster, address.name


def _parts(cluster: Cluster, base: str) -> list[Topic]:
    return [topic for topic in cluster.topics.values() if topic.base == base]


def _write_list(runtime: Runtime, cluster: Cluster, base: str, names: tuple[str, ...], begin) -> None:
    """Change the policy; the brokers of the source's partitions act on it at once."""
    before = runtime.shadow_lists.get((cluster.name, base), NO_SHADOWS)
    if before.busy_until_us > runtime.now_us:
        raise CommandError("409", f"the policies of {base} are being changed", "ask again when that is written")
    cause = begin(code="204")
    runtime.shadow_lists[cluster.name, base] = ShadowList(names, runtime.now_us + runtime.option("shadowMetadataLatency"))
    seq = runtime.note("shadow.topics-set", cause, cluster.number, base, len(names), ", ".join(names))
    for topic in _parts(cluster, base):
        if topic.loaded:
            topic.shadows.check_replication(seq)
            topic.shadows.begin_policy_check()


def set_list(runtime, arguments, begin) -> None:
    """shadow.set: PUT …/shadowTopics. That a topic on the list is a shadow of this source is not asked, as in Pulsar."""
    cluster, base = _source(runtime, arguments)
    if not arguments["shadows"]:
        raise CommandError("412", "Cannot specify empty shadow topics", "use shadow.remove")
    names = []
    for text in arguments["shadows"]:
        shadow = _named(text)
        if not shadow.persistent:
            raise CommandError("412", f"Only persistent topic can be set as shadow topic: {text}", "name a persistent topic")
        if not shadow.names_in(cluster):
            raise CommandError("412", f"Shadow topic {text} does not exist", "create it first: that is a step of its own")
        names.append(shadow.name)
    _write_list(runtime, cluster, base, tuple(dict.fromkeys(names)), begin)


def remove_list(runtime, arguments, begin) -> None:
    """shadow.remove: DELETE …/shadowTopics."""
    cluster, base = _source(runtime, arguments)
    _write_list(runtime, cluster, base, (), begin)


def get_list(runtime, arguments, begin) -> None:
    """shadow.list: GET …/shadowTopics."""
    cluster, base = _source(runtime, arguments)
    begin(code="200", answer=list(runtime.shadow_lists.get((cluster.name, base), NO_SHADOWS).names))


# --- a client's single send


def send(runtime, arguments, begin) -> None:
    """producer.send: the broker's answer is the command's."""
    producer = runtime.producers[arguments["producer"]]
    if producer.state not in ("running", "paused"):
        raise CommandError("wrong-state", f"{producer.name} is {producer.state}", "send needs it running or paused")
    topic, position = _sent_to(runtime, producer, arguments), arguments.get("position")
    if producer.forbidden:
        raise CommandError("NotAuthorized", producer.forbidden, "give its role produce for this topic")
    if topic.refuses is not None and topic.source is None:
        raise CommandError(NOT_ALLOWED, f"{topic.name} takes no more messages: {topic.refuses}", "send to a topic that is open")
    if topic.source is None and position is not None:
        raise CommandError(NOT_ALLOWED, "Only shadow topic supports sending messages with messageId", "send without a position")
    if topic.source is not None and position is None:
        raise CommandError(NOT_ALLOWED, "Cannot send messages to a shadow topic", f"send to its source, {topic.source.name}")
    cause = begin()
    if position is None:
        producer.publish(cause, topic.name)
        producer.flush_batches(cause)
    else:
        topic.add(parse_position(position), cause)


def _sent_to(runtime: Runtime, producer, arguments: dict) -> Topic:
    cluster = cluster_up(runtime, producer.cluster_name)
    parts = _parts(cluster, producer.spec.topic)
    found = [topic for topic in parts if topic.partition == (-1 if len(parts) == 1 and parts[0].partition < 0 else arguments.get("partition", 0))]
    if not found or not found[0].loaded:
        raise CommandError("no-topic", f"{producer.spec.topic} is not at a broker of {cluster.name}", "wait until it is loaded, or name a partition that is there")
    return found[0]


# --- a topic's life at its broker


def crash(runtime, arguments, begin) -> None:
    """topic.crash: not closed cleanly; loaded again after the downtime."""
    topics = [topic for topic in topics_of(runtime, arguments["cluster"], arguments["topic"]) if topic.loaded]
    if not topics:
        raise CommandError("not-loaded", f"{arguments['topic']} is at no broker of {arguments['cluster']}", "wait until it is loaded again")
    cause = begin()
    for topic in topics:
        topic.unload("crash", cause, clean=False)
        if arguments["downtime_us"]:
            runtime.schedule(runtime.now_us + arguments["downtime_us"], topic.rank, topic, "load_again", (topic.epoch, cause))
        else:
            topic.load(cause)


def terminate(runtime, arguments, begin) -> None:
    """topic.terminate: it takes no more messages."""
    topics = topics_of(runtime, arguments["cluster"], arguments["topic"])
    if topics[0].source is not None:
        raise CommandError(NOT_ALLOWED, "Terminate is not allowed on shadow topic.", f"terminate its source, {topics[0].source.base}")
    if any(topic.terminated for topic in topics):
        raise CommandError("terminated", f"{arguments['topic']} is terminated already", "it stays so")
    if any(topic.replicators for topic in topics):
        raise CommandError("replicates", f"{arguments['topic']} replicates to other clusters", "take them off its replication list first")
    if not all(topic.loaded for topic in topics):
        raise CommandError("not-loaded", f"{arguments['topic']} is at no broker of {arguments['cluster']}", "wait until it is loaded")
    cause = begin()
    for topic in topics:
        topic.terminate(cause)


def truncate(runtime, arguments, begin) -> None:
    """topic.truncate: every cursor to the end, then all ledgers but the open one go."""
    topics = topics_of(runtime, arguments["cluster"], arguments["topic"])
    _writes_ledgers(topics, "truncated")
    cause = begin()
    for topic in topics:
        for subscription in topic.subscriptions.values():
            last = topic.log.length - 1
            if last > subscription.cursor.mark_delete:
                upkeep.pass_over(subscription, last, "message.skipped", cause, "truncate")
                subscription.acknowledge_up_to(last, "clear", cause)
        for replicator in topic.replicators.values():
            upkeep.clear_replication(replicator, cause)
        upkeep.delete_ledgers(topic, topic.log.ledgers[:-1], cause)


def offload(runtime, arguments, begin) -> None:
    """topic.offload: its closed ledgers, all at once."""
    topics = topics_of(runtime, arguments["cluster"], arguments["topic"])
    _writes_ledgers(topics, "offloaded")
    driver = driver_of(topics[0])
    if driver == NO_DRIVER:
        raise CommandError("412", f"{arguments['topic']} has no offload driver", "set managedLedgerOffloadDriver for it")
    cause = begin()
    for topic in topics:
        if topic.shadows.storage.offload(topic.log.ledgers[:-1], driver, arguments["deleteFromBookies"], cause):
            topic.shadows.ledgers_changed(cause)


def _writes_ledgers(topics: list[Topic], what: str) -> None:
    if topics[0].source is not None:
        raise CommandError(NOT_ALLOWED, f"a shadow topic's ledgers are its source's: it cannot be {what}", f"name {topics[0].source.base}")


HANDLERS = {
    "shadow.set": set_list,
    "shadow.list": get_list,
    "shadow.remove": remove_list,
    "producer.send": send,
    "topic.crash": crash,
    "topic.terminate": terminate,
    "topic.truncate": truncate,
    "topic.offload": offload,
}
