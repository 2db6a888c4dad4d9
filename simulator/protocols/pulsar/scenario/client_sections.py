"""Sections of clients: producers, subscriptions, consumers and audiences."""

from __future__ import annotations

from simulator.protocols.pulsar.scenario import model
from simulator.protocols.pulsar.scenario.families import PULSAR
from simulator.scenarios.key import Key, Section
from simulator.scenarios.publishing import PUBLISHING

PRODUCERS = Section(
    "producers",
    "producer",
    model.ProducerSpec,
    "the producers, by name; one without `every`, `rate` or `at` publishes on command only",
    (
        Key("topic", "topic", "where it publishes", required=True),
        Key("cluster", "cluster", "cluster that it connects to; default: what the LookupService returns"),
        *PUBLISHING,
        Key(
            "keys",
            "integer",
            "number of keys, taken in turn; without it messages have no key",
            minimum=1,
            maximum=1_000_000,
        ),
        Key("batch", "integer", "messages that travel in one entry", minimum=1, maximum=1000),
        Key(
            "sendTimeout",
            "duration",
            "after which it gives a message up; 0s is never",
            attribute="send_timeout_us",
        ),
        Key(
            "replicateTo",
            "clusters",
            "clusters that get its messages; [] is none, without it everyone",
            attribute="replicate_to",
        ),
        Key("delay", "delay", "delayed delivery: which messages, and for how long"),
        Key("paused", "boolean", "begins paused"),
        Key("schema", "schema", "schema of its messages; without it bytes"),
        Key("role", "role", "role that it connects with, where the scenario has roles"),
    ),
    most=1000,
    protocol=PULSAR,
)

SUBSCRIPTIONS = Section(
    "subscriptions",
    "subscription",
    model.SubscriptionSpec,
    "the subscriptions, by name",
    (
        Key("topic", "topic", "what it subscribes to", required=True),
        Key("type", "choice", "subscription type", choices=("Exclusive", "Failover", "Shared", "Key_Shared")),
        Key(
            "replicateSubscriptionState",
            "boolean",
            "its consumers ask for a replicated subscription",
            attribute="replicate_subscription_state",
        ),
        Key(
            "initialPosition",
            "choice",
            "where its consumers begin when it does not exist yet",
            attribute="initial_position",
            choices=("Latest", "Earliest"),
        ),
        Key(
            "acknowledgementSync",
            "choice",
            (
                "whether clusters tell each other what is acknowledged, message by message: never, on "
                "command, or again and again"
            ),
            attribute="acknowledgement_sync",
            choices=("none", "once", "periodic"),
        ),
        Key(
            "ackSyncPeriod",
            "duration",
            "time between two such messages, when periodic",
            attribute="ack_sync_period_us",
            minimum=1000,
        ),
    ),
    most=256,
    protocol=PULSAR,
)

CONSUMERS = Section(
    "consumers",
    "consumer",
    model.ConsumerSpec,
    "the consumers, by name",
    (
        Key("subscription", "subscription", "which subscription it consumes", required=True),
        Key("cluster", "cluster", "cluster that it connects to; default: what the LookupService returns"),
        Key("start", "duration", "instant at which it subscribes", attribute="start_us"),
        Key(
            "stop",
            "duration",
            (
                "instant at which it closes, once done with the message at work; what it holds goes back; "
                "without it never"
            ),
            attribute="stop_us",
        ),
        Key(
            "receiverQueueSize",
            "integer",
            (
                "messages it lets the broker push ahead; 0 is none: one message is fetched at a time, "
                "partitions are refused, and a batch closes it"
            ),
            attribute="receiver_queue_size",
            minimum=0,
            maximum=1_000_000,
        ),
        Key("processing", "distribution", "from delivery to acknowledgement; one message at a time"),
        Key("acknowledge", "choice", "how it acknowledges", choices=("individual", "cumulative", "never")),
        Key(
            "acknowledgmentGroupTime",
            "duration",
            "acks are sent together after this; 0s is at once",
            attribute="acknowledgment_group_time_us",
        ),
        Key(
            "acknowledgmentGroupPhase",
            "duration",
            (
                "an instant at which its first process sends a group; the others are a whole number of "
                "periods before and after it; without it the option ackGroupPhase decides"
            ),
            attribute="acknowledgment_group_phase_us",
        ),
        Key(
            "negativeAckRedeliveryDelay",
            "duration",
            "from a negative ack to the request for redelivery, 100ms at least",
            attribute="negative_ack_redelivery_delay_us",
        ),
        Key(
            "negativeAckPrecisionBitCnt",
            "integer",
            (
                "bits that the due time of a negative ack loses, in milliseconds: 8 is up to 255 ms early, "
                "but a delay after the first pending one at the earliest"
            ),
            attribute="negative_ack_precision_bits",
            minimum=0,
            maximum=32,
        ),
        Key(
            "ackTimeout",
            "duration",
            "an unacknowledged message is asked for again after this; 0s is off",
            attribute="ack_timeout_us",
        ),
        Key(
            "hold",
            "hold",
            "messages that it keeps unacknowledged, and for how long; without `for` until released",
        ),
        Key(
            "negativeAcknowledge",
            "nack",
            "messages that it acknowledges negatively on their first delivery",
            attribute="negative_acknowledge",
        ),
        Key(
            "batchIndexAcknowledgment",
            "boolean",
            "acks of single messages of a batch are sent",
            attribute="batch_index_acknowledgment",
        ),
        Key("paused", "boolean", "begins paused: connected, but takes nothing"),
        Key("schema", "schema", "schema that it reads with; without it bytes"),
        Key("role", "role", "role that it connects with, where the scenario has roles"),
    ),
    most=1000,
    protocol=PULSAR,
)

AUDIENCES = Section(
    "audiences",
    "audience",
    model.AudienceSpec,
    (
        "very many alike Exclusive subscriptions, each with one consumer that takes and acknowledges "
        "messages at once; they need declared brokers (docs/broadcast.md)"
    ),
    (
        Key("topic", "topic", "what they subscribe to", required=True),
        Key("cluster", "cluster", "where they are connected", required=True),
        Key("subscriptions", "integer", "how many they are", required=True, minimum=1, maximum=200_000),
        Key(
            "initialPosition",
            "choice",
            "where each begins",
            attribute="initial_position",
            choices=("Latest", "Earliest"),
        ),
        Key("start", "duration", "instant at which they all ask to connect", attribute="start_us"),
        Key("stop", "duration", "instant at which they all close; without it never", attribute="stop_us"),
    ),
    most=64,
    protocol=PULSAR,
)
