"""Outside its own folder no protocol is named in the simulator: the rest reads manifests."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from simulator.protocols.table import PROTOCOLS
from simulator.scenarios.families import PROTOCOL_OF

ROOT = Path(__file__).resolve().parents[1]
TABLES = ("simulator/protocols/table.py", "simulator/protocols/declared.py")

STILL_NAMING = ("simulator/stories.py",)
"""To be removed: sections, settings and commands; the stories of failover and group."""

NAME = re.compile("|".join(PROTOCOLS), re.IGNORECASE)


def test_each_protocol_has_a_folder_with_its_manifest() -> None:
    folders = {
        path.name for path in (ROOT / "simulator" / "protocols").iterdir() if (path / "manifest.py").exists()
    }
    assert folders == set(PROTOCOLS)


def test_outside_its_folder_no_module_names_a_protocol() -> None:
    offences = [
        f"{name}:{line} {what}"
        for name, path in _generic_modules()
        if not name.startswith(STILL_NAMING)
        for line, what in _named(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert not offences, "\n" + "\n".join(offences)


def test_what_still_names_a_protocol_is_listed() -> None:
    naming = [
        name for name, path in _generic_modules() if any(_named(ast.parse(path.read_text(encoding="utf-8"))))
    ]
    idle = [one for one in STILL_NAMING if not any(name.startswith(one) for name in naming)]
    assert not idle, "they name no protocol now: take them out of STILL_NAMING"


def test_the_search_finds_imports_names_and_strings() -> None:
    for text in (
        "from simulator.protocols.pulsar import admin",
        "import simulator.protocols.emqx.system",
        "from simulator.scenarios.families import PULSAR",
        "class PulsarView: pass",
        "def of_emqx(): pass",
        "kind = 'tenant-migration'",
    ):
        assert list(_named(ast.parse(text))), text
    for text in ('"""As Pulsar prints it."""', "def f():\n    'Pulsar: a docstring.'", "kind = 'crash'"):
        assert not list(_named(ast.parse(text))), text


def _generic_modules() -> Iterator[tuple[str, Path]]:
    """The modules of the simulator outside the protocols' folders, without their tables."""
    own = tuple(f"simulator/protocols/{name}/" for name in PROTOCOLS)
    for path in sorted((ROOT / "simulator").rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if name not in TABLES and not name.startswith(own):
            yield name, path


def _named(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """(line, what) wherever code names a protocol or a family; docstrings may, to cite a broker's rule."""
    docstrings = {
        node.body[0].value
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
        and ast.get_docstring(node, clean=False) is not None
    }
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
