"""The glossary: its document is current, its terms are complete, and its page has a place for each."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.test import Client

from simulator import glossary
from simulator.protocols.table import PROTOCOLS
from simulator.protocols.terms import LAB, Catalogue, Term, TermSection
from spark_reports.protocols.table import PROTOCOLS as REPORTED

DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "glossary.md"


def test_the_document_is_generated_from_the_catalogue() -> None:
    assert DOCUMENT.read_text() == glossary.glossary_document(), (
        "docs/glossary.md is out of date: python -m simulator.glossary > docs/glossary.md"
    )


def test_each_protocol_declares_terms_and_causes_and_each_term_has_a_source() -> None:
    assert all(protocol.terms and protocol.causes for protocol in PROTOCOLS.values())
    terms = [term for section in glossary.catalogue().sections for term in section.terms]
    assert [term.name for term in terms if not term.source or not term.says.endswith(".")] == []


def test_a_label_links_to_one_term_only() -> None:
    one = Term("Lease", "The right to read.", LAB, ("owner",))
    with pytest.raises(ValueError, match="“Owner” leads to “Lease” and to “Owner”"):
        Catalogue([TermSection("Words", (one, Term("Owner", "Who has it.", LAB, ("owner",))))])


def test_the_page_has_a_place_for_each_term_cause_event_and_column() -> None:
    page = Client().get("/glossary/").content.decode()
    anchors = [term.anchor for section in glossary.catalogue().sections for term in section.terms]
    anchors += [f"event-{event.name.replace('.', '')}" for event in glossary.events()]
    anchors += [f"column-{name}" for name in glossary.columns()]
    assert [anchor for anchor in anchors if page.count(f'id="{anchor}"') != 1] == []
    headings = [heading for rows in glossary.causes().values() for heading, _says in rows]
    assert [heading for heading in headings if f"<dt>{heading}</dt>" not in page] == []


def test_reports_define_their_terms_as_the_glossary_does() -> None:
    """A report has a definition of its own only where it describes how Spark counts."""
    terms = {term.name: term.plain for section in glossary.catalogue().sections for term in section.terms}
    own = {
        name: {word for word, says in protocol.page.definitions if says != terms.get(word)}
        for name, protocol in REPORTED.items()
    }
    assert own == {
        "pulsar": {"Message", "Extra deliveries", "Lost"},
        "emqx": {"Message", "Duplicate", "Lost", "Reader", "Reordered"},
    }
