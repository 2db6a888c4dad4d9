"""Checkable statements of the documents are true.

Generated pages current, dependencies explained, named tests and files exist.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
from pathlib import Path

import pytest
from django.urls import get_resolver, resolve

from script.benchmarks.__main__ import PARTS
from script.benchmarks.measure import missing_parts
from simulator import World
from simulator.protocols.declared import DECLARED
from simulator.protocols.registry import EVENT_TYPES
from simulator.scenarios.settings import OPTIONS
from simulator.trace.registry import COLUMNS
from simulator.trace_document import trace_document

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = sorted([*(ROOT / "docs").glob("*.md"), *ROOT.glob("*.md")])
PLOTLY = ROOT / "spark_reports" / "html" / "plotly" / "plotly-basic.min.js"
ACE = ROOT / "static" / "vendor" / "ace"
GIFENC = ROOT / "static" / "vendor" / "gifenc" / "gifenc.esm.js"
NAMED_TEST = re.compile(r"`(tests/[\w/.-]+\.(?:py|mjs|js))(?:::([\w:]+))?`")


def test_trace_page_is_generated_from_the_registry():
    current = (ROOT / "docs" / "trace.md").read_text()
    assert current == trace_document(), (
        "docs/trace.md is out of date: python -m simulator.trace_document > docs/trace.md"
    )


def test_trace_page_names_every_event_and_column():
    page = trace_document()
    assert [event.name for event in EVENT_TYPES if f"| `{event.name}` |" not in page] == []
    assert [name for name in COLUMNS if f"| `{name}` |" not in page] == []


def test_every_pinned_dependency_is_explained_and_nothing_else():
    page_tools = json.loads((ROOT / "script" / "page-tools" / "package.json").read_text())
    lines = [
        line
        for name in ("requirements.txt", "tests/requirements.txt")
        for line in (ROOT / name).read_text().splitlines()
    ]
    pinned = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    pinned.update(page_tools["devDependencies"])
    pinned["plotly.js-basic-dist-min"] = re.search(r"v([\d.]+)", PLOTLY.read_text()[:200])[1]
    pinned["ace-builds"] = re.search(r'version="(\d+\.\d+\.\d+)"', (ACE / "ace.js").read_text())[1]
    pinned["gifenc"] = re.search(
        r"`gifenc` ([\d.]+) publishes", (ROOT / "docs" / "dependencies.md").read_text()
    )[1]
    rows = re.findall(
        r"^\| `([@\w.\[\]/-]+)` \| ([\w.]+) \|", (ROOT / "docs" / "dependencies.md").read_text(), re.MULTILINE
    )
    assert dict(rows) == pinned


@pytest.mark.parametrize(
    ("library", "licence"), [(PLOTLY, "LICENSE.txt"), (GIFENC, "LICENSE.md")], ids=["plotly", "gifenc"]
)
def test_a_library_in_the_repository_is_the_one_of_the_package_that_is_named(library, licence):
    digest = hashlib.sha256(library.read_bytes()).hexdigest()
    assert f"SHA-256 of `{library.name}`: `{digest}`" in (ROOT / "docs" / "dependencies.md").read_text()
    assert "MIT License" in library.with_name(licence).read_text()


def test_the_editor_component_is_that_of_the_package_that_is_named():
    text = (ROOT / "docs" / "dependencies.md").read_text()
    files = sorted(ACE.glob("*.js"))
    assert len(files) == 4
    for path in files:
        assert f"| `{path.name}` | `{hashlib.sha256(path.read_bytes()).hexdigest()}` |" in text, path.name
    assert "Ajax.org B.V." in (ACE / "LICENSE").read_text()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_test_named_in_a_document_exists(document):
    missing = [
        f"{path}::{name}" if name else path
        for path, name in NAMED_TEST.findall(document.read_text())
        if not _exists(ROOT / path, name)
    ]
    assert not missing, f"{document.name} names tests that do not exist:\n" + "\n".join(missing)


def test_the_performance_page_has_a_place_for_every_part_of_the_benchmarks():
    assert missing_parts(ROOT / "docs" / "performance.md", list(PARTS)) == []


def test_fidelity_names_every_option():
    text = (ROOT / "docs" / "fidelity.md").read_text()
    assert [name for name in OPTIONS if f"`{name}`" not in text] == []


def test_fidelity_shows_the_value_of_every_option_under_each_profile():
    text = (ROOT / "docs" / "fidelity.md").read_text()
    shown = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split(" | ")]
        if line.startswith("| `") and len(cells) > 3:
            shown[cells[0].strip("| `")] = cells[1:]
    found = 0
    for protocol, declared in DECLARED.items():
        for option in declared.options if declared.profiles else ():
            values = [OPTIONS[option.name].value_under({protocol: one.name}) for one in declared.profiles]
            words = [str(value).lower() if isinstance(value, bool) else value for value in values]
            assert shown[option.name][: len(words)] == words, option.name
            found += 1
    assert found


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


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_between_documents_have_a_target(document):
    targets = re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", document.read_text())
    assert [target for target in targets if not (document.parent / target).exists()] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_to_a_heading_have_one(document):
    missing = [
        f"{name}#{anchor}"
        for name, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*\.md)?#([\w-]+)\)", document.read_text())
        if anchor not in _anchors(document.parent / name if name else document)
    ]
    assert missing == []


def _anchors(document: Path) -> set[str]:
    """The headings as GitHub makes anchors of them."""
    text = re.sub(r"^```.*?^```", "", document.read_text(), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_readme_lists_every_document_once_by_its_kind():
    listed = (ROOT / "README.md").read_text().partition("## Documents\n")[2].partition("\n## ")[0]
    assert re.findall(r"^\| (\w[\w ]*) \| \|$", listed, re.MULTILINE) == [
        "tutorial",
        "how to",
        "reference",
        "explanation",
    ]
    pages = re.findall(r"\]\(docs/([\w-]+\.md)\)", listed)
    assert sorted(pages) == sorted(path.name for path in (ROOT / "docs").glob("*.md"))


def test_the_tutorial_names_existing_labels_of_the_pages():
    """Bold words in the tutorial are labels or titles, spelled as on the page; so is a report's sentence."""
    text = (ROOT / "docs" / "tutorial.md").read_text()
    labels = {*re.findall(r"\*\*(.+?)\*\*", text), *re.findall(r"> (An idempotent .+?)\d", text)}
    places = [
        ("templates", "*.html"),
        ("static/js", "*.js"),
        ("simulator", "*.yaml"),
        ("spark_reports", "*.py"),
        ("spark_reports", "*.html"),
    ]
    shown = "\n".join(path.read_text() for folder, kind in places for path in (ROOT / folder).rglob(kind))
    assert len(labels) >= 5
    assert sorted(label for label in labels if label not in shown) == []


def test_the_tutorial_has_the_figures_of_the_run():
    """The tutorial's sentences about the failover of `region-down`, from the run itself."""
    world = World.open("region-down")
    world.run(until_us=world.scenario.until_us)
    failover = world.summary()["failovers"][0]
    text = (ROOT / "docs" / "tutorial.md").read_text()
    ids, span_us = failover["dedup_window"]["messages"], failover["dedup_window"]["us"]
    assert f"delivered {failover['duplicates']} messages twice" in text and f"{failover['lost']} lost" in text
    assert f"remember {ids} ids, or {span_us // 1000} ms," in text
    assert f"acknowledged at {failover['drained_us'] / 1e6:.3f} s" in text


def test_the_api_page_names_every_address_and_no_other():
    """Placeholders are replaced by a value that fits.

    Every named address must resolve, and all routes must be named.
    """
    values = {"<level>": "0", "<index>": "0", "<branch>": "0", "<seq>": "0", "<number>": "0", "<n>": "0"}
    text = (ROOT / "docs" / "http-api.md").read_text()
    named = set()
    for address in re.findall(r"`(?:GET|POST) (/[^`?\s]*)", text):
        path = re.sub(r"<\w+>", lambda found: values.get(found.group(), "name"), address)
        if not path.startswith("/static/"):
            named.add(resolve(path).url_name)
    included = [pattern for one in get_resolver().url_patterns for pattern in one.url_patterns]
    assert sorted({pattern.name for pattern in included} - named) == []


CITED_FILE = re.compile(r"(?<![\w/.<>{}$*-])(?!PAGE/)(\w[\w-]*(?:[./][\w-]+)*\.(?:md|py|js|mjs))\b")
SOURCES = [
    path
    for folder in ("simulator", "visualizer", "spark_reports", "labsite", "script", "static", "tests")
    for kind in ("*.py", "*.js", "*.mjs")
    for path in (ROOT / folder).rglob(kind)
    if "node_modules" not in path.parts and path != PLOTLY and ACE not in path.parents
]


REMARKS = {
    ".py": re.compile(r'""".*?"""|#[^\n]*', re.DOTALL),
    ".js": re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL),
}
REMARKS[".mjs"] = REMARKS[".js"]


def test_no_comment_cites_a_file_that_is_not_in_the_repository():
    """Sources are a broker's class, a proposal's section, an issue's number, or an existing file."""
    assert len(SOURCES) > 500
    files = [
        *SOURCES,
        *DOCUMENTS,
        *ROOT.glob("*.py"),
        *ROOT.glob("tests/*.md"),
        *(ROOT / "static").rglob("*.js"),
    ]
    known = {path.relative_to(ROOT).as_posix() for path in files}
    known |= {path[at + 1 :] for path in known for at, letter in enumerate(path) if letter == "/"}
    wrong = []
    for path in SOURCES:
        for remark in REMARKS[path.suffix].findall(path.read_text()):
            if re.search(r"fact[\s#*]+sheet", remark, re.IGNORECASE):
                wrong.append(f"{path.relative_to(ROOT)}: a fact sheet")
            wrong += [
                f"{path.relative_to(ROOT)}: {file}"
                for file in CITED_FILE.findall(remark)
                if file not in known
            ]
    assert wrong == []


def test_no_document_cites_a_fact_sheet_or_a_missing_file():
    named = re.compile(
        r"`((?:simulator|visualizer|spark_reports|labsite|static|script|templates)/[\w/.-]*\w)`"
    )
    for document in DOCUMENTS:
        text = document.read_text()
        assert not re.search(r"fact\s+sheet|\.\./shared", text, re.IGNORECASE), document.name
        missing = [path for path in named.findall(text) if not (ROOT / path).exists()]
        assert missing == [], document.name


def test_problematic_parts_fit_on_one_screen():
    text = (ROOT / "docs" / "architecture.md").read_text()
    part = text.partition("## Problematic parts\n")[2].partition("\n## ")[0]
    lines = sum(1 + len(line) // 160 for line in part.strip().splitlines())
    assert 0 < lines <= 45


def test_the_operations_page_lists_every_setting_of_the_environment():
    settings = (ROOT / "labsite" / "settings.py").read_text()
    names = set(re.findall(r'(?:environ\.get|environment\.\w+)\(\s*"([A-Z_]+)"', settings)) | {"SECRET_KEY"}
    assert len(names) >= 9
    text = (ROOT / "docs" / "operations.md").read_text()
    assert sorted(name for name in names if f"| `{name}`" not in text) == []
