"""Outside its own folder no protocol is named, on the server or in reports: the rest reads manifests."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from simulator.protocols.declared import DECLARED
from simulator.protocols.table import PROTOCOLS
from simulator.scenarios.shape import PROTOCOL_OF

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("simulator", "spark_reports")
"""With a folder for each protocol."""
GENERIC_ROOMS = ("visualizer", "labsite")
"""Without one: their modules name no protocol at all."""
TABLES = (
    "simulator/protocols/table.py",
    "simulator/protocols/declared.py",
    "spark_reports/protocols/table.py",
)

LOGS_OF_BROKERS = ("spark_reports/audit/", "visualizer/tasks/uploads.py")
"""What reads the logs of brokers and their clients: a format is named after the program that writes it."""

NAME = re.compile("|".join(PROTOCOLS), re.IGNORECASE)


@pytest.mark.parametrize("room", ROOMS)
def test_each_protocol_has_a_folder_with_its_manifest(room: str) -> None:
    folders = {path.name for path in (ROOT / room / "protocols").iterdir() if (path / "manifest.py").exists()}
    assert folders == set(PROTOCOLS)


def test_outside_its_folder_no_module_names_a_protocol() -> None:
    offences = [
        f"{name}:{line} {what}"
        for name, path in _generic_modules()
        if not name.startswith(LOGS_OF_BROKERS)
        for line, what in _named(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert not offences, "\n" + "\n".join(offences)


def test_outside_its_folder_no_module_names_an_event_of_one_protocol() -> None:
    named = _events_of_one_protocol()
    offences = [
        f"{name}:{line} {what}"
        for name, path in _generic_modules()
        for line, what in _events_named(ast.parse(path.read_text(encoding="utf-8")), named)
    ]
    assert not offences, "\n" + "\n".join(offences)


def test_the_search_for_events_finds_strings() -> None:
    named = _events_of_one_protocol()
    assert {"cluster.crashed", "lease.changed"} <= named and not {"link.cut", "message.stored"} & named
    for text, found in (
        ("JUMPS = ('cluster.crashed',)", True),
        ("f'{row} lease.changed'", True),
        ('"""After a `cluster.crashed` row."""', False),
        ("TYPES = ('link.cut', 'cluster.crash')", False),
    ):
        assert bool(list(_events_named(ast.parse(text), named))) is found, text


def test_the_search_for_protocols_finds_imports_names_and_strings() -> None:
    for text in (
        "from simulator.protocols.pulsar import admin",
        "import simulator.protocols.emqx.system",
        "from simulator.scenarios.shape import PULSAR",
        "class PulsarView: pass",
        "def of_emqx(): pass",
        "kind = 'tenant-migration'",
    ):
        assert list(_named(ast.parse(text))), text
    for text in ('"""As Pulsar prints it."""', "def f():\n    'Pulsar: a docstring.'", "kind = 'crash'"):
        assert not list(_named(ast.parse(text))), text


def _generic_modules() -> Iterator[tuple[str, Path]]:
    """The modules of all rooms outside the protocols' folders, without their tables."""
    own = tuple(f"{room}/protocols/{name}/" for room in ROOMS for name in PROTOCOLS)
    for path in sorted(path for room in ROOMS + GENERIC_ROOMS for path in (ROOT / room).rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if name not in TABLES and not name.startswith(own):
            yield name, path


def _events_of_one_protocol() -> frozenset[str]:
    return frozenset(event.name for declared in DECLARED.values() for event in declared.events)


def _events_named(tree: ast.Module, events: frozenset[str]) -> Iterator[tuple[int, str]]:
    """(line, string) wherever code, not a docstring, has the name of one of these events."""
    word = re.compile(r"[\w-]+(?:\.[\w-]+)+")
    docstrings = _docstrings(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in docstrings:
            if events.intersection(word.findall(node.value)):
                yield node.lineno, node.value


def _docstrings(tree: ast.Module) -> set[ast.expr]:
    return {
        node.body[0].value
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
        and ast.get_docstring(node, clean=False) is not None
    }


def _named(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """(line, what) wherever code names a protocol or a family; docstrings may, to cite a broker's rule."""
    docstrings = _docstrings(tree)
    for node in ast.walk(tree):
        if node in docstrings:
            continue
        if isinstance(node, ast.Constant):
            named = isinstance(node.value, str) and (node.value in PROTOCOL_OF or NAME.search(node.value))
        else:
            fields = ("id", "attr", "arg", "name", "asname", "module")
            words = [getattr(node, field, None) for field in fields]
            named = any(isinstance(word, str) and NAME.search(word) for word in words)
        if named:
            yield getattr(node, "lineno", 0), ast.unparse(node)
