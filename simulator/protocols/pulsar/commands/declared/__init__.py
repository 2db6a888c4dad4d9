"""All commands of Pulsar, each declared once with name, arguments and effect.

Rules: the modules import no engine, because scenario files are read by these declarations. The effect of a
command is in the module of the same name in the parent folder.
"""

from dataclasses import replace

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
from simulator.scenarios.declarations import Command
from simulator.scenarios.shared_commands import DRAWS, LINKS

_LINK_CONSEQUENCES = {
    "link.cut": (
        "Nothing crosses {link} any more. What is in flight is lost, and sent again after the link is healed."
    ),
    "link.heal": "{link} works again: replicators reconnect and continue after the last confirmed entry.",
    "link.slow": (
        "Everything on {link} takes {latency|longer}; order is kept. Snapshots take longer by as much, and "
        "one that exceeds the snapshot timeout does not complete."
    ),
}
"""The consequences of a link fault for replicators and snapshots."""

DECLARED: tuple[Command, ...] = (
    *clients.CLIENTS,
    *clusters.LIVES,
    *topics.UNLOAD,
    *(replace(link, consequence=_LINK_CONSEQUENCES[link.name]) for link in LINKS),
    *clusters.PARTITIONS,
    *clusters.MARKERS,
    *subscriptions.CURSORS,
    *replication.CLUSTERS,
    *replication.CURSORS,
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
    *DRAWS,
)
"""In the order of docs/scenarios.md."""
