"""Wording that no reader should have to translate, and what to write instead.

Applied to text that a person reads: scenario files, templates, documents. Code in backticks and fenced blocks is
not text: names of fields, events and options keep their spelling there.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import NamedTuple

PLAIN_WORDS = {
    r"(?:fore)?told": "replicated, synced, sent, reported, notified or forecast: whichever it is",
    r"hears|heard": "receives, is notified, gets a response",
    r"thrice": "three times",
    r"mend(?:s|ed|ing)?": "fix",
    r"nobody's": "unassigned",
    r"whoever": "the name of the role: the owner, the new consumer, the operator",
    r"in hand": "delivered, not acked",
    r"(?:come|comes|came|coming|has come|seen) (?:twice|again)": "is a duplicate, is redelivered, is delivered again",
    r"(?:give|gives|giving|gave|given) (?:\w+ ){0,3}back": "returns, releases, redelivers",
    r"lies? between|lay between": "the two ends: from A to B",
    r"receipted": "acknowledged to the producer",
    r"stranded": "not replicated (already processed), not replicated (unread)",
    r"befall(?:s|en)?": "happens to",
    r"for ever": "without end, permanently",
    r"of ours": "internal",
    r"our own (?:bug|mistake)": "internal error",
    r"deal(?:s|t|ing)? out|are dealt": "assigns",
    r"into the void": "reaches no leader, is lost",
    r"without a word|last word": "message, report, notification",
    r"in one breath": "at the same instant",
    r"spared": "not delivered again",
    r"dangles?": "stays in the backlog",
    r"of everybody|everybody here": "all clients, all viewers, every session",
    r"save that|ere|hither|thither|whence|nought": "the modern word",
}
"""Pattern of a word or phrase → what to write instead."""

_WORDING = {
    re.compile(rf"\b(?:{pattern})\b".replace(" ", r"\s+"), re.IGNORECASE): instead
    for pattern, instead in PLAIN_WORDS.items()
}
"""A phrase may run over the end of a line."""

READ_ATTRIBUTES = frozenset({"title", "aria-label", "alt", "placeholder", "content"})
"""Attributes of HTML whose value a person reads or hears."""


class Found(NamedTuple):
    """One banned phrase in a text, with its line and the replacement."""

    line: int
    phrase: str
    instead: str


def banned_in(text: str) -> list[Found]:
    """Every banned phrase of a plain text."""
    return sorted(
        Found(text.count("\n", 0, match.start()) + 1, " ".join(match[0].split()), instead)
        for pattern, instead in _WORDING.items()
        for match in pattern.finditer(text)
    )


def text_of_yaml(source: str) -> str:
    """Title, description, caption and comments of a scenario file, each line where it was."""
    kept, texts = [], False
    for line in source.split("\n"):
        if not line.startswith(" "):
            texts = line.startswith(("title:", "about:", "watch:"))
        comment = re.search(r"(?:^|\s)#\s?(.*)$", line)
        kept.append(line if texts else comment[1] if comment else "")
    return "\n".join(kept)


def text_of_markdown(source: str) -> str:
    """A document without code, names of files and addresses of links, each line where it was."""
    without_fences = re.sub(r"^```.*?^```$", _blank, source, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]*`|\]\([^)\n]*\)", _blank, without_fences)


def text_of_html(source: str) -> str:
    """What a person reads of a template: text and read attributes, each line where it was."""
    reader = _Reader()
    reader.feed(re.sub(r"\{[%#{].*?[%#}]\}", _blank, source, flags=re.DOTALL))
    reader.close()
    return "\n".join(" ".join(reader.lines.get(line, [])) for line in range(1, source.count("\n") + 2))


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])


class _Reader(HTMLParser):
    """Collects what is read, by line."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: dict[int, list[str]] = {}
        self._code = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._code += tag in ("script", "style", "code")
        for name, value in attrs:
            if name in READ_ATTRIBUTES and value:
                self._add(value)

    def handle_endtag(self, tag: str) -> None:
        self._code -= tag in ("script", "style", "code")

    def handle_data(self, data: str) -> None:
        if not self._code:
            self._add(data)

    def _add(self, text: str) -> None:
        for more, part in enumerate(text.split("\n")):
            self.lines.setdefault(self.getpos()[0] + more, []).append(part)
