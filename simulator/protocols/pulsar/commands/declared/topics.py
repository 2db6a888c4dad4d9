"""Commands about topics of one cluster: unload, crash, storage, and their pending snapshots."""

from __future__ import annotations

from simulator.protocols.pulsar.commands.declared.arguments import CLUSTER, PARTITION, command
from simulator.scenarios.declarations import Command, Key, When

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
        label="unload a topic from its broker",
        consequence=(
            "The broker of {cluster} unloads {topic} and {broker|another broker} loads it: consumers "
            "reconnect, their unacked messages are redelivered, and the cached snapshots are lost."
        ),
    ),
)
STORAGE: tuple[Command, ...] = (
    command(
        "topic.crash",
        "crash the broker that serves a topic; another broker loads the topic with what was persisted",
        (
            CLUSTER,
            PARTITION,
            Key("downtime", "duration", "until the other broker has it", default="0s", begin="1s"),
        ),
        refusals=("cluster-down", "no-topic", "not-loaded"),
        label="crash a topic's broker",
        consequence=(
            "The broker of {cluster} that serves {topic} crashes; ",
            When("downtime", {"": ""}, "after {downtime} "),
            (
                "another broker loads the topic with what was written. Its shadow topics are not notified "
                "of entries stored in between."
            ),
        ),
    ),
    command(
        "topic.terminate",
        "terminate a topic: it accepts no more messages",
        (CLUSTER, PARTITION),
        refusals=("NotAllowed", "cluster-down", "no-topic", "not-loaded", "replicates", "terminated"),
        label="terminate a topic",
        consequence="{topic} accepts no more messages. What it holds can still be read.",
    ),
    command(
        "topic.truncate",
        "clear the backlog of every cursor of a topic and delete all its ledgers but the open one",
        (CLUSTER, PARTITION),
        refusals=("NotAllowed", "cluster-down", "no-topic", "not-loaded"),
        label="truncate a topic",
        consequence=(
            "Every cursor of {topic} moves to the end, and all its ledgers except the open one are "
            "deleted, also for its shadow topics."
        ),
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
        label="offload a topic's closed ledgers",
        consequence=(
            "{topic}'s closed ledgers are copied to other storage",
            When(
                "deleteFromBookies",
                {
                    "true": (
                        " and deleted from the bookies: a cluster with another offload driver can no "
                        "longer read them"
                    )
                },
            ),
            ".",
        ),
    ),
)
FINISH_SNAPSHOT: tuple[Command, ...] = (
    command(
        "snapshot.finish-partial",
        "UNSAFE: complete the pending snapshots of a topic with the responses so far",
        (CLUSTER, PARTITION),
        refusals=("cluster-down", "no-topic", "nothing-pending"),
        label="complete pending snapshots with the responses so far (unsafe)",
        consequence=(
            "Pending snapshots complete with the responses received so far. Unsafe: an update may move a "
            "cursor past messages that no consumer has processed."
        ),
    ),
)
