"""Headings of legends, tables, inspector and panels link to the glossary.

Rules: each heading that a page's module writes as text is in the glossary of its protocol or in the part that
all share; modules outside the protocols' folders may use the terms of every protocol. Headings that are names
of things in the run (clusters, clients, topics) are `{ name }`, and those that are neither are listed here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import Client

from simulator import glossary
from simulator.protocols.table import PROTOCOLS
from simulator.protocols.terms import SHARED_TERMS, Catalogue

PAGE = Path(__file__).resolve().parents[1] / "static" / "js"
MODULES = {path.relative_to(PAGE).as_posix(): path.read_text() for path in sorted(PAGE.rglob("*.js"))}
LEGENDS = {
    "protocols/emqx/render/legend.js",
    "protocols/pulsar/render/legend.js",
}
"""Modules that declare items of a legend, each with its term."""
LINKING = sorted(
    name for name, text in MODULES.items() if name in LEGENDS or re.search(r'from ".*/terms\.js"', text)
)

NO_TERM = {
    "pages/comparison.js": {
        "acknowledged in ${to} too, up to the failover": "a sentence; both its words are terms of other rows",
    },
    "render/legend.js": {"Glossary": "the text of the link to the term of the chosen item"},
}
"""By module the headings without a link, and why."""

WITHOUT_LINKS = {
    "protocols/emqx/pages/layers_panel.js": "the titles of the drawn state machines name a borrower or a stream",
    "protocols/pulsar/pages/brokers_panel.js": "the titles of the charts; the table has their terms",
    "protocols/pulsar/pages/creation_panel.js": "the titles of the two tables; clusters head their columns",
    "protocols/pulsar/pages/migration_panel.js": "the title of the conditions names the next step",
    "pages/header.js": "the help on keys, the text about a scenario",
    "pages/labs.js": "the title of a lab",
    "pages/set_up_answer.js": "the parts of the attachment",
    "render/sentence.js": "the text view, for reading aloud",
}
"""Modules with headings (h2, h3) that are not terms, and what they are instead."""

STRING = r'"((?:[^"\\]|\\.)*)"'
TEXT = rf"(?:{STRING}|`([^`]*)`)"


def sections_of(protocol: str | None) -> Catalogue:
    """The glossary that a module may link to."""
    if protocol is None:
        return glossary.catalogue()
    return Catalogue((*SHARED_TERMS, *PROTOCOLS[protocol].terms))


def protocol_of(module: str) -> str | None:
    parts = module.split("/")
    return parts[1] if parts[0] == "protocols" and len(parts) > 2 else None


def bracketed(text: str, start: int) -> str:
    """What is between the bracket at `start` and its partner."""
    depth, quote = 0, ""
    for at in range(start, len(text)):
        letter = text[at]
        if quote:
            quote = "" if letter == quote and text[at - 1] != "\\" else quote
        elif letter in '"`':
            quote = letter
        elif letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
            if depth == 0:
                return text[start + 1 : at]
    raise ValueError("a bracket without a partner")


def items_of(inside: str) -> Iterator[str]:
    """The parts between the commas of an array."""
    depth, quote, begun = 0, "", 0
    for at, letter in enumerate(inside):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in '"`':
            quote = letter
        elif letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
        elif letter == "," and depth == 0:
            yield inside[begun:at].strip()
            begun = at + 1
    yield inside[begun:].strip()


def label_of(item: str) -> str | None:
    """The label of `"text"` and of `["text", "label"]`; None for a name or an expression."""
    if item.startswith("["):
        item = list(items_of(item[1:-1]))[-1]
    found = re.fullmatch(TEXT, item)
    return None if found is None else found[1] or found[2]


HEAD_LISTS = re.compile(r"(?:columnHeads\(document, |\btable\((?:document, )?|\bhead: |\bhead = )(?=\[)")
"""Before the array of a table's headings."""

ROW_LISTS = re.compile(r"\b(?:const (?:lines|[A-Z]+_LINES|FIGURES)) = (?=\[)")
"""Before the array of a table's rows: each begins with its heading."""

HEAD_CALLS = re.compile(
    r'(?:headCell\(document, "(?:col|row)", |termLink\(document, (?:"[^"]*", |`[^`]*`, )?|setTermHeading\('
    r'document, title, (?:"[^"]*"|`[^`]*`), |\bitem\(|\bmarker\("\w+", |\bcursor\(|\bterm: |\brow\(|showFacts\(\w+, \w+, |'
    rf"\bconst lines = \[\[){TEXT}"
)
"""Calls with one heading, and the terms of the inspector's titles."""


def labels_in(module: str) -> list[str]:
    """The headings that a module writes as text, in the form in which the glossary looks them up."""
    text = MODULES[module]
    labels = [
        label_of(item)
        for found in HEAD_LISTS.finditer(text)
        for item in items_of(bracketed(text, found.end()))
    ]
    for found in ROW_LISTS.finditer(text):
        rows = [item for item in items_of(bracketed(text, found.end())) if item.startswith("[")]
        labels += [label_of(next(items_of(row[1:-1]))) for row in rows]
    pairs = re.finditer(r'headCell\(document, "(?:col|row)", (?=\[)', text)
    labels += [label_of(f"[{bracketed(text, found.end())}]") for found in pairs]
    labels += [found[1] or found[2] for found in HEAD_CALLS.finditer(text)]
    return [label for label in labels if label]


@pytest.mark.parametrize("module", LINKING)
def test_each_heading_is_in_the_glossary_of_its_protocol(module: str) -> None:
    known, allowed = sections_of(protocol_of(module)), NO_TERM.get(module, {})
    missing = {label for label in labels_in(module) if known.of_label(label) is None}
    assert missing == set(allowed), "give the term a label, or state here why the heading has none"


def test_the_patterns_find_the_headings() -> None:
    """The patterns above find the headings; a new way to write them needs a pattern."""
    found = {module: len(labels_in(module)) for module in LINKING}
    silent = {
        *("render/inspector.js", "pages/set_up_answer.js", "protocols/pulsar/pages/creation_panel.js"),
        *("pages/experiment.js", "pages/pair.js", "pages/tour_player.js"),
    }
    assert {module for module, count in found.items() if count == 0} <= silent
    assert found["protocols/pulsar/render/legend.js"] == 52
    assert found["protocols/emqx/render/legend.js"] == 37
    assert found["protocols/pulsar/render/risk.js"] == 17


def test_headings_sent_by_the_server_are_in_the_glossary() -> None:
    """Columns of the changed runs are those of the protocol's `Compared`."""
    for name, protocol in PROTOCOLS.items():
        titles = [figure.title for figure in protocol.compared.figures]
        assert [title for title in titles if sections_of(name).of_label(title) is None] == []


def test_column_headings_are_written_by_the_functions_that_link_them() -> None:
    """A column's heading comes from `columnHeads` or `headCell`, an h2 or h3 from `termLink`."""
    column = re.compile(r'element\([\w.]*document, ["`]th[^)]*scope: "col"')
    assert [name for name, text in MODULES.items() if column.search(text)] == []
    heading = re.compile(r'element\([\w.]*document, "h[23]", \{(?! *\}, \[termLink)')
    assert {name for name, text in MODULES.items() if heading.search(text)} == set(WITHOUT_LINKS)


def test_the_glossary_page_has_the_anchor_of_each_label() -> None:
    """The catalogue that a script gets links to places that exist on the glossary page."""
    client = Client()
    page = client.get("/glossary/").content.decode()
    text = client.get("/my-set-up/").content.decode()
    found = re.search(r'<script id="glossary-terms" type="application/json">(.*?)</script>', text)
    assert found is not None
    given = json.loads(found[1])
    assert given["page"] == "/glossary/"
    assert set(given["terms"]) == set(glossary.catalogue().by_label)
    assert [anchor for anchor, _says in given["terms"].values() if f'id="{anchor}"' not in page] == []
