"""Commands about shadow topics."""

from __future__ import annotations

from simulator.protocols.pulsar.commands.declared.arguments import CLUSTER, ROLE, command
from simulator.scenarios.command import Command
from simulator.scenarios.key import Key

_SHADOW_SOURCE = Key("topic", "address", "the source topic", required=True)

SHADOWS: tuple[Command, ...] = (
    command(
        "shadow.create",
        "create a declared shadow topic; that its source feeds it is a step of its own",
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
        "ask which topic a shadow topic reads",
        (CLUSTER, Key("topic", "address", "the shadow topic", required=True)),
        refusals=("403", "404", "cluster-down"),
    ),
    command(
        "shadow.set",
        "set a topic's list of shadow topics, which feeds those that are on it (PUT …/shadowTopics)",
        (CLUSTER, _SHADOW_SOURCE, Key("shadows", "addresses", "the shadow topics", required=True), ROLE),
        refusals=("403", "404", "405", "409", "412", "cluster-down"),
    ),
    command(
        "shadow.list",
        "ask for a topic's list of shadow topics (GET …/shadowTopics)",
        (CLUSTER, _SHADOW_SOURCE, ROLE),
        refusals=("403", "404", "405", "412", "cluster-down"),
    ),
    command(
        "shadow.remove",
        "remove a topic's list of shadow topics (DELETE …/shadowTopics)",
        (CLUSTER, _SHADOW_SOURCE, ROLE),
        refusals=("403", "404", "405", "409", "412", "cluster-down"),
    ),
)
