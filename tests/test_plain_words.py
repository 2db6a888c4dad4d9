"""User-visible text has none of the old private wording.

The list with replacements is `tests/plain_words.py`.

Rules: a file joins by its place (scenarios, templates, page modules, stories, documents).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.plain_words import (
    banned_in,
    text_of_html,
    text_of_javascript,
    text_of_markdown,
    text_of_python,
    text_of_yaml,
)

ROOT = Path(__file__).resolve().parents[1]

READERS: dict[str, Callable[[str], str]] = {
    "simulator/scenarios/library/*.yaml": text_of_yaml,
    "simulator/scenarios/minimal/*.yaml": text_of_yaml,
    "docs/scenario-example.yaml": text_of_yaml,
    "templates/**/*.html": text_of_html,
    "static/js/**/*.js": text_of_javascript,
    "simulator/protocols/*/stories/*.py": text_of_python,
    "simulator/protocols/*/what_if/*.py": text_of_python,
    "docs/*.md": text_of_markdown,
    "README.md": text_of_markdown,
    "CONTRIBUTING.md": text_of_markdown,
}
"""Where user-visible text is, and how it is read."""


def files() -> list[tuple[str, Callable[[str], str]]]:
    return [
        (str(path.relative_to(ROOT)), reader)
        for pattern, reader in READERS.items()
        for path in sorted(ROOT.glob(pattern))
    ]


@pytest.mark.parametrize("name, reader", files(), ids=[name for name, _ in files()])
def test_text_uses_plain_words(name: str, reader: Callable[[str], str]):
    found = banned_in(reader((ROOT / name).read_text()))
    words = "\n".join(f"{name}:{line}: {phrase!r}: {instead}" for line, phrase, instead in found)
    assert not found, words


OF_ONE_SCREEN = re.compile(
    r"\b(?:pale[rst]*|(?:on|to|at) the (?:left|right)|(?<!nothing )(?:left|right) of|dark(?:er)? part|in black|black lines?)\b",
    re.IGNORECASE,
)
"""A direction or a shade: lanes are turned on a phone, and acked messages are darker in the dark theme."""

NEVER_TURNED = {
    "static/js/protocols/emqx/pages/node_message_panel.js": "its diagram is the same on every screen",
    "static/js/protocols/emqx/render/legend.js": "the cards and strips of a group are never turned",
}


def test_texts_are_right_on_every_screen():
    """A text says "after" and "faded", not "to the right of" and "pale"."""
    read = {
        "simulator/scenarios/library/*.yaml": str,
        "templates/**/*.html": text_of_html,
        "static/js/**/*.js": text_of_javascript,
    }
    found = [
        f"{name}: {match[0]}"
        for pattern, reader in read.items()
        for path in sorted(ROOT.glob(pattern))
        if (name := str(path.relative_to(ROOT))) not in NEVER_TURNED
        for match in OF_ONE_SCREEN.finditer(reader(path.read_text()))
    ]
    assert found == []
    assert OF_ONE_SCREEN.search("drawn pale") and OF_ONE_SCREEN.search("messages to the right of it")


def test_old_wording_is_detected_with_its_line():
    assert [
        (one.line, one.phrase) for one in banned_in("The broker is\ntold of a message\nthat comes\ntwice.")
    ] == [
        (2, "told"),
        (3, "comes twice"),
    ]
    assert banned_in("Delivered, not acked: 7 duplicates.") == []


def test_only_text_for_readers_is_checked():
    assert (
        banned_in(text_of_yaml("title: A title\nname: told\nexpect:\n  told: 1  # thrice\n"))[0].phrase
        == "thrice"
    )
    assert banned_in(text_of_markdown("A `told` field.\n```\ntold\n```\n[here](told.md)")) == []
    module = 'const told = element("ol.told", `${told ? "comes twice" : ""} for ${told} in hand`); // thrice told\n'
    assert [one.phrase for one in banned_in(text_of_javascript(module))] == ["comes twice", "in hand"]
    assert banned_in(text_of_python('"""Told twice."""\ntold = {"told": 1}\n')) == []
    assert [one.line for one in banned_in(text_of_python('\nwords = "what was told"\n'))] == [2]
    page = '<p data-part="told" title="thrice">{{ told }}<code>told</code> mended</p>'
    assert [one.phrase for one in banned_in(text_of_html(page))] == ["mended", "thrice"]
