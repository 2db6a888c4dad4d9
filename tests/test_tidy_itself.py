"""The house rules detect what they are meant to.

Small sources that break them, and similar ones that do not.
"""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
_spec = importlib.util.spec_from_file_location("house_rules", ROOT / "tests" / "test_tidy.py")
tidy = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(tidy)


@pytest.mark.parametrize(
    ("source", "package", "expected"),
    [
        ("import random", "simulator", {"random"}),
        ("from random import choice", "simulator", {"random"}),
        ("def late():\n    from pyspark.sql import functions", "labsite", {"pyspark.sql"}),
        ("from simulator import world", "visualizer", {"simulator", "simulator.world"}),
        ("from simulator import World", "visualizer", {"simulator"}),
        (
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import pyspark\nelse:\n    import ast",
            "simulator",
            {"typing", "ast"},
        ),
        (
            "from ..log import ledgers",
            "simulator.kernel",
            {"simulator.log", "simulator.log.ledgers"},
        ),
        (
            "from . import topic",
            "simulator.protocols.pulsar.broker",
            {"simulator.protocols.pulsar.broker", "simulator.protocols.pulsar.broker.topic"},
        ),
    ],
)
def test_imports_are_detected_in_every_form(source, package, expected):
    assert {module for _line, module in tidy.imports(ast.parse(source), package)} == expected


@pytest.mark.parametrize(
    "source",
    [
        "for x in {1, 2}: pass",
        "for x in set(y): pass",
        "z = [x for x in frozenset(y)]",
        "s = set()\nfor x in s: pass",
        "def f(s: set[int]):\n    return list(s)",
        "class A:\n    def f(self):\n        self.s = {x for x in y}\n        return tuple(self.s)",
        "for x in set(a) | b: pass",
    ],
)
def test_iteration_over_a_set_is_detected(source):
    assert offences(source)


@pytest.mark.parametrize(
    "source",
    [
        "for x in sorted({1, 2}): pass",
        "n = sum(x for x in {1, 2})",
        "for x in [1, 2]: pass",
        "s = set()\nif 1 in s: pass",
        "for x in dict.fromkeys(y): pass",
    ],
)
def test_permitted_uses_of_sets_pass(source):
    assert not offences(source)


def offences(source: str) -> list[str]:
    tree = ast.parse(source)
    known, orderless = tidy._names_of_sets(tree), tidy._orderless(tree)
    return [
        ast.unparse(expression)
        for node in ast.walk(tree)
        if node not in orderless
        for expression in tidy._iterated(node)
        if tidy._is_set(expression, known)
    ]


@pytest.mark.parametrize(
    ("docstring", "lines"),
    [
        ("A sentence.", []),
        ("A sentence.\n\nMore, which may go on\nover two lines.", []),
        ("What it returns:\n\na list.", []),
        ("x" * 99 + ".", []),
        ("x" * 100 + ".", [2]),
        ("A sentence that goes on\nover two lines.", [2]),
        ("No end", [2]),
        ("6.\n\nA sentence after its number.", [2]),
        ("", [2]),
    ],
)
@pytest.mark.parametrize("head", ["class A:", "def f():", "async def f():"])
def test_an_unfinished_first_line_of_a_docstring_is_detected(head, docstring, lines):
    tree = ast.parse(f'{head}\n    """{docstring}"""')
    assert [line for line, _first in tidy.unfinished_docstrings(tree)] == lines


def test_the_first_line_of_a_module_is_checked_and_code_without_docstrings_passes():
    assert list(tidy.unfinished_docstrings(ast.parse('"""No end"""\ndef f(): pass'))) == [(1, "No end")]


def test_a_handler_that_hides_every_error_is_detected():
    handlers = [
        node
        for node in ast.walk(
            ast.parse("try:\n    f()\nexcept Exception:\n    pass\ntry:\n    g()\nexcept KeyError:\n    pass")
        )
        if isinstance(node, ast.ExceptHandler)
    ]
    assert [tidy._swallows(handler) for handler in handlers] == [True, False]
