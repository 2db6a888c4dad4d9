"""Definitions in a report.

A report is a file that is passed on, so it contains them and does not link to them.
"""

from __future__ import annotations

from simulator import glossary


def from_glossary(*names: str) -> tuple[tuple[str, str], ...]:
    """The name and the definition of each of these terms, from the glossary.

    Raises KeyError for an unknown term.
    """
    terms = glossary.catalogue().by_label
    return tuple((terms[name.lower()].name, terms[name.lower()].plain) for name in names)
