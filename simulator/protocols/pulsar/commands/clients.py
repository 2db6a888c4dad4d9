"""Commands about producers and consumers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from simulator.kernel.distributions import Sampler
from simulator.kernel.random import stream_key
from simulator.protocols.pulsar.client.consumer import ALIVE, PAUSED, RUNNING
from simulator.protocols.pulsar.commands.named import cluster_up, consumer_in, producer_in
from simulator.protocols.pulsar.creation import catalogue
from simulator.protocols.pulsar.shadow.topic import ShadowTopic
from simulator.scenarios.commands import CommandError
from simulator.scenarios.model import Distribution
from simulator.scenarios.names import parse_message, parse_position
from simulator.system.commanding import Begin, Handler

PORTION_MESSAGES = 50
"""Messages that a command publishes in one event: about 3 ms with their consumers and replicators."""

EVENTS_PER_MESSAGE = 2
"""Queue events that take about the time of one published message."""

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.protocols.pulsar.client.producer import Producer
    from simulator.protocols.pulsar.pulsar import Pulsar


def publish(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """producer.publish: a number of messages at once, in addition to the producer's plan."""
    producer = producer_in(runtime, arguments, ("running", "paused"), "publish")
    runtime.in_portions(_published(producer, arguments["count"], begin()))


def _published(producer: Producer, count: int, cause: int) -> Iterator[int]:
    for number in range(1, count + 1):
        producer.publish(cause)
        if number % PORTION_MESSAGES == 0:
            yield EVENTS_PER_MESSAGE * PORTION_MESSAGES
    producer.flush_batches(cause)


def send(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """producer.send: the command's result is the broker's response."""
    producer = producer_in(runtime, arguments, ("running", "paused"), "send")
    topic, position = _sent_to(runtime, producer, arguments), arguments.get("position")
    if producer.forbidden:
        raise CommandError("NotAuthorized", producer.forbidden, "give its role produce for this topic")
    if topic.source is None and position is not None:
        raise CommandError(
            "NotAllowed",
            "Only shadow topic supports sending messages with messageId",
            "send without a position",
        )
    if topic.refuses is not None and topic.source is None:
        raise CommandError("TopicTerminated", "Topic was already terminated", "send to a topic that is open")
    shadow = topic if isinstance(topic, ShadowTopic) else None
    if shadow is not None and position is None:
        raise CommandError(
            "NotAllowed",
            "Cannot send messages to a shadow topic",
            f"send to its source, {shadow.source.name}",
        )
    cause = begin()
    if position is not None and shadow is not None:
        shadow.add(parse_position(position), cause)
    else:
        producer.publish(cause, topic.name)
        producer.flush_batches(cause)


def _sent_to(runtime: Pulsar, producer: Producer, arguments: dict) -> Topic:
    cluster = cluster_up(runtime, producer.cluster_name)
    parts = cluster.logs_of(producer.spec.topic)
    found = [
        topic
        for topic in parts
        if topic.partition
        == (-1 if len(parts) == 1 and parts[0].partition < 0 else arguments.get("partition", 0))
    ]
    if not found or not found[0].loaded:
        raise CommandError(
            "no-topic",
            f"{producer.spec.topic} is not at a broker of {cluster.name}",
            "wait until it is loaded, or name a partition that is there",
        )
    return found[0]


def use_schema(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """producer.use-schema."""
    producer = runtime.producers[arguments["producer"]]
    if runtime.schemas is None:
        raise CommandError(
            "no-schemas", "the scenario declares no schemas", "declare some in its section schemas"
        )
    if producer.state not in ("running", "paused"):
        raise CommandError("wrong-state", f"{producer.name} is {producer.state}", "start it first")
    catalogue.use_schema(producer, runtime.clusters[producer.cluster_name], arguments.get("schema"), begin())


def start_producer(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """producer.start."""
    producer = producer_in(runtime, arguments, ("stopped", "killed"), "start")
    producer.set_state("running", begin())


def stop_producer(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """producer.stop: a clean close."""
    producer = producer_in(runtime, arguments, ("running", "paused"), "stop")
    producer.set_state("stopped", begin())


def pause_producer(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """producer.pause."""
    producer_in(runtime, arguments, ("running",), "pause").set_state("paused", begin())


def resume_producer(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """producer.resume."""
    producer_in(runtime, arguments, ("paused",), "resume").set_state("running", begin())


def slow_producer(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """producer.slow: another interval."""
    producer = runtime.producers[arguments["producer"]]
    begin()
    producer.slow(arguments["every_us"])


def start_consumer(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """consumer.start."""
    consumer = consumer_in(runtime, arguments, ("waiting", "closed", "killed"), "start")
    consumer.last_seq = max(consumer.last_seq, begin())
    consumer.start()


def stop_consumer(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """consumer.stop: finish the current message, then close."""
    consumer = consumer_in(runtime, arguments, (RUNNING, PAUSED), "stop")
    begin()
    consumer.close_when_done(None)


def pause_consumer(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """consumer.pause."""
    consumer = consumer_in(runtime, arguments, (RUNNING,), "pause")
    consumer.pause(begin())


def resume_consumer(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """consumer.resume."""
    consumer = consumer_in(runtime, arguments, (PAUSED,), "resume")
    consumer.resume(begin())


def slow_consumer(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """consumer.slow: another processing time, for messages taken from now on."""
    consumer = runtime.consumers[arguments["consumer"]]
    begin()
    consumer.processing = Sampler(
        Distribution(**arguments["processing"]), stream_key(runtime.seed, f"processing/{consumer.name}")
    )


def kill(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """client.kill."""
    name = arguments["client"]
    if name in runtime.consumers:
        consumer = consumer_in(runtime, {"consumer": name}, ALIVE, "kill")
        consumer.kill(begin())
    else:
        producer_in(runtime, {"producer": name}, ("running", "paused"), "kill").set_state("killed", begin())


def close(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """client.close: at once and cleanly."""
    name = arguments["client"]
    if name in runtime.consumers:
        consumer = consumer_in(runtime, {"consumer": name}, ALIVE, "close")
        consumer.close(begin())
    else:
        stop_producer(runtime, {"producer": name}, begin)


def hold(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """consumer.hold: from now on."""
    consumer = runtime.consumers[arguments["consumer"]]
    begin()
    messages = frozenset(parse_message(text) for text in arguments.get("messages", ()))
    consumer.selections.hold(messages, arguments.get("share_millionths", 0), arguments.get("for_us"))


def release(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """consumer.release: acknowledge held messages, and no longer hold these (or any)."""
    consumer = runtime.consumers[arguments["consumer"]]
    wanted = (
        frozenset(parse_message(text) for text in arguments["messages"])
        if arguments.get("messages")
        else None
    )
    keys = [
        key
        for key, message in consumer.held.messages().items()
        if wanted is None or identity(runtime, message) in wanted
    ]
    if wanted is not None and not keys:
        raise CommandError(
            "not-held", f"{consumer.name} holds none of these messages", "list its unacked messages"
        )
    begin()
    if wanted is None:
        consumer.selections.hold_no_more()
    for key in keys:
        consumer.held.release(key)
    consumer.close_if_done()


def negatively_acknowledge(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """consumer.negative-acknowledge: of messages that are delivered, not acked."""
    consumer = runtime.consumers[arguments["consumer"]]
    wanted = frozenset(parse_message(text) for text in arguments["messages"])
    chosen = [
        delivery
        for delivery in consumer.unacked.values()
        if identity(runtime, delivery.received.message) in wanted and delivery is not consumer.current
    ]
    if not chosen:
        raise CommandError(
            "not-in-hand",
            f"{consumer.name} has none of these messages delivered and unacked",
            "a message is unacked from its delivery to its ack",
        )
    cause = begin()
    for delivery in chosen:
        consumer.held.serials.pop(delivery.key, None)
        consumer.redelivery.negatively_acknowledge(delivery, cause)
    consumer.close_if_done()


def identity(runtime: Pulsar, message: int) -> tuple[str, int]:
    """(producer name, sequence id) of a message number."""
    return runtime.trace.names[runtime.messages.producer[message]], runtime.messages.sequence_id[message]


HANDLERS: dict[str, Handler] = {
    "producer.publish": publish,
    "producer.send": send,
    "producer.use-schema": use_schema,
    "producer.start": start_producer,
    "producer.stop": stop_producer,
    "producer.pause": pause_producer,
    "producer.resume": resume_producer,
    "producer.slow": slow_producer,
    "consumer.start": start_consumer,
    "consumer.stop": stop_consumer,
    "consumer.pause": pause_consumer,
    "consumer.resume": resume_consumer,
    "consumer.slow": slow_consumer,
    "client.kill": kill,
    "client.close": close,
    "consumer.hold": hold,
    "consumer.release": release,
    "consumer.negative-acknowledge": negatively_acknowledge,
}
