"""The rules between clients and the rest of a scenario (see `consistency`)."""

from __future__ import annotations

import re

from simulator.protocols.pulsar.scenario.check import PulsarCheck
from simulator.protocols.pulsar.scenario.model import AudienceSpec, ConsumerSpec, ProducerSpec
from simulator.scenarios.model import Selection

SHORTEST_ACK_TIMEOUT_US = 1_000_000
"""Pulsar's Java client refuses an ackTimeout under a second."""


def check_clients(check: PulsarCheck) -> None:
    """Add the problems of producers, consumers and audiences."""
    for producer in check.scenario.producers.values():
        _producer(check, producer)
    for consumer in check.scenario.consumers.values():
        _consumer(check, consumer)
    for audience in check.scenario.audiences.values():
        _audience(check, audience)


def _place(check: PulsarCheck, here: tuple[str, str], topic: str, cluster: str | None) -> None:
    """A client's cluster must have its topic; without one it uses the map."""
    if cluster is not None:
        check.serves((*here, "cluster"), topic, cluster)
    elif topic in check.scenario.topics and check.scenario.topics[topic].tenant not in check.scenario.tenants:
        tenant = check.scenario.topics[topic].tenant
        check.fail(
            here,
            f"names no cluster, and the tenant {tenant} of {topic} is not in the map",
            f"name a cluster, or write tenants: {{{tenant}: {{cluster: …}}}}",
        )


def _producer(check: PulsarCheck, producer: ProducerSpec) -> None:
    here = ("producers", producer.name)
    _place(check, here, producer.topic, producer.cluster)
    for index, cluster in enumerate(producer.replicate_to or ()):
        check.serves((*here, "replicateTo", index), producer.topic, cluster)
    if producer.name in check.reader.names.of_section("consumers"):
        check.fail(here, "is also the name of a consumer", "clients need different names")
    if producer.stop_us is not None and producer.stop_us < producer.start_us:
        check.fail((*here, "stop"), "is before start", "stop at or after start")
    if producer.every_us is None and producer.at_us is None:
        for key, given in (
            ("count", producer.count is not None),
            ("arrivals", producer.arrivals != "regular"),
        ):
            if given:
                check.fail((*here, key), "has no effect without an interval", "give every, rate or at")
    if producer.at_us is not None:
        _instants(check, producer)
    _messages(check, (*here, "delay"), producer.delay, producer.topic)


def _audience(check: PulsarCheck, audience: AudienceSpec) -> None:
    here = ("audiences", audience.name)
    check.serves((*here, "cluster"), audience.topic, audience.cluster)
    if not any(broker.cluster == audience.cluster for broker in check.scenario.brokers.values()):
        check.fail(
            (*here, "cluster"),
            f"{audience.cluster} declares no brokers",
            f"an audience needs one: brokers: {{x: {{cluster: {audience.cluster}}}}}",
        )
    if audience.stop_us is not None and audience.stop_us < audience.start_us:
        check.fail((*here, "stop"), "is before start", "stop at or after start")
    for section in ("subscriptions", "consumers", "producers"):
        for name in getattr(check.scenario, section):
            if name == audience.name or re.fullmatch(rf"{audience.name}-\d+", name):
                check.fail(
                    (section, name),
                    f"is the name of audience {audience.name}, or of a member of it",
                    "choose another name",
                )


def _instants(check: PulsarCheck, producer: ProducerSpec) -> None:
    here = ("producers", producer.name)
    conflicts = {
        "every": producer.every_us is not None,
        "count": producer.count is not None,
        "start": producer.start_us != 0,
        "arrivals": producer.arrivals != "regular",
    }
    for key, given in conflicts.items():
        if given:
            check.fail((*here, key), "does not go with at", "leave it out: at lists every instant")
    if list(producer.at_us or ()) != sorted(producer.at_us or ()):
        check.fail((*here, "at"), "is not in order", "list the instants from first to last")


def _consumer(check: PulsarCheck, consumer: ConsumerSpec) -> None:
    here = ("consumers", consumer.name)
    _consumer_of(check, here, consumer)
    if consumer.stop_us is not None and consumer.stop_us < consumer.start_us:
        check.fail((*here, "stop"), "is before start", "stop at or after start")
    if 0 < consumer.ack_timeout_us < SHORTEST_ACK_TIMEOUT_US:
        check.fail((*here, "ackTimeout"), "is under a second", "0s is off; otherwise at least 1s")


def _consumer_of(check: PulsarCheck, here: tuple[str, str], consumer: ConsumerSpec) -> None:
    subscription = check.scenario.subscriptions.get(consumer.subscription)
    if subscription is None:  # it was invalid, which has been reported
        return
    _place(check, here, subscription.topic, consumer.cluster)
    if consumer.acknowledge == "cumulative" and subscription.type in ("Shared", "Key_Shared"):
        right = "acknowledge individually, or choose Exclusive or Failover"
        check.fail((*here, "acknowledge"), f"{subscription.type} subscriptions refuse cumulative acks", right)
    if (
        consumer.receiver_queue_size == 0
        and subscription.topic in check.scenario.topics
        and check.partitions(subscription.topic)
    ):
        check.fail(
            (*here, "receiverQueueSize"),
            f"is 0, and {subscription.topic} has partitions: Pulsar's client refuses that",
            "at least 1, or a topic without partitions",
        )
    _messages(check, (*here, "hold"), consumer.hold, subscription.topic)
    _messages(check, (*here, "negativeAcknowledge"), consumer.negative_acknowledge, subscription.topic)


def _messages(
    check: PulsarCheck, keys: tuple[str | int, ...], selection: Selection | None, topic: str
) -> None:
    for index, (producer, _) in enumerate(selection.messages if selection else ()):
        if producer in check.scenario.producers and check.scenario.producers[producer].topic != topic:
            check.fail(
                (*keys, "messages", index),
                f"{producer} does not publish to {topic}",
                "name messages of this topic",
            )
