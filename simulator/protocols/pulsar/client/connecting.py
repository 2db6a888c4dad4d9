"""How consumers subscribe, leave and retry.

Rules: a subscription that does not exist is created at the consumer's initial position. Subscribing with
replicateSubscriptionState turns replication on, never off (`PersistentTopic.subscribe`). Retries wait 100 ms,
doubled up to 60 s (`backoff`). A declared broker with `connectTime` subscribes one client after another. With
the option `subscribeTime` the broker has the consumer that long after the client subscribed, except at the
beginning of a run, which begins connected.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.protocols.pulsar.broker.session import Session
from simulator.protocols.pulsar.client import backoff
from simulator.protocols.pulsar.creation import clients
from simulator.protocols.pulsar.migration.blue_green import clear_cumulative_ack, sent_on

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.protocols.pulsar.client.consumer import Consumer
    from simulator.protocols.pulsar.scenario.model import SubscriptionSpec


def connect(consumer: Consumer, cause: int) -> None:
    """Subscribe in the consumer's cluster, or first look up which cluster that is."""
    if consumer.resolver is not None:
        consumer.resolver.ask(cause)
    else:
        connect_there(consumer, cause)


def connect_there(consumer: Consumer, cause: int) -> None:
    """Subscribe to every partition of the topic in the consumer's cluster."""
    runtime = consumer.runtime
    if consumer.subscribe_time.constant == 0 or runtime.now_us == 0:
        subscribed(consumer, cause)
        return
    consumer.subscribes += 1
    at_us = runtime.now_us + consumer.subscribe_time.at(consumer.subscribes)
    runtime.schedule(at_us, consumer.rank, consumer.subscribed, (consumer.epoch, cause))


def subscribed(consumer: Consumer, cause: int) -> None:
    """The requests to subscribe reached the brokers; unreachable partitions are retried."""
    runtime = consumer.runtime
    cause = max(cause, consumer.last_seq)
    if not consumer.sessions:
        consumer.acks.client_connects()
    spec = runtime.subscriptions[consumer.spec.subscription]
    cluster = runtime.clusters[consumer.cluster_name]
    complete = cluster.up
    if cluster.up:
        if consumer.resolver is None:
            here, cluster = cluster, runtime.blue_green.instead(cluster, consumer, spec.topic, cause)
            if cluster is not here:
                for name in tuple(consumer.acks.acknowledged_to):
                    clear_cumulative_ack(runtime, consumer, name)
            clients.find_topic(consumer, cluster, spec.topic, cause)
        complete = cluster.shape(spec.topic) is not None
    for topic in cluster.client_parts(spec.topic) if cluster.up else ():
        if not consumer.connected_to(topic.name):
            complete = _ask(consumer, topic, spec, cause) and complete
    if complete:
        consumer.retries = 0
        consumer.acks.client_connected()
    else:
        retry(consumer)


def _ask(consumer: Consumer, topic: Topic, spec: SubscriptionSpec, cause: int) -> bool:
    """Subscribe at once or queue at the broker, which then calls `admitted`.

    Returns False when the broker cannot subscribe it now.
    """
    broker = topic.broker
    if broker is None or not broker.spec.connect_us or not topic.loaded:
        return _subscribe(consumer, topic, spec, cause)
    if topic.name not in consumer.asking:
        consumer.asking[topic.name] = broker
        broker.admissions.ask(consumer, topic)
    return True


def admitted(consumer: Consumer, topic: Topic) -> None:
    """The client's turn at the broker is over."""
    consumer.asking.pop(topic.name)
    spec = topic.runtime.subscriptions[consumer.spec.subscription]
    if not _subscribe(consumer, topic, spec, consumer.last_seq):
        retry(consumer)
    elif not consumer.asking:
        consumer.retries = 0
        consumer.acks.client_connected()


def sent_away(consumer: Consumer, topic: Topic) -> None:
    """The topic left its broker before the client's turn: it retries like connected clients."""
    consumer.asking.pop(topic.name)
    retry(consumer)


def _subscribe(consumer: Consumer, topic: Topic, spec: SubscriptionSpec, cause: int) -> bool:
    """Subscribe to one partition; False when the broker cannot do that now."""
    if topic.migrated_to is not None:
        there, cause = sent_on(consumer.runtime, consumer, topic, cause)
        if there is None:
            return False
        if there is not topic:
            clear_cumulative_ack(consumer.runtime, consumer, topic.name)
        topic = there
    if not topic.loaded:
        return False
    if consumer.forbidden:
        topic.runtime.note(
            "client.changed", cause, topic.cluster.number, consumer.number, "refused-not-authorised"
        )
        return True  # permanent: such a client does not retry
    subscription = topic.subscriptions.get(spec.name)
    if subscription is not None and subscription.type == "Exclusive" and subscription.dispatcher.sessions:
        topic.runtime.note(
            "client.changed", cause, topic.cluster.number, consumer.number, "refused-exclusive"
        )
        return False
    schema = consumer.spec.schema
    if schema is not None and clients.refuses_reader(consumer, topic, schema, cause) is not None:
        return False
    wanted = spec.replicate_subscription_state and topic.cluster.setting(
        "enableReplicatedSubscriptions", topic
    )
    if subscription is None:
        mark_delete = topic.log.length - 1 if spec.initial_position == "Latest" else topic.log.first_kept - 1
        subscription = topic.add_subscription(
            spec.name, spec.type, mark_delete, bool(wanted), "consumer", cause
        )
    elif subscription.type != spec.type and not subscription.dispatcher.sessions:
        subscription.change_type(spec.type)
    seq = topic.runtime.note(
        "consumer.connected", cause, topic.cluster.number, topic.number, subscription.number, consumer.number
    )
    consumer.last_seq = max(consumer.last_seq, seq)
    session = Session(consumer, subscription)
    consumer.sessions[topic.place] = session
    if len(consumer.sessions) >= len(topic.cluster.client_parts(topic.base)) and all(
        place[0] == topic.place[0] for place in consumer.sessions
    ):
        consumer.cluster_name = topic.cluster.name  # a broker may have redirected it
    if wanted and not subscription.replicated:
        subscription.switch_replication(True, seq)
    topic.evaluate_controller(seq)
    subscription.dispatcher.add(session, seq)
    if session.size == 0:
        consumer.ask_for_one(seq)
    return True


def leave(consumer: Consumer, reason: str, cause: int) -> None:
    """End the consumer's sessions; their unacked messages are redelivered to others."""
    sessions, consumer.sessions = consumer.sessions, {}
    for session in sessions.values():
        session.recall()
        seq = note_disconnected(session, reason, cause)
        session.subscription.dispatcher.remove(session, seq)


def note_disconnected(session: Session, reason: str, cause: int) -> int:
    """The `consumer.disconnected` row."""
    topic = session.topic
    return topic.runtime.note(
        "consumer.disconnected",
        cause,
        topic.cluster.number,
        topic.number,
        session.subscription.number,
        session.consumer.number,
        reason,
    )


def retry(consumer: Consumer) -> None:
    """Subscribe again after the backoff, to every partition that is missing then.

    A consumer that already waits keeps its time.
    """
    runtime = consumer.runtime
    if consumer.retry_due_in == consumer.epoch:
        return
    consumer.retry_due_in = consumer.epoch
    runtime.schedule(
        runtime.now_us + backoff.wait_us(consumer.retries),
        consumer.rank,
        consumer.reconnect,
        consumer.epoch,
    )
    consumer.retries += 1
