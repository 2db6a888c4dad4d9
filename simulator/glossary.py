"""The glossary of all protocols, and `docs/glossary.md`, which is made from it.

Command: `python -m simulator.glossary > docs/glossary.md`. A test asserts that the file is current.
"""

from __future__ import annotations

from simulator.protocols.registry import vocabulary
from simulator.protocols.table import PROTOCOLS
from simulator.protocols.terms import SHARED_TERMS, Catalogue, Term, TermSection
from simulator.trace.registry import COLUMNS, EventType

_HEAD = """# Glossary

Made by `python -m simulator.glossary > docs/glossary.md` from `simulator/protocols/terms.py` and the `terms`
of each protocol; edit those, not this page. One entry per term, with the word that the documentation, code,
metrics or admin tools of the brokers use, and its source. The page `/glossary/` of the site has the same,
with events and columns. How figures are counted: [counting.md](counting.md). Events and columns:
[trace.md](trace.md).
"""


def catalogue() -> Catalogue:
    """The terms that all protocols share, then those of each protocol in the table."""
    return Catalogue((*SHARED_TERMS, *(part for one in PROTOCOLS.values() for part in one.terms)))


def causes() -> dict[str, tuple[tuple[str, str], ...]]:
    """By protocol the causes of duplicates and losses in their order: heading and meaning."""
    return {name: protocol.causes for name, protocol in PROTOCOLS.items() if protocol.causes}


def events() -> tuple[EventType, ...]:
    """Every event type that a trace may have."""
    return vocabulary().events


def columns() -> dict[str, str]:
    """The meaning of each column of a trace, by name."""
    return {name: says for name, (_kind, says) in COLUMNS.items()}


def glossary_document() -> str:
    """The whole page as Markdown, ending in a newline."""
    parts = [_HEAD, *(_section(section) for section in catalogue().sections)]
    for protocol, rows in causes().items():
        lines = [f"| {heading} | {says} |" for heading, says in rows]
        parts.append(_table(f"Causes of duplicates and losses: {protocol}", "| cause | meaning |", lines))
    return "\n".join(parts)


def _section(section: TermSection) -> str:
    return _table(section.title, "| term | meaning | source |", [_row(term) for term in section.terms])


def _row(term: Term) -> str:
    return f'| <a id="{term.anchor}"></a>**{term.name}** | {term.says} | {term.source} |'


def _table(title: str, head: str, rows: list[str]) -> str:
    return "\n".join([f"## {title}\n", head, "|---" * (head.count("|") - 1) + "|", *rows]) + "\n"


if __name__ == "__main__":
    print(glossary_document(), end="")
