"""Commands about topics of one cluster: unload, crash, storage, and their pending snapshots."""

from __future__ import annotations

from simulator.protocols.pulsar.commands.declared.arguments import CLUSTER, PARTITION, command
from simulator.scenarios.command import Command
from simulator.scenarios.key import Key

UNLOAD: tuple[Command, ...] = (
    command(
        "topic.unload",
        "unload a topic from its broker; clients reconnect",
        (
            CLUSTER,
            PARTITION,
            Key(
                "broker",
                "broker",
                (
                    "load it again at this declared broker, as pulsar-admin's --destinationBroker; without "
                    "it where it was"
                ),
            ),
        ),
        refusals=("cluster-down", "no-broker", "no-topic"),
    ),
)
STORAGE: tuple[Command, ...] = (
    command(
        "topic.crash",
        "crash the broker that serves a topic; another broker loads the topic with what was persisted",
        (CLUSTER, PARTITION, Key("downtime", "duration", "until the other broker has it", default="0s")),
        refusals=("cluster-down", "no-topic", "not-loaded"),
    ),
    command(
        "topic.terminate",
        "terminate a topic: it accepts no more messages",
        (CLUSTER, PARTITION),
        refusals=("NotAllowed", "cluster-down", "no-topic", "not-loaded", "replicates", "terminated"),
    ),
    command(
        "topic.truncate",
        "clear the backlog of every cursor of a topic and delete all its ledgers but the open one",
        (CLUSTER, PARTITION),
        refusals=("NotAllowed", "cluster-down", "no-topic", "not-loaded"),
    ),
    command(
        "topic.offload",
        "copy a topic's closed ledgers to other storage, by its managedLedgerOffloadDriver",
        (
            CLUSTER,
            PARTITION,
            Key("deleteFromBookies", "boolean", "delete them from the bookies then", default=False),
        ),
        refusals=("412", "NotAllowed", "cluster-down", "no-topic", "not-loaded"),
    ),
)
FINISH_SNAPSHOT: tuple[Command, ...] = (
    command(
        "snapshot.finish-partial",
        "UNSAFE: complete the pending snapshots of a topic with the responses so far",
        (CLUSTER, PARTITION),
        refusals=("cluster-down", "no-topic", "nothing-pending"),
    ),
)
