"""Every declared command has an effect, and every effect a declaration, subject by subject."""

from __future__ import annotations

import importlib

import pytest

from simulator.protocols.declared import DECLARED
from simulator.protocols.emqx.commands.effects import HANDLERS as EMQX_HANDLERS
from simulator.protocols.pulsar.commands import declared, effects
from simulator.scenarios.command import Command
from simulator.scenarios.families import EMQX, PULSAR
from simulator.scenarios.link_commands import LINKS

SUBJECTS = (
    "clients",
    "clusters",
    "migrations",
    "namespaces",
    "replication",
    "schemas",
    "shadows",
    "subscriptions",
    "topic_shapes",
    "topics",
)


@pytest.mark.parametrize(("protocol", "handlers"), [(PULSAR, effects.HANDLERS), (EMQX, EMQX_HANDLERS)])
def test_every_declared_command_has_an_effect_and_every_effect_a_declaration(protocol, handlers):
    assert sorted(handlers) == sorted(command.name for command in DECLARED[protocol].commands)


@pytest.mark.parametrize("protocol", sorted(DECLARED))
def test_a_command_is_declared_once(protocol):
    names = [command.name for command in DECLARED[protocol].commands]
    assert len(names) == len(set(names))
    own = [command for command in DECLARED[protocol].commands if command not in LINKS]
    assert {command.protocol for command in own} == {protocol}


@pytest.mark.parametrize("subject", SUBJECTS)
def test_the_two_modules_of_a_subject_name_the_same_commands(subject):
    declarations = vars(importlib.import_module(f"{declared.__name__}.{subject}")).values()
    tuples = [one for one in declarations if isinstance(one, tuple) and one and isinstance(one[0], Command)]
    handlers = importlib.import_module(f"simulator.protocols.pulsar.commands.{subject}").HANDLERS
    assert sorted(command.name for group in tuples for command in group) == sorted(handlers)
