"""Commands about a topic's schemas."""

from __future__ import annotations

from simulator.protocols.pulsar.commands.declared.arguments import ADMIN_CLUSTER, CLUSTER, TOPIC, command
from simulator.scenarios.command import Command
from simulator.scenarios.shape import Key

READ: tuple[Command, ...] = (
    command(
        "schema.get",
        "ask for a topic's schema (getSchema); a shadow topic answers with its source's",
        (
            CLUSTER,
            TOPIC,
            Key("version", "integer", "which; without it the newest", minimum=0, maximum=1_000_000),
        ),
    ),
    command("schema.list", "ask for all schemas of a topic (getAllSchemas)", (CLUSTER, TOPIC)),
    command(
        "schema.version",
        "ask which version a schema has in a topic (getVersionBySchema)",
        (CLUSTER, TOPIC, Key("schema", "schema", "which declared schema", required=True)),
    ),
)
WRITE: tuple[Command, ...] = (
    command(
        "schema.upload",
        "register a schema as a person, whatever clients may",
        (ADMIN_CLUSTER, TOPIC, Key("schema", "schema", "which declared schema", required=True)),
    ),
    command("schema.delete", "delete all schemas of a topic", (ADMIN_CLUSTER, TOPIC)),
)
