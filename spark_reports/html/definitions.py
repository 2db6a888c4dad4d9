"""Definitions of a report: it is a file that people pass on, so it contains them and does not link to them."""

from __future__ import annotations

from simulator import glossary


def from_glossary(*names: str) -> tuple[tuple[str, str], ...]:
    """Of these terms the name and the definition, as the glossary has them. KeyError for an unknown one."""
    terms = glossary.catalogue().by_label
    return tuple((terms[name.lower()].name, terms[name.lower()].plain) for name in names)
