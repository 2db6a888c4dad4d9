"""Commands to producers and consumers, and about single messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simulator.protocols.pulsar.commands.declared.arguments import CLIENT, CONSUMER, PRODUCER, command
from simulator.scenarios.declarations import Command, Key, Objection, When
from simulator.scenarios.limits import LONGEST_MEAN_US, PUBLISHED_AT_ONCE_MAX


def _holds_something(values: Mapping[str, Any]) -> Objection | None:
    if values.get("messages") or values.get("share"):
        return None
    return Objection("", "holds nothing", "name messages, a share, or both", "missing-argument")


CLIENTS: tuple[Command, ...] = (
    command(
        "producer.publish",
        "publish messages at once",
        (
            PRODUCER,
            Key(
                "count",
                "integer",
                "how many messages",
                default=1,
                minimum=1,
                maximum=PUBLISHED_AT_ONCE_MAX,
                begin=10,
            ),
        ),
        refusals=("wrong-state",),
        consequence="{producer} publishes {count|10} messages at this instant, in addition to its rate.",
    ),
    command(
        "producer.start",
        "connect a producer and let it publish",
        (PRODUCER,),
        refusals=("wrong-state",),
        label="start a producer",
        consequence="{producer} starts to publish at its rate.",
    ),
    command(
        "producer.stop",
        "close a producer after its messages are acknowledged to it",
        (PRODUCER,),
        refusals=("wrong-state",),
        label="stop a producer",
        consequence="{producer} stops publishing. What it has sent is still stored and replicated.",
    ),
    command(
        "producer.pause",
        "pause a producer",
        (PRODUCER,),
        refusals=("wrong-state",),
        consequence=(
            "{producer} publishes nothing until it is resumed. Without new messages no snapshot is requested."
        ),
    ),
    command(
        "producer.resume",
        "resume a producer",
        (PRODUCER,),
        refusals=("wrong-state",),
        consequence="{producer} publishes at its rate again.",
    ),
    command(
        "producer.slow",
        "change a producer's interval",
        (
            PRODUCER,
            Key(
                "every",
                "duration",
                "one message each",
                required=True,
                minimum=1,
                maximum=LONGEST_MEAN_US,
                begin="500ms",
            ),
        ),
        label="change a producer's rate",
        consequence="{producer} publishes one message every {every|interval} from now on.",
    ),
    command(
        "consumer.start",
        "subscribe a consumer",
        (CONSUMER,),
        refusals=("wrong-state",),
        label="start a consumer",
        consequence="{consumer} subscribes and receives the backlog.",
    ),
    command(
        "consumer.stop",
        "close a consumer after it has processed and acked what it has received",
        (CONSUMER,),
        refusals=("wrong-state",),
        label="stop a consumer",
        consequence="{consumer} disconnects. Its unacked messages go to other consumers or wait.",
    ),
    command(
        "consumer.pause",
        "pause a consumer; it stays connected",
        (CONSUMER,),
        refusals=("wrong-state",),
        label="pause a consumer",
        consequence=(
            "{consumer} processes nothing: its receiver queue fills, the mark-delete position stops, and "
            "snapshots above it cannot be applied."
        ),
    ),
    command(
        "consumer.resume",
        "resume a consumer",
        (CONSUMER,),
        refusals=("wrong-state",),
        consequence="{consumer} continues with its receiver queue.",
    ),
    command(
        "consumer.slow",
        "change a consumer's processing time",
        (
            CONSUMER,
            Key(
                "processing", "distribution", "from delivery to acknowledgement", required=True, begin="200ms"
            ),
        ),
        label="slow a consumer",
        consequence=(
            "{consumer} takes {processing|longer} for each message. The mark-delete position falls "
            "behind, so a failover delivers more duplicates."
        ),
    ),
    command(
        "client.kill",
        "kill a producer or consumer: what it has not sent is lost",
        (CLIENT,),
        refusals=("wrong-state",),
        label="kill a producer or consumer",
        consequence="{client} is killed: acks that it had not sent are lost.",
    ),
    command(
        "client.close",
        "close a producer or consumer cleanly",
        (CLIENT,),
        refusals=("wrong-state",),
        consequence=(
            "{client} sends its pending acks and disconnects. Only what it had not processed is redelivered."
        ),
    ),
    command(
        "consumer.hold",
        "hold acks of messages that a consumer receives from now on",
        (
            CONSUMER,
            Key("messages", "messages", "these very messages"),
            Key("share", "share", "this share of all"),
            Key("for", "duration", "for how long; without it until released"),
        ),
        check=_holds_something,
        label="hold acknowledgements",
        consequence=(
            "{consumer} processes the selected messages and does not ack them. The first held message "
            "stops the mark-delete position: no snapshot above it can be applied, and after a failover "
            "everything above it is a duplicate."
        ),
    ),
    command(
        "consumer.release",
        "ack the messages that a consumer holds",
        (CONSUMER, Key("messages", "messages", "only these; without it all")),
        refusals=("not-held",),
        label="ack held messages",
        consequence=(
            "{consumer} acks the held messages. The mark-delete position jumps and may pass cached snapshots."
        ),
    ),
    command(
        "consumer.negative-acknowledge",
        "negatively acknowledge messages that are delivered and not acked",
        (CONSUMER, Key("messages", "messages", "which messages", required=True)),
        refusals=("not-in-hand",),
        label="negatively acknowledge",
        consequence=(
            "{consumer} negatively acknowledges these messages. They are redelivered after its redelivery "
            "delay."
        ),
    ),
)
SEND: tuple[Command, ...] = (
    command(
        "producer.send",
        "send one message and show the broker's answer",
        (
            PRODUCER,
            Key(
                "position",
                "entry-position",
                "the message brings its own position, as those of a shadow replicator do",
            ),
            Key("partition", "integer", "to this partition", minimum=0, maximum=255),
        ),
        refusals=(
            "NotAllowed",
            "NotAuthorized",
            "TopicTerminated",
            "cluster-down",
            "no-topic",
            "wrong-state",
        ),
        label="send one message and show the response",
        consequence=When(
            "position",
            {"": "{producer} sends one message; a shadow topic refuses it."},
            (
                "{producer} sends a message with position {position}. Only a shadow topic accepts that, "
                "and does not check it."
            ),
        ),
    ),
)
USE_SCHEMA: tuple[Command, ...] = (
    command(
        "producer.use-schema",
        "change a producer's schema from now on",
        (
            Key("producer", "producer", "which producer", required=True),
            Key("schema", "schema", "which declared schema; without it none"),
        ),
        refusals=("no-schemas", "wrong-state"),
        label="change a producer's schema",
        consequence=(
            "Messages of {producer} use {schema|no schema} from now on. If the schema is refused, "
            "publishing fails."
        ),
    ),
)
