"""Names of OpenTelemetry's messaging attributes, today's first, and the canonical column of each.

The source is the semantic conventions v1.44.0, where messaging is still in development; older names follow.
"""

from __future__ import annotations

ATTRIBUTES: dict[str, tuple[str, ...]] = {
    "message_id": ("messaging.message.id", "messaging.message_id"),
    "position": ("messaging.kafka.offset", "messaging.kafka.message.offset"),
    "topic": ("messaging.destination.name", "messaging.destination"),
    "partition": (
        "messaging.destination.partition.id",
        "messaging.kafka.destination.partition",
        "messaging.kafka.partition",
    ),
    "subscription": (
        "messaging.destination.subscription.name",
        "messaging.servicebus.destination.subscription_name",
        "messaging.consumer.group.name",
        "messaging.kafka.consumer.group",
        "messaging.kafka.consumer_group",
        "messaging.eventhubs.consumer.group",
    ),
    "consumer": (
        "messaging.client.id",
        "messaging.client_id",
        "messaging.consumer.id",
        "messaging.kafka.client_id",
    ),
    "cluster": ("messaging.kafka.cluster.id", "cloud.region", "k8s.cluster.name"),
    "delivery_count": (
        "messaging.servicebus.message.delivery_count",
        "messaging.gcp_pubsub.message.delivery_attempt",
    ),
}
OPERATION = ("messaging.operation.type", "messaging.operation")
OPERATION_NAME = ("messaging.operation.name",)
SYSTEM = ("messaging.system",)
ERROR = ("error.type",)
ACKNOWLEDGMENT = ("messaging.pulsar.acknowledgment.type",)
ACKNOWLEDGED = ("acknowledge", "cumulative_acknowledge")
"""Values with which a span of Pulsar's Java client ends at its acknowledgement."""

TYPES_BY_NAME = {
    **{name: name for name in ("send", "publish", "create", "receive", "deliver", "process", "settle")},
    "poll": "receive",
    "ack": "settle",
    "acknowledge": "settle",
    "nack": "settle",
}
"""Types of operations by name, for spans without a type; Pulsar's Java client writes only the name."""

PULSAR_POSITION = r"^(-?\d+:-?\d+:-?\d+(:-?\d+)?;?){1,2}$|^\((-?\d+,){3}-?\d+\)$"
"""A message id as Pulsar's clients print it: `MessageIdImpl.toString()` and its subclasses, and C++."""

DELIVERY_OPERATIONS = ("process", "deliver", "receive")
"""Operations that show a delivery; the first that the log has is counted, the others repeat it."""
PUBLISH_OPERATIONS = ("send", "publish", "create")
NEGATIVE_SETTLEMENTS = ("nack", "abandon", "reject", "release", "defer", "modify_ack_deadline")
"""Names of settle operations that are no acknowledgement."""
