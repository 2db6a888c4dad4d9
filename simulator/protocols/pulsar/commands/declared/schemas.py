"""Commands about a topic's schemas."""

from __future__ import annotations

from simulator.protocols.pulsar.commands.declared.arguments import ADMIN_CLUSTER, CLUSTER, TOPIC, command
from simulator.scenarios.command import Command
from simulator.scenarios.key import Key

READ: tuple[Command, ...] = (
    command(
        "schema.get",
        "get a topic's schema (getSchema); for a shadow topic its source's",
        (
            CLUSTER,
            TOPIC,
            Key("version", "integer", "which; without it the newest", minimum=0, maximum=1_000_000),
        ),
        refusals=("404", "cluster-down"),
    ),
    command(
        "schema.list",
        "list a topic's schemas (getAllSchemas)",
        (CLUSTER, TOPIC),
        refusals=("404", "cluster-down"),
    ),
    command(
        "schema.version",
        "get the version of a schema in a topic (getVersionBySchema)",
        (CLUSTER, TOPIC, Key("schema", "schema", "which declared schema", required=True)),
        refusals=("404", "cluster-down"),
    ),
)
WRITE: tuple[Command, ...] = (
    command(
        "schema.upload",
        "register a schema as an administrator, whether or not clients may",
        (ADMIN_CLUSTER, TOPIC, Key("schema", "schema", "which declared schema", required=True)),
        refusals=("404", "409", "NotAllowed", "cluster-down"),
    ),
    command(
        "schema.delete",
        "delete all schemas of a topic",
        (ADMIN_CLUSTER, TOPIC),
        refusals=("404", "NotAllowed", "cluster-down"),
    ),
)
