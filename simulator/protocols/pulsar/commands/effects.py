"""The effects of the commands: one function per command, in tables by subject.

Rules: a function first checks and raises CommandError, then calls `begin()`, then takes effect
(`simulator.system.commanding`). `named` resolves the names in the arguments.
"""

from simulator.protocols.pulsar.commands import (
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
from simulator.system import links
from simulator.system.commanding import Handler

_SUBJECTS = (
    clusters,
    links,
    clients,
    topics,
    topic_shapes,
    replication,
    subscriptions,
    namespaces,
    schemas,
    shadows,
    migrations,
)

HANDLERS: dict[str, Handler] = {
    command: handler for subject in _SUBJECTS for command, handler in subject.HANDLERS.items()
}
