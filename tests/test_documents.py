"""The documents that can be checked are true: trace schema current, dependencies all explained, claims backed by tests that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from simulator.scenarios.settings import OPTIONS
from simulator.trace.document import trace_document
from simulator.trace.registry import COLUMNS, EVENT_TYPES

ROOT = Path(__file__).resolve().parents[1]
CLAIMS = ROOT / "docs" / "claims.md"
NAMED_TEST = re.compile(r"`(tests/[\w/.-]+\.(?:py|mjs|js))(?:::([\w:]+))?`")


def test_trace_page_is_what_the_registry_says():
    current = (ROOT / "docs" / "trace.md").read_text()
    assert current == trace_document(), "docs/trace.md is out of date: python -m simulator.trace.document > docs/trace.md"


def test_trace_page_names_every_event_and_column():
    page = trace_document()
    assert [event.name for event in EVENT_TYPES if f"| `{event.name}` |" not in page] == []
    assert [name for name in COLUMNS if f"| `{name}` |" not in page] == []


def test_every_pinned_dependency_is_explained_and_nothing_else():
    lines = [line for name in ("requirements.txt", "tests/requirements.txt") for line in (ROOT / name).read_text().splitlines()]
    pinned = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    rows = re.findall(r"^\| `([\w.\[\]-]+)` \| ([\w.]+) \|", (ROOT / "docs" / "dependencies.md").read_text(), re.MULTILINE)
    assert dict(rows) == pinned


def claim_rows() -> list[list[str]]:
    """The cells of every row of the claims tables: claim, how it is shown, value seen."""
    rows = [[cell.strip() for cell in line.strip().strip("|").split(" | ")] for line in CLAIMS.read_text().splitlines() if line.startswith("| ")]
    return [row for row in rows if row[0] != "claim"]


def test_every_claim_has_a_way_to_see_it_and_a_value_or_is_open():
    for row in claim_rows():
        assert len(row) == 3 and all(row), f"a row of docs/claims.md has not three filled cells: {row}"
        claim, shown_by, seen = row
        assert "`" in shown_by or seen.startswith("open"), f"neither a test nor a command shows this, and it is not called open: {claim}"


@pytest.mark.parametrize("document", ["claims.md", "fidelity.md"])
def test_every_test_named_in_a_claim_exists(document):
    text = (ROOT / "docs" / document).read_text()
    missing = [f"{path}::{name}" if name else path for path, name in NAMED_TEST.findall(text) if not _exists(ROOT / path, name)]
    assert not missing, f"docs/{document} names tests that do not exist:\n" + "\n".join(missing)


def test_fidelity_names_every_option():
    text = (ROOT / "docs" / "fidelity.md").read_text()
    assert [name for name in OPTIONS if f"`{name}`" not in text] == []


def _exists(path: Path, name: str) -> bool:
    if not path.is_file():
        return False
    if not name:
        return True
    tree: ast.AST = ast.parse(path.read_text())
    for part in name.split("::"):
        found = [node for node in getattr(tree, "body", []) if getattr(node, "name", None) == part]
        if not found:
            return False
        tree = found[0]
    return True


@pytest.mark.parametrize("document", sorted([*(ROOT / "docs").glob("*.md"), *ROOT.glob("*.md")]), ids=lambda path: path.name)
def test_links_between_documents_lead_somewhere(document):
    targets = re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", document.read_text())
    assert [target for target in targets if not (document.parent / target).exists()] == []
