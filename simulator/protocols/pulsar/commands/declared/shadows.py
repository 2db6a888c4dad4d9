"""Commands about shadow topics."""

from __future__ import annotations

from simulator.protocols.pulsar.commands.declared.arguments import CLUSTER, ROLE, command
from simulator.scenarios.command import Command
from simulator.scenarios.key import Key

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
    ),
    command(
        "shadow.source",
        "get a shadow topic's source",
        (CLUSTER, Key("topic", "address", "the shadow topic", required=True)),
        refusals=("403", "404", "cluster-down"),
    ),
    command(
        "shadow.set",
        "set a topic's shadow topics, which it notifies of new entries (PUT …/shadowTopics)",
        (CLUSTER, _SHADOW_SOURCE, Key("shadows", "addresses", "the shadow topics", required=True), ROLE),
        refusals=("403", "404", "405", "409", "412", "cluster-down"),
    ),
    command(
        "shadow.list",
        "list a topic's shadow topics (GET …/shadowTopics)",
        (CLUSTER, _SHADOW_SOURCE, ROLE),
        refusals=("403", "404", "405", "412", "cluster-down"),
    ),
    command(
        "shadow.remove",
        "remove a topic's shadow topics (DELETE …/shadowTopics)",
        (CLUSTER, _SHADOW_SOURCE, ROLE),
        refusals=("403", "404", "405", "409", "412", "cluster-down"),
    ),
)
