"""Puts the protocol in the tables for the duration of a test, as two permanent lines there would."""

from __future__ import annotations

import pytest

from simulator.protocols.declared import DECLARED
from simulator.protocols.table import PROTOCOLS
from simulator.scenarios.command_table import COMMANDS
from simulator.scenarios.kinds import reference
from simulator.scenarios.reader import KINDS
from simulator.scenarios.shape import PROTOCOL_OF
from tests.third_protocol import declared
from tests.third_protocol.manifest import MANIFEST

NAME = declared.NAME


def register(patch: pytest.MonkeyPatch) -> None:
    """The lines in the two tables, and what other tables derived from them when they were imported."""
    patch.setitem(DECLARED, NAME, declared.DECLARED)
    patch.setitem(PROTOCOLS, NAME, MANIFEST)
    for family in declared.DECLARED.families:
        patch.setitem(PROTOCOL_OF, family, NAME)
    for command in declared.DECLARED.commands:
        patch.setitem(COMMANDS, command.name, command)
    for section in declared.DECLARED.sections:
        patch.setitem(KINDS, section.noun, reference(section.noun, section.name))
