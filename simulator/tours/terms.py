"""Finds the words of a tour's text that the glossary explains.

Rules: a word is linked at its first occurrence. Names of terms are looked for, also in the plural. Labels are
looked for only of messages and deliveries, such as "acked": other headings, such as "in", are ordinary words.
Terms about the lab itself, such as "step", are ordinary words, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from simulator.protocols.terms import SHARED_TERMS, TermSection

MESSAGES = SHARED_TERMS[0]


def terms_in(text: str, sections: Iterable[TermSection]) -> list[tuple[str, str]]:
    """The words of a text that are terms, in order, each with the label of its term."""
    pattern, labels = _pattern((MESSAGES, *sections))
    found: dict[str, tuple[str, str]] = {}
    for match in pattern.finditer(text):
        label = labels[match[1].lower()]
        found.setdefault(label, (match[0], label))
    return list(found.values())


@cache
def _pattern(sections: tuple[TermSection, ...]) -> tuple[re.Pattern[str], dict[str, str]]:
    """The pattern of all words to look for, the longest first, and the label of each."""
    labels: dict[str, str] = {}
    for term in (term for section in sections for term in section.terms):
        for name in term.name.lower().split(", "):
            labels.setdefault(name, term.name.lower())
            labels.setdefault(f"{name}s", term.name.lower())
    for term in MESSAGES.terms:
        for label in term.labels:
            labels.setdefault(label.lower(), term.name.lower())
    words = "|".join(re.escape(word) for word in sorted(labels, key=len, reverse=True))
    return re.compile(rf"(?<![\w-])({words})(?![\w-]|/\d)", re.IGNORECASE), labels
