"""Commands about the life of a topic at its broker, and what a client is told: one send, the schemas (rules: see `simulator.pulsar.commands`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.pulsar import upkeep
from simulator.pulsar.commands_topics import _topics as topics_of
from simulator.pulsar.commands_topics import _up as cluster_up
from simulator.pulsar.creation import schema_registry
from simulator.pulsar.shadow.storage import NO_DRIVER, driver_of
from simulator.schemas.compatibility import same
from simulator.scenarios.commands import CommandError
from simulator.scenarios.names import parse_position

if TYPE_CHECKING:
    from simulator.pulsar.runtime import Runtime
    from simulator.pulsar.topic import Topic

NOT_ALLOWED = "NotAllowed"


# --- a client's single send


def send(runtime, arguments, begin) -> None:
    """producer.send: the broker's answer is the command's."""
    producer = runtime.producers[arguments["producer"]]
    if producer.state not in ("running", "paused"):
        raise CommandError("wrong-state", f"{producer.name} is {producer.state}", "send needs it running or paused")
    topic, position = _sent_to(runtime, producer, arguments), arguments.get("position")
    if producer.forbidden:
        raise CommandError("NotAuthorized", producer.forbidden, "give its role produce for this topic")
    if topic.source is None and position is not None:
        raise CommandError(NOT_ALLOWED, "Only shadow topic supports sending messages with messageId", "send without a position")
    if topic.refuses is not None and topic.source is None:
        raise CommandError("TopicTerminated", "Topic was already terminated", "send to a topic that is open")
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
    parts = cluster.parts(producer.spec.topic)
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
    _at_a_broker(topics, arguments)
    cause = begin()
    for topic in topics:
        topic.terminate(cause)


def truncate(runtime, arguments, begin) -> None:
    """topic.truncate: every cursor to the end, then all ledgers but the open one go."""
    topics = topics_of(runtime, arguments["cluster"], arguments["topic"])
    _writes_ledgers(topics, "truncated")
    _at_a_broker(topics, arguments)
    cause = begin()
    for topic in topics:
        for subscription in topic.subscriptions.values():
            last = topic.log.length - 1
            if last > subscription.cursor.mark_delete:
                upkeep.pass_over(subscription, last, "message.skipped", cause, "truncate")
                subscription.acknowledge_up_to(last, "clear", cause)
        for replicator in topic.replicators.values():
            upkeep.clear_replication(replicator, cause)
        for replicator in topic.shadows.replicators.values():
            replicator.pushed_to(topic.log.length)
        upkeep.delete_ledgers(topic, topic.log.ledgers[:-1], cause)


def offload(runtime, arguments, begin) -> None:
    """topic.offload: its closed ledgers, all at once."""
    topics = topics_of(runtime, arguments["cluster"], arguments["topic"])
    _writes_ledgers(topics, "offloaded")
    _at_a_broker(topics, arguments)
    driver = driver_of(topics[0])
    if driver == NO_DRIVER:
        raise CommandError("412", f"{arguments['topic']} has no offload driver", "set managedLedgerOffloadDriver for it")
    cause = begin()
    for topic in topics:
        if topic.shadows.storage.offload(topic.log.ledgers[:-1], driver, arguments["deleteFromBookies"], cause):
            topic.shadows.ledgers_changed(cause)


def _at_a_broker(topics: list[Topic], arguments: dict) -> None:
    if not all(topic.loaded for topic in topics):
        raise CommandError("not-loaded", f"{arguments['topic']} is at no broker of {arguments['cluster']}", "wait until it is loaded")


def _writes_ledgers(topics: list[Topic], what: str) -> None:
    if topics[0].source is not None:
        raise CommandError(NOT_ALLOWED, f"a shadow topic's ledgers are its source's: it cannot be {what}", f"name {topics[0].source.base}")


# --- schemas, as clients and the admin interface ask for them


def get_schema(runtime, arguments, begin) -> None:
    """schema.get: getSchema, the newest or one version; a shadow topic answers with its source's."""
    found = _schemas(runtime, arguments)
    version = arguments.get("version", len(found) - 1)
    if not 0 <= version < len(found):
        raise CommandError("404", f"{arguments['topic']} has no schema of version {version}", f"it has {len(found)} versions, from 0")
    begin(code="200", answer={"version": version, "schema": found[version].name, "type": found[version].type})


def list_schemas(runtime, arguments, begin) -> None:
    """schema.list: getAllSchemas."""
    found = _schemas(runtime, arguments)
    begin(code="200", answer=[{"version": version, "schema": one.name, "type": one.type} for version, one in enumerate(found)])


def schema_version(runtime, arguments, begin) -> None:
    """schema.version: getVersionBySchema."""
    found, wanted = _schemas(runtime, arguments), runtime.schemas.declared[arguments["schema"]]
    version = next((version for version, one in enumerate(found) if same(wanted, one)), None)
    if version is None:
        raise CommandError("404", f"{arguments['topic']} does not have the schema {arguments['schema']}", "let a producer of the source register it")
    begin(code="200", answer=version)


def _schemas(runtime: Runtime, arguments: dict) -> list:
    cluster = cluster_up(runtime, arguments["cluster"])
    if cluster.shape(arguments["topic"]) is None:
        raise CommandError("404", f"topic {arguments['topic']} does not exist in {cluster.name}", "name a topic that is there")
    return schema_registry.versions(cluster, arguments["topic"])


HANDLERS = {
    "producer.send": send,
    "topic.crash": crash,
    "topic.terminate": terminate,
    "topic.truncate": truncate,
    "topic.offload": offload,
    "schema.get": get_schema,
    "schema.list": list_schemas,
    "schema.version": schema_version,
}
