"""Commands about shadow topics."""

from __future__ import annotations

from simulator.protocols.pulsar.commands.declared.arguments import CLUSTER, ROLE, command
from simulator.scenarios.declarations import Command, Key

_SHADOW_SOURCE = Key("topic", "address", "the source topic", required=True)

SHADOWS: tuple[Command, ...] = (
    command(
        "shadow.create",
        "create a declared shadow topic; its source's list is set separately",
        (
            CLUSTER,
            Key("topic", "address", "the shadow topic", required=True),
            Key("source", "address", "its source", required=True),
            ROLE,
        ),
        refusals=("403", "404", "409", "412", "cluster-down", "not-declared"),
        label="create a shadow topic",
        consequence=(
            "{topic|The shadow topic} reads the ledgers of {source|its source}. Until it is on the "
            "source's list of shadow topics, it sees closed ledgers only."
        ),
    ),
    command(
        "shadow.delete",
        "delete a shadow topic with its subscriptions",
        (
            CLUSTER,
            Key("topic", "address", "the shadow topic", required=True),
            Key("force", "boolean", "even if it is still in use", default=False),
            ROLE,
        ),
        refusals=("403", "404", "412", "cluster-down"),
        label="delete a shadow topic",
        consequence=(
            "{topic|The shadow topic} is deleted with its subscriptions. The ledgers stay, because they "
            "belong to its source."
        ),
    ),
    command(
        "shadow.source",
        "get a shadow topic's source",
        (CLUSTER, Key("topic", "address", "the shadow topic", required=True)),
        refusals=("403", "404", "cluster-down"),
        consequence="Nothing changes: the answer is its source topic.",
    ),
    command(
        "shadow.set",
        "set a topic's shadow topics, which it notifies of new entries (PUT …/shadowTopics)",
        (CLUSTER, _SHADOW_SOURCE, Key("shadows", "addresses", "the shadow topics", required=True), ROLE),
        refusals=("403", "404", "405", "409", "412", "cluster-down"),
        label="set a topic's shadow topics",
        consequence=(
            "{topic} notifies {shadows|the listed shadow topics} of every entry from now on, by position. "
            "They are not notified of entries stored before."
        ),
    ),
    command(
        "shadow.list",
        "list a topic's shadow topics (GET …/shadowTopics)",
        (CLUSTER, _SHADOW_SOURCE, ROLE),
        refusals=("403", "404", "405", "412", "cluster-down"),
        label="list a topic's shadow topics",
        consequence="Nothing changes: the answer is the list of shadow topics that {topic} notifies.",
    ),
    command(
        "shadow.remove",
        "remove a topic's shadow topics (DELETE …/shadowTopics)",
        (CLUSTER, _SHADOW_SOURCE, ROLE),
        refusals=("403", "404", "405", "409", "412", "cluster-down"),
        label="remove a topic's shadow topics",
        consequence=(
            "{topic} has no shadow topics on its list any more. In released brokers its replicators "
            "continue until the topic is unloaded."
        ),
    ),
)
