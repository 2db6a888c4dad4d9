"""The forms of a visitor's own set-up: their fields, and the scenario text that their values make.

Rules: a field is declared once, in the `Form` of its protocol's manifest, with its default, words and place.
No value is checked here. What was typed is written into the text as it is, one key a line, and each piece of
a line has the name of its field. The scenario loader reads the text, and its problems are assigned to fields
by line. Only what the format cannot express is computed: half of a round trip, sums of spans, as many clients
as a number says. If a part cannot be read, it is written as typed and the loader reports it.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simulator.scenarios.tree import Wrong
from simulator.scenarios.units import format_duration, parse_duration

Choices = tuple[tuple[str, str], ...]
Values = Mapping[str, str]
Pair = tuple[str, str, str]
"""A key, its value as typed, and its field."""

NAMES: Choices = ()
"""The choices of a field that names something of the form, such as one of its regions."""

SYSTEM = "system"
"""The entry of an address that names the form, beside the form's own fields."""

LONGEST_COUNT = 10
"""Most characters of a typed number that is computed with."""

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.%/+-]*")


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a form.

    `default` is its initial value: one that is not given has it, one that is given empty is empty. While it
    is empty, `empty` is what counts, shown in its place. `when` is another field and the values with which
    this one applies. `counted` is what its number counts, where the form writes so many lines.
    """

    name: str
    label: str
    default: str = ""
    hint: str = ""
    choices: Choices | None = None  # None: typed
    wide: bool = False
    empty: str = ""
    when: tuple[str, tuple[str, ...]] | None = None
    counted: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """Fields under a heading; `says` is a sentence below it, and `long` is for fields with long names."""

    title: str
    name: str
    fields: tuple[Field, ...]
    says: str = ""
    long: bool = False


@dataclass(frozen=True, slots=True)
class Beside:
    """What is tried beside a set-up: the name of its scenario, its values, and what is said of it."""

    name: str
    values: dict[str, str]
    says: str


def _no_fields(values: Values) -> tuple[tuple[Field, tuple[str, str]], ...]:
    return ()


def _none(values: Values) -> Beside | None:
    return None


@dataclass(frozen=True, slots=True)
class Form:
    """The form of one protocol, under whose name an address has it.

    - `write(writer)` writes the scenario; `names(values)` are the choices of fields with `NAMES`.
    - `at_of(values)`: the instant of the failure, as typed or chosen.
    - `pairs(values)`: fields that depend on other values, each with the two names that it is between; they
      are in the first group.
    - `beside(values)`: what is tried beside the answer, for what the form assumes.
    - `validity`: against what the simulator was compared, for any scenario of the protocol; `compared`:
      whether the page of comparisons with real brokers says more.
    """

    name: str
    title: str
    groups: tuple[Group, ...]
    write: Callable[[Writer], None]
    names: Callable[[Values], list[str]]
    at_of: Callable[[Values], str]
    validity: str
    compared: bool
    pairs: Callable[[Values], tuple[tuple[Field, tuple[str, str]], ...]] = _no_fields
    beside: Callable[[Values], Beside | None] = _none

    @property
    def fields(self) -> tuple[Field, ...]:
        """Every field, in the order of the form."""
        return tuple(one for group in self.groups for one in group.fields)

    def completed(self, given: Values) -> dict[str, str]:
        """Every field's value, as given or its default. Values that belong to no field are left out.

        A field with `NAMES` whose default is no name takes the first one, a second such field the second.
        """
        values = {SYSTEM: self.name} | {one.name: given.get(one.name, one.default) for one in self.fields}
        names = self.names(values)
        for place, name in enumerate(one.name for one in self.fields if one.choices is NAMES):
            if name not in given and place < len(names) and values[name] not in names:
                values[name] = names[place]
        for field, between in self.pairs(values):
            back = field.name.replace(".".join(between), ".".join(reversed(between)))
            values[field.name] = given.get(field.name, given.get(back, field.default))
        return values

    def composed(self, values: Values) -> list[Line]:
        """The scenario's text, line by line, from completed values."""
        writer = Writer(values)
        self.write(writer)
        return writer.lines


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the text, in pieces that each have the name of their field."""

    pieces: tuple[tuple[str, str], ...]  # (text, field or "")

    @property
    def text(self) -> str:
        return "".join(text for text, _ in self.pieces)

    def field_at(self, column: int) -> str:
        """The field of the piece at a column, counted from 1."""
        end = 0
        for text, field in self.pieces:
            end += len(text)
            if column <= end:
                return field
        return self.pieces[-1][1]


class Writer:
    """The lines of a scenario so far, and the values that they come from."""

    def __init__(self, values: Values) -> None:
        self.values = values
        self.lines: list[Line] = []

    def text(self, text: str, field: str = "") -> None:
        """Write a line of one field."""
        self.lines.append(Line(((text, field),)))

    def key(self, depth: int, key: str, value: str, field: str = "") -> None:
        """Write `key: value`."""
        self.text(f"{'  ' * depth}{key}: {scalar(value)}", field)

    def given(self, key: str, field: str) -> list[Pair]:
        """A key with its value, or nothing while its field is empty."""
        value = self.values[field].strip()
        return [(key, value, field)] if value else []

    def keys(self, title: str, pairs: list[Pair]) -> None:
        """Write a mapping, one key a line; nothing when it is empty."""
        if pairs:
            self.text(f"{title}:")
            for key, value, field in pairs:
                self.key(1, key, value, field)

    def flow(self, before: str, pairs: list[Pair], field: str = "", more: Sequence[Any] = ()) -> None:
        """Write `before{key: value, …}` on one line; `more` are further pieces inside the braces."""
        pieces = braced(pairs)
        self.lines.append(Line(((before, field), *pieces[:-1], *more, pieces[-1])))

    def count(self, field: str, key: str, most: int) -> int | None:
        """How many of something were asked for, at most `most`.

        None when it is no number, which is then written at `key`, so that the loader reports it.
        """
        count = number(self.values[field])
        if count is None:
            self.key(0, key, self.values[field].strip(), field)
            return None
        return min(count, most)


def braced(pairs: list[Pair]) -> list[tuple[str, str]]:
    """The pieces of `{key: value, …}`."""
    pieces = [
        (f"{'{' if place == 0 else ', '}{key}: {scalar(value)}", field)
        for place, (key, value, field) in enumerate(pairs)
    ]
    return [*pieces, ("}", pairs[-1][2])]


def scalar(text: str) -> str:
    """A value as YAML has it, in quotes where it needs them."""
    return text if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)


def number(text: str) -> int | None:
    """A typed whole number; None when it is none."""
    text = text.strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < LONGEST_COUNT else None


def span_us(text: str, otherwise: int = 0) -> int:
    """A typed span; `otherwise` when it is none, which is reported at its own field."""
    try:
        return parse_duration(text.strip())
    except Wrong:
        return otherwise


def halves(text: str) -> tuple[str, str]:
    """The two directions of a round trip. An odd microsecond goes to the way back."""
    try:
        trip_us = parse_duration(text.strip())
    except Wrong:
        return text.strip(), text.strip()
    return format_duration(trip_us // 2), format_duration(trip_us - trip_us // 2)


def summed(values: Values, *fields: str) -> tuple[str, str]:
    """The sum of spans, and the field that its problems are assigned to.

    It is the first field that is no span, whose text is then written instead, or the last one.
    """
    total_us = 0
    for field in fields:
        try:
            total_us += parse_duration(values[field].strip())
        except Wrong:
            return values[field].strip(), field
    return format_duration(total_us), fields[-1]


PROCESSING = (
    Field("processing", "Processing time", "5ms", "from delivery to ack, such as 5ms"),
    Field(
        "varies",
        "Distribution",
        "lognormal",
        "of the processing time: its median or mean",
        (("constant", "constant"), ("lognormal", "lognormal"), ("exponential", "exponential")),
    ),
)
"""The fields of a client's processing time, which `processing` writes."""

ARRIVALS = Field(
    "arrivals", "Arrivals", "poisson", choices=(("poisson", "Poisson"), ("regular", "constant interval"))
)

SIGMA = "0.5"
"""Shape of lognormal processing: one message in twenty takes more than twice its median."""


def processing(writer: Writer) -> list[tuple[str, str]]:
    """The processing time of a message: a span, or the median or mean of a distribution."""
    values = writer.values
    word = {"lognormal": "median", "exponential": "mean"}.get(values["varies"])
    found = writer.given("processing", "processing")
    if word is None or not found:
        return [(f", processing: {scalar(value)}", field) for _, value, field in found]
    sigma = [("sigma", SIGMA, "varies")] if word == "median" else []
    return [
        (", processing: ", "varies"),
        *braced([("distribution", values["varies"], "varies"), (word, found[0][1], "processing"), *sigma]),
    ]


@dataclass(slots=True)
class Shown:
    """A field as the page shows it."""

    field: Field
    value: str
    problems: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    choices: list[tuple[str, str]] = dataclasses.field(default_factory=list)

    @property
    def enabling(self) -> str:
        """The values of the other field with which this one applies, separated by spaces."""
        return " ".join(self.field.when[1]) if self.field.when else ""


def grouped(form: Form, values: Values, problems: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The groups of a form with their values and problems.

    Returns [{title, name, says, fields: [Shown], pairs: [Shown]}]. A typed value that is not among the
    choices is added to them, so that it is not lost.
    """
    names = [(name, name) for name in form.names(values)]

    def shown(one: Field) -> Shown:
        value = values[one.name]
        offered = names[:] if one.choices is NAMES else list(one.choices or ())
        if one.choices is not None and value not in [name for name, _ in offered]:
            offered.append((value, value))
        found = [dict(problem) for problem in problems if problem["field"] == one.name]
        return Shown(one, value, found, offered)

    pairs = [shown(field) for field, _between in form.pairs(values)]
    return [
        {
            "title": group.title,
            "name": group.name,
            "says": group.says,
            "long": group.long,
            "fields": [shown(one) for one in group.fields],
            "pairs": [] if place else pairs,
        }
        for place, group in enumerate(form.groups)
    ]
