"""Commands that create and delete topics and change their partitions, under pulsar-admin's names.

They are described in docs/pulsar.md.
"""

from __future__ import annotations

from simulator.protocols.pulsar.commands.declared.arguments import ADMIN_CLUSTER, TOPIC, command
from simulator.protocols.pulsar.scenario.policies import PARTITIONS_MOST
from simulator.scenarios.declarations import Command, Key, When

_PARTITIONS = Key(
    "partitions",
    "integer",
    "number of partitions afterwards",
    required=True,
    minimum=1,
    maximum=PARTITIONS_MOST,
)

GROW: tuple[Command, ...] = (
    command(
        "topic.grow",
        "add partitions to a partitioned topic",
        (
            TOPIC,
            Key(
                "partitions",
                "integer",
                "number of partitions afterwards",
                required=True,
                minimum=1,
                maximum=256,
            ),
        ),
        refusals=("not-more", "not-partitioned", "too-many"),
        label="add partitions",
        consequence=(
            "{topic} gets more partitions. Keys may map to other partitions from then on, and each new "
            "partition has its own snapshots."
        ),
    ),
)
SHAPES: tuple[Command, ...] = (
    command(
        "topic.create",
        "create a topic in one cluster; for a partitioned one the request is forwarded to the clusters "
        "that it replicates to",
        (
            ADMIN_CLUSTER,
            TOPIC,
            Key(
                "partitions",
                "integer",
                "how many; 0 is a plain topic",
                default=0,
                minimum=0,
                maximum=PARTITIONS_MOST,
                begin=0,
            ),
            Key(
                "createLocalTopicOnly", "boolean", "do not copy the request to other clusters", default=False
            ),
        ),
        refusals=("404", "409", "412", "cluster-down"),
        label="create a topic",
        consequence=(
            "{topic} is created in {cluster}",
            When(
                "partitions",
                {"": " as a plain topic.", "0": " as a plain topic."},
                (
                    " with {partitions} partitions.",
                    When(
                        "createLocalTopicOnly",
                        {"true": ""},
                        (
                            " The request is forwarded to the clusters that it replicates to. Errors "
                            "there are only logged."
                        ),
                    ),
                ),
            ),
        ),
    ),
    command(
        "topic.delete",
        "delete a topic in one cluster",
        (ADMIN_CLUSTER, TOPIC, Key("force", "boolean", "even if it is still in use", default=False)),
        refusals=("404", "412", "422", "cluster-down"),
        label="delete a topic",
        consequence=When(
            "force",
            {
                "true": (
                    "Everything of {topic} in {cluster} is deleted: messages, subscriptions, schemas. A "
                    "replicator of another cluster may create it again."
                )
            },
            "Refused while replicators or consumers use it.",
        ),
    ),
    command(
        "topic.update-partitions",
        "add partitions to a topic in one cluster, and in those that it replicates to",
        (ADMIN_CLUSTER, TOPIC, _PARTITIONS),
        refusals=("409", "412", "422", "cluster-down"),
        label="add partitions in one cluster",
        consequence=(
            "{cluster} gets {partitions|more} partitions, and the clusters that it replicates to are "
            "requested to follow. If one cannot, the partition counts differ."
        ),
    ),
)
