"""Every command of Pulsar that an operator may give, declared once with name, arguments and effect.

Rules: nothing here imports the engine, because scenario files are read by these declarations. The effect of a
command is in the module of the same name in the folder above.
"""

from simulator.protocols.pulsar.commands.declared import (
    clients,
    clusters,
    migrations,
    namespaces,
    replication,
    schemas,
    shadows,
    subscriptions,
    topic_shapes,
    topics,
)
from simulator.scenarios.command import Command
from simulator.scenarios.link_commands import LINKS

DECLARED: tuple[Command, ...] = (
    *clients.CLIENTS,
    *clusters.LIVES,
    *topics.UNLOAD,
    *LINKS,
    *clusters.MARKERS,
    *subscriptions.CURSORS,
    *replication.CLUSTERS,
    *topic_shapes.GROW,
    *clusters.SETTINGS,
    *topics.STORAGE,
    *clients.SEND,
    *schemas.READ,
    *shadows.SHADOWS,
    *topics.FINISH_SNAPSHOT,
    *subscriptions.FAIL_OVER,
    *migrations.MIGRATIONS,
    *namespaces.NAMESPACES,
    *topic_shapes.SHAPES,
    *replication.LISTS,
    *schemas.WRITE,
    *clients.USE_SCHEMA,
)
"""In the order of docs/scenarios.md."""
