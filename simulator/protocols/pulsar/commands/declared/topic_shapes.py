"""Commands that create and delete topics and change their partitions, under pulsar-admin's names
(docs/topic-creation.md).
"""

from __future__ import annotations

from simulator.protocols.pulsar.commands.declared.arguments import ADMIN_CLUSTER, TOPIC, command
from simulator.protocols.pulsar.scenario.policies import PARTITIONS_MOST
from simulator.scenarios.command import Command
from simulator.scenarios.key import Key

_PARTITIONS = Key(
    "partitions", "integer", "how many it shall have", required=True, minimum=1, maximum=PARTITIONS_MOST
)

GROW: tuple[Command, ...] = (
    command(
        "topic.grow",
        "add partitions to a partitioned topic",
        (
            TOPIC,
            Key("partitions", "integer", "how many it shall have", required=True, minimum=1, maximum=256),
        ),
        refusals=("not-more", "not-partitioned", "too-many"),
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
            ),
            Key(
                "createLocalTopicOnly", "boolean", "do not copy the request to other clusters", default=False
            ),
        ),
        refusals=("404", "409", "412", "cluster-down"),
    ),
    command(
        "topic.delete",
        "delete a topic in one cluster",
        (ADMIN_CLUSTER, TOPIC, Key("force", "boolean", "even if it is still in use", default=False)),
        refusals=("404", "412", "422", "cluster-down"),
    ),
    command(
        "topic.update-partitions",
        "add partitions to a topic in one cluster, and in those that it replicates to",
        (ADMIN_CLUSTER, TOPIC, _PARTITIONS),
        refusals=("404", "409", "412", "422", "cluster-down"),
    ),
)
