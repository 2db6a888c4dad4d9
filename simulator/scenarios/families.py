"""The families of scenarios, and the protocol that each one shows.

A family brings its own causes of a duplicate; a test compares.

Keys, sections, settings and commands that belong to one protocol say so; those that say nothing belong to
all.
"""

from __future__ import annotations

PULSAR, EMQX = "pulsar", "emqx"

PROTOCOL_OF: dict[str, str] = {
    "replicated-subscriptions": PULSAR,
    "tenant-migration": PULSAR,
    "topic-creation": PULSAR,
    "shadow-topics": PULSAR,
    "durable-shared-subscriptions": EMQX,
}


def belongs(protocol: str, to: str) -> bool:
    """Whether what is declared for `protocol` ("" is all) is there in a scenario of `to` ("" is not known
    yet).
    """
    return not protocol or not to or protocol == to
