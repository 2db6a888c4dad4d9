"""Wording that no reader should have to translate, and what to write instead.

Applied to text that a person reads: scenario files, templates, the page's modules, stories, documents. Code in backticks and fenced blocks is
not text: names of fields, events and options keep their spelling there.
"""

from __future__ import annotations

import ast
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
    r"seen twice|sent so far|out of service|said again|asked in vain": "duplicates, replicated up to here, delivery gap, resent, failed",
    r"thrown (?:out|away)": "evicted, dropped",
    r"for good": "permanently",
    r"tell(?:s|ing)? everyone|tell it": "publishes an update, play",
    r"on its way|on their way": "in flight",
    r"believe(?:s|d)? in": "has in its table, is valid until",
    r"dealt evenly": "balanced",
    r"came to nothing|come about": "failed, happened",
    r"reads? on": "keeps reading",
    r"nobody (?:reads|tells|asks|moves|shares)": "no client, no replicator, no failover",
    r"save that|ere|hither|thither|whence|nought": "the modern word",
}
"""Pattern of a word or phrase → what to write instead."""

_WORDING = {
    re.compile(rf"\b(?:{pattern})\b".replace(" ", r"\s+"), re.IGNORECASE): instead
    for pattern, instead in PLAIN_WORDS.items()
}
"""A phrase may run over the end of a line."""

_JAVASCRIPT_STRING = re.compile(r"""(?:"(?:[^"\\\n]|\\.)*"|`(?:[^`\\\n]|\\.)*`)""")
"""A string or template of one line, as the page's modules write them."""

READ_ATTRIBUTES = frozenset({"title", "aria-label", "alt", "placeholder", "content"})
"""Attributes of HTML whose value a person reads or a screen reader speaks."""


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


def text_of_javascript(source: str) -> str:
    """Strings and templates of a module that hold more than one word, each line where it was."""
    without_comments = re.sub(r"/\*.*?\*/", _blank, source, flags=re.DOTALL)
    return "\n".join(" | ".join(_strings_of(line)) for line in without_comments.split("\n"))


def _strings_of(line: str) -> list[str]:
    """The strings of a line of JavaScript, those inside `${}` first.

    Each `${}` is one word of its template.
    """
    found: list[str] = []
    while code := re.search(r"\$\{([^{}]*)\}", line):
        found += _JAVASCRIPT_STRING.findall(code[1])
        line = f"{line[: code.start()]}#{line[code.end() :]}"
    found += _JAVASCRIPT_STRING.findall(line)
    return [text for text in found if re.search(r"[\w#]\W*\s\W*[\w#]", text)]


def text_of_python(source: str) -> str:
    """Strings of a module that hold more than one word, docstrings left out, each at its first line."""
    tree = ast.parse(source)
    documents = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    lines: dict[int, list[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documents:
            if " " in node.value.strip():
                lines.setdefault(node.lineno, []).append(node.value)
    return "\n".join(" | ".join(lines.get(line, [])) for line in range(1, source.count("\n") + 2))


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
