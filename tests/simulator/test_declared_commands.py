"""Every declared command has an effect, and every effect a declaration, subject by subject.

The codes with which a command can be refused are read from the source of its effect: those in `CommandError`
of its function and of the functions that it calls, in the protocol's folder.
"""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Callable, Iterator

import pytest

from simulator.protocols.declared import DECLARED
from simulator.protocols.emqx.commands.effects import HANDLERS as EMQX_HANDLERS
from simulator.protocols.emqx.scenario.model import EMQX
from simulator.protocols.pulsar.commands import declared, effects
from simulator.protocols.pulsar.scenario.model import PULSAR
from simulator.scenarios.declarations import Command
from simulator.scenarios.shared_commands import DRAWS, LINKS

HANDLERS_OF = {PULSAR: effects.HANDLERS, EMQX: EMQX_HANDLERS}

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


@pytest.mark.parametrize(("protocol", "handlers"), list(HANDLERS_OF.items()))
def test_every_declared_command_has_an_effect_and_every_effect_a_declaration(protocol, handlers):
    assert sorted(handlers) == sorted(command.name for command in DECLARED[protocol].commands)


@pytest.mark.parametrize("protocol", sorted(DECLARED))
def test_a_command_is_declared_only_once(protocol):
    names = [command.name for command in DECLARED[protocol].commands]
    assert len(names) == len(set(names))
    own = [
        command
        for command in DECLARED[protocol].commands
        if command.name not in {shared.name for shared in (*LINKS, *DRAWS)}
    ]
    assert {command.protocol for command in own} == {protocol}


@pytest.mark.parametrize("subject", SUBJECTS)
def test_the_two_modules_of_a_subject_name_the_same_commands(subject):
    declarations = vars(importlib.import_module(f"{declared.__name__}.{subject}")).values()
    tuples = [one for one in declarations if isinstance(one, tuple) and one and isinstance(one[0], Command)]
    handlers = importlib.import_module(f"simulator.protocols.pulsar.commands.{subject}").HANDLERS
    assert sorted(command.name for group in tuples for command in group) == sorted(handlers)


@pytest.mark.parametrize("protocol", sorted(DECLARED))
def test_every_refusal_code_has_a_meaning_and_belongs_to_a_command(protocol):
    declared_codes = {code for command in DECLARED[protocol].commands for code in command.refusals}
    assert sorted(DECLARED[protocol].refusals) == sorted(declared_codes)


@pytest.mark.parametrize(
    ("protocol", "command"),
    [(protocol, command) for protocol in sorted(DECLARED) for command in DECLARED[protocol].commands],
    ids=lambda one: getattr(one, "name", one),
)
def test_a_command_declares_the_codes_that_its_effect_raises(protocol, command):
    module = importlib.import_module(HANDLERS_OF[protocol][command.name].__module__)
    effect = getattr(module, HANDLERS_OF[protocol][command.name].__qualname__.split(".")[0])
    assert list(command.refusals) == sorted(_codes(effect, set()))


def _codes(function: Callable, seen: set[Callable]) -> set[str]:
    """The codes of `CommandError` in a function and in the functions of protocols that it calls."""
    seen.add(function)
    known = vars(importlib.import_module(function.__module__))
    found: set[str] = set()
    for node in ast.walk(ast.parse(inspect.getsource(function))):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "CommandError":
            found |= set(_code(node.args[0], known))
        called = None
        if isinstance(node, ast.Name):
            called = known.get(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            owner = known.get(node.value.id)
            called = getattr(owner, node.attr, None) if inspect.ismodule(owner) else None
        if inspect.isfunction(called) and called not in seen:
            if called.__module__.startswith(("simulator.protocols.", "simulator.system.")):
                found |= _codes(called, seen)
    return found


def _code(argument: ast.expr, known: dict) -> Iterator[str]:
    if isinstance(argument, ast.Constant):
        yield argument.value
    elif isinstance(argument, ast.Name):
        yield known[argument.id]
    else:
        assert ast.unparse(argument) == "*nowhere"
        yield from ("404", "412")  # policies.not_here
