"""Commands about a topic's schemas."""

from __future__ import annotations

from simulator.protocols.pulsar.commands.declared.arguments import ADMIN_CLUSTER, CLUSTER, TOPIC, command
from simulator.scenarios.declarations import Command, Key

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
        label="get a topic's schema",
        consequence=(
            "Nothing changes: the answer is the schema of {topic}, or of its source topic if it is a "
            "shadow topic."
        ),
    ),
    command(
        "schema.list",
        "list a topic's schemas (getAllSchemas)",
        (CLUSTER, TOPIC),
        refusals=("404", "cluster-down"),
        label="list a topic's schemas",
        consequence=(
            "Nothing changes: the answer lists the schemas of {topic}, or of its source topic if it is a "
            "shadow topic."
        ),
    ),
    command(
        "schema.version",
        "get the version of a schema in a topic (getVersionBySchema)",
        (CLUSTER, TOPIC, Key("schema", "schema", "which declared schema", required=True)),
        refusals=("404", "cluster-down"),
        label="get the version of a schema",
        consequence="Nothing changes: the answer is the version that {schema} has in {topic}.",
    ),
)
WRITE: tuple[Command, ...] = (
    command(
        "schema.upload",
        "register a schema as an administrator, whether or not clients may",
        (ADMIN_CLUSTER, TOPIC, Key("schema", "schema", "which declared schema", required=True)),
        refusals=("404", "409", "NotAllowed", "cluster-down"),
        label="register a schema",
        consequence=(
            "{cluster} registers {schema} if it is compatible, whether or not clients may register schemas."
        ),
    ),
    command(
        "schema.delete",
        "delete all schemas of a topic",
        (ADMIN_CLUSTER, TOPIC),
        refusals=("404", "NotAllowed", "cluster-down"),
        label="delete a topic's schemas",
        consequence=(
            "{cluster} has no schema for the topic. The next one that is registered becomes its first "
            "version."
        ),
    ),
)
