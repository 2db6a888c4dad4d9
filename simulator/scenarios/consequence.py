"""The texts of what a command will do, which a visitor reads before the click.

Rules: `{name}` stands for an argument, `{name|the words}` gives the words for an argument that is not chosen
yet (by default "the" and its name). A function of the page adds what depends on the state of the run
(`live_consequences` of the protocol).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class When:
    """A part that depends on an argument.

    `texts` are keyed by its value as JSON writes it ("true", "2"), and by "" while it is not chosen.
    `otherwise` is for every other value.
    """

    argument: str
    texts: Mapping[str, Text] = field(hash=False)
    otherwise: Text = ""


Text: TypeAlias = "str | When | tuple[Text, ...]"
"""A text; a tuple is joined without spaces."""


def as_json(text: Text) -> Any:
    """The form in which a page receives a text."""
    if isinstance(text, When):
        texts = {value: as_json(part) for value, part in text.texts.items()}
        return {"when": text.argument, "texts": texts, "otherwise": as_json(text.otherwise)}
    return text if isinstance(text, str) else [as_json(part) for part in text]
