"""Commands to producers and consumers, and what single messages of theirs do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simulator.protocols.pulsar.commands.declared.arguments import CLIENT, CONSUMER, PRODUCER, command
from simulator.scenarios.command import Command, Objection
from simulator.scenarios.key import Key
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
            Key("count", "integer", "how many messages", default=1, minimum=1, maximum=PUBLISHED_AT_ONCE_MAX),
        ),
        refusals=("wrong-state",),
    ),
    command(
        "producer.start", "connect a producer and let it publish", (PRODUCER,), refusals=("wrong-state",)
    ),
    command(
        "producer.stop",
        "close a producer after its messages are acknowledged to it",
        (PRODUCER,),
        refusals=("wrong-state",),
    ),
    command("producer.pause", "pause a producer", (PRODUCER,), refusals=("wrong-state",)),
    command("producer.resume", "resume a producer", (PRODUCER,), refusals=("wrong-state",)),
    command(
        "producer.slow",
        "change a producer's interval",
        (
            PRODUCER,
            Key("every", "duration", "one message each", required=True, minimum=1, maximum=LONGEST_MEAN_US),
        ),
    ),
    command("consumer.start", "subscribe a consumer", (CONSUMER,), refusals=("wrong-state",)),
    command(
        "consumer.stop",
        "close a consumer after it has processed and acked what it has received",
        (CONSUMER,),
        refusals=("wrong-state",),
    ),
    command(
        "consumer.pause",
        "pause a consumer; it stays connected",
        (CONSUMER,),
        refusals=("wrong-state",),
    ),
    command("consumer.resume", "resume a consumer", (CONSUMER,), refusals=("wrong-state",)),
    command(
        "consumer.slow",
        "change a consumer's processing time",
        (CONSUMER, Key("processing", "distribution", "from delivery to acknowledgement", required=True)),
    ),
    command(
        "client.kill",
        "kill a producer or consumer: what it has not sent is lost",
        (CLIENT,),
        refusals=("wrong-state",),
    ),
    command("client.close", "close a producer or consumer cleanly", (CLIENT,), refusals=("wrong-state",)),
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
    ),
    command(
        "consumer.release",
        "ack the messages that a consumer holds",
        (CONSUMER, Key("messages", "messages", "only these; without it all")),
        refusals=("not-held",),
    ),
    command(
        "consumer.negative-acknowledge",
        "negatively acknowledge messages that are delivered and not acked",
        (CONSUMER, Key("messages", "messages", "which messages", required=True)),
        refusals=("not-in-hand",),
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
                "position",
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
    ),
)
