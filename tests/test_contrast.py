"""The contrast of the colours of `tokens.css`, computed as WCAG does.

Text has at least 4.5 : 1, marks at least 3 : 1, in every theme and mode.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

CSS = (Path(__file__).resolve().parents[1] / "static" / "css" / "tokens.css").read_text()

GROUNDS = ("--bg", "--bg-sunk", "--bg-raise")
WORDS = dict.fromkeys(("--ink", "--ink-2", "--ink-3", "--harm"), GROUNDS) | {
    "--proto": (*GROUNDS, "--proto-wash"),
    "--ink-2": (*GROUNDS, "--proto-wash"),
    "--harm": (*GROUNDS, "--harm-wash"),
}
MARKS = (
    "--origin-0",
    "--origin-1",
    "--origin-2",
    "--origin-3",
    "--proto",
    "--harm",
    "--line-strong",
    "--proto-soft",
)

SELECTORS = {
    "light": [":root"],
    "dark": [":root", '[data-theme="dark"]'],
    "dark of the system": [":root", ":root:not([data-theme])"],
    "projector": [
        ":root",
        '[data-mode="projector"]',
        ':root[data-mode="projector"]:not([data-theme="dark"])',
    ],
    "projector, dark of the system": [
        ":root",
        ":root:not([data-theme])",
        '[data-mode="projector"]',
        ':root[data-mode="projector"]:not([data-theme="dark"])',
        ':root[data-mode="projector"]:not([data-theme])',
    ],
    "projector, dark": [
        ":root",
        '[data-theme="dark"]',
        '[data-mode="projector"]',
        '[data-theme="dark"][data-mode="projector"]',
    ],
}


def tokens(selectors: list[str]) -> dict[str, str]:
    """Values of the custom properties; the later rule takes precedence."""
    found: dict[str, str] = {}
    for selector in selectors:
        blocks = re.findall(rf"(?m)^\s*{re.escape(selector)} \{{([^}}]*)\}}", CSS)
        assert blocks, f"tokens.css has no rule {selector}"
        for name, value in re.findall(
            r"(--[\w-]+):\s*([^;]+);", " ".join(blocks if selector != ":root" else blocks[:1])
        ):
            found[name] = value.strip()
    return {name: found[value[4:-1]] if value.startswith("var(") else value for name, value in found.items()}


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def ratio(one: str, other: str) -> float:
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def test_the_formula_is_that_of_the_standard():
    assert ratio("#000000", "#ffffff") == pytest.approx(21)
    assert ratio("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)


@pytest.mark.parametrize("theme", SELECTORS)
def test_text_has_enough_contrast(theme):
    held = tokens(SELECTORS[theme])
    faint = {
        f"{word} on {ground}": round(ratio(held[word], held[ground]), 2)
        for word, grounds in WORDS.items()
        for ground in grounds
        if ratio(held[word], held[ground]) < 4.5
    }
    assert faint == {}


@pytest.mark.parametrize("theme", SELECTORS)
def test_marks_have_enough_contrast(theme):
    held = tokens(SELECTORS[theme])
    faint = {
        mark: round(ratio(held[mark], held["--bg"]), 2)
        for mark in MARKS
        if ratio(held[mark], held["--bg"]) < 3
    }
    assert faint == {}


def test_the_two_dark_rules_agree():
    assert tokens(SELECTORS["dark"]) == tokens(SELECTORS["dark of the system"])
