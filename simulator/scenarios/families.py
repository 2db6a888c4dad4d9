"""The families of scenarios, and the protocol that each one shows.

A family has its own causes of a duplicate; a test compares them. Keys, sections, settings and commands may
name one protocol; those that name none belong to all.
"""

from __future__ import annotations

from simulator.protocols.declared import DECLARED

PROTOCOL_OF: dict[str, str] = {
    family: name for name, declared in DECLARED.items() for family in declared.families
}

FAMILY_MECHANISMS: dict[str, str] = {
    family: words for declared in DECLARED.values() for family, words in declared.mechanisms.items()
}
"""What each family shows, in one or two sentences; in the gallery's order."""
