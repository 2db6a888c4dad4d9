"""Tours of scenarios: where each step stops in the run, and its texts with the run's figures.

Rules: a tour is resolved from a finished run and changes nothing in it. A number in a text is either written
in the scenario or filled in here. No protocol is named: events, columns and figures are looked up by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

from simulator.protocols.table import protocol_of
from simulator.protocols.terms import SHARED_TERMS, TermSection
from simulator.scenarios.canonical import Variant
from simulator.scenarios.loader import value_at
from simulator.scenarios.model import Scenario, Tour, TourCondition, TourStep
from simulator.scenarios.names import MESSAGE
from simulator.scenarios.settings import SETTINGS
from simulator.scenarios.tour import PLACEHOLDER, POSITIONS
from simulator.trace.trace import Trace
from simulator.world import World

MESSAGES = SHARED_TERMS[0]


def terms_in(text: str, sections: Iterable[TermSection]) -> list[tuple[str, str]]:
    """The words of a text that are terms, in order, each with the label of its term.

    Rules: a word is linked at its first occurrence. Names of terms are looked for, also in the plural. Labels
    are looked for only of messages and deliveries, such as "acked": other headings, such as "in", are
    ordinary words. Terms about the lab itself, such as "step", are ordinary words, too.
    """
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


# --- fills the placeholders of a tour's texts with the figures of its run
#
# Rules: `end` is the summary of the finished run, `now` the summary up to the step's instant, `forecast`
# the forecast at that instant. Instants and durations are shown with their unit, other numbers in groups of
# three digits. A value that is not a number, a text or a list is an error, so that no text shows program
# code.


_UNITS = (("Millis", 1_000), ("Mills", 1_000), ("Seconds", 1_000_000), ("Minutes", 60_000_000))


class TourError(ValueError):
    """A tour does not fit its run; the text names the step."""

    def __init__(self, number: int, title: str, what: str) -> None:
        super().__init__(f"Step {number} of the tour, “{title}”: {what}.")


class Figures:
    """The figures of a run that has reached its end, as texts. Each step reads them after `stand`."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._end = world.summary()
        self._now: dict[str, Any] | None = None
        self._number, self._title, self._at_us = 0, "", 0
        self._row: dict[str, Any] | None = None

    def stand(self, number: int, title: str, at_us: int, row: dict[str, Any] | None) -> None:
        """Read from now on at the instant and the event of this step."""
        self._number, self._title, self._at_us, self._row, self._now = number, title, at_us, row, None

    def filled(self, text: str) -> str:
        """A text with its placeholders filled in. Raises TourError."""
        return PLACEHOLDER.sub(lambda match: self.shown(match[1]), text)

    def shown(self, placeholder: str) -> str:
        """The value of a placeholder as text. Raises TourError."""
        try:
            return shown(placeholder, self._value(placeholder))
        except LookupError as error:
            raise TourError(self._number, self._title, f"{{{placeholder}}}: {error.args[0]}") from None

    def _value(self, placeholder: str) -> Any:
        root, _dot, rest = placeholder.partition(".")
        if root == "at":
            return self._at_us
        if root == "row":
            return self._of_row(rest)
        if root == "setting":
            return self._setting(rest)
        if root == "end":
            return value_at(self._end, rest)
        self._go()
        if root == "now":
            if self._now is None:
                self._now = self._world.summary()
            return value_at(self._now, rest)
        subscription, cluster, figure = rest.split(".")
        return value_at(self._world.forecast(subscription), f"{cluster}.{figure}")

    def _go(self) -> None:
        if self._world.now_us != self._at_us:
            self._world.seek(at_us=self._at_us)

    def _of_row(self, name: str) -> Any:
        row = self._row or {}
        if name in POSITIONS:
            ledger, entry = POSITIONS[name]
            return f"{row[ledger]}:{row[entry]}"
        if name == "message":
            return f"{row['producer']}/{row['sequence_id']}"
        if name not in row:
            raise LookupError(f"the event has no {name}")
        return row[name]

    def _setting(self, name: str) -> Any:
        scenario, setting = self._world.scenario, SETTINGS[name]
        value = scenario.settings.get(name, setting.default_under(scenario.options))
        unit_us = next((unit_us for unit, unit_us in _UNITS if unit in name), None)
        if setting.kind == "duration":
            unit_us = 1
        return value if unit_us is None or not isinstance(value, int) else duration(value * unit_us)


def shown(path: str, value: Any) -> str:
    """A value as text; a name in its path says whether it is a duration. Raises LookupError."""
    if isinstance(value, (bool, dict)) or value is None:
        raise LookupError(f"its value is {value!r}, not a number or a text")
    if isinstance(value, list):
        return str(len(value))
    if isinstance(value, str):
        return value
    if path == "at" or any(name.endswith("_us") for name in path.split(".")):
        return duration(value)
    return f"{value:,}"


def duration(value_us: int) -> str:
    """A duration or an instant for reading: 80 ms, 5.3 s; from a second on in whole milliseconds."""
    value_us = value_us if value_us < 1_000_000 else round(value_us, -3)
    if 0 < value_us < 1_000:
        return f"{value_us} us"
    unit, size = ("ms", 1_000) if 0 < value_us < 1_000_000 else ("s", 1_000_000)
    whole, rest = divmod(value_us, size)
    digits = f"{rest:0{len(str(size)) - 1}d}".rstrip("0")
    return f"{whole:,}{'.' + digits if digits else ''} {unit}"


# --- finds the instants of a tour's steps in a finished run and fills in their texts
#
# Rules: a step with an event stops at the end of the event's instant. Events are counted after the step
# before: after its row, or after its instant. Every step is at or after the step before, and not after the
# end.


SLOW_US = 500_000
"""Longest span before an event that is played slowly: what leads to it takes 80 to 300 ms on most links."""

CAUSES_MOST = 50
"""Most causes of an event that are looked at."""


@dataclass(frozen=True, slots=True)
class ResolvedStep:
    """A step as a page plays it.

    `slow_from_us` is the instant from which playback is slow: that of the first cause of its event shortly
    before it. `row` is the event, None for a step at an instant. `note` holds text, cluster and position of
    the sentence in the picture. `show` has the parts of the page that are shown from this step on. `terms`
    are words of the text that are in the glossary, each as written and as the glossary's label. `ask` holds
    question, kind, unit, answer and cluster.
    """

    title: str
    text: str
    at_us: int
    slow_from_us: int
    seq: int | None
    row: dict[str, Any] | None
    message: tuple[str, int] | None
    panel: str
    note: dict[str, str] | None
    show: tuple[str, ...]
    terms: list[tuple[str, str]]
    ask: dict[str, Any] | None


def tour_run(scenario: Scenario, seed: int) -> Variant:
    """The inputs of the run that a tour shows: the scenario without commands by hand."""
    return Variant("tour", scenario.title, scenario, [], seed=seed)


def tour_answer(variant: Variant, world: World) -> dict[str, Any]:
    """The resolved tour of a finished run as a page receives it; `words` says why there is none."""
    tour = variant.scenario.tour
    assert tour is not None, "only scenarios with a tour are run for it"
    if world.limit_reached:
        return {"steps": [], "words": world.limit_reached}
    try:
        steps = resolve(world, tour)
    except TourError as error:
        return {"steps": [], "words": str(error)}
    return {"steps": [asdict(step) for step in steps], "words": ""}


def resolve(world: World, tour: Tour) -> list[ResolvedStep]:
    """The steps of a tour in a run that has reached its end; the world is moved to the steps.

    Raises TourError.
    """
    until_us = world.now_us
    figures = Figures(world)
    found = []
    after_seq, after_us = 0, 0
    for number, step in enumerate(tour.steps, 1):
        row = None
        if step.when is None:
            assert step.at_us is not None
            at_us = step.at_us
        else:
            row = matching(world.trace, step.when, after_seq)
            if row is None:
                raise TourError(number, step.title, f"{described(step.when)} does not happen in this run")
            at_us = row["at_us"]
        if not after_us <= at_us <= until_us:
            raise TourError(number, step.title, f"{at_us} us is not between the step before and the end")
        after_us, after_seq = at_us, world.trace.first_after(at_us) if row is None else row["seq"] + 1
        found.append(_resolved(number, step, world, figures, at_us, row))
    return found


def _resolved(
    number: int, step: TourStep, world: World, figures: Figures, at_us: int, row: dict[str, Any] | None
) -> ResolvedStep:
    figures.stand(number, step.title, at_us, row)
    ask = step.ask
    asked = None
    if ask is not None:
        asked = {
            "question": figures.filled(ask.question),
            "kind": ask.kind,
            "unit": ask.unit,
            "answer": figures.shown(ask.answer),
            "cluster": ask.cluster,
        }
    named = MESSAGE.fullmatch(step.highlight)
    note = None
    if step.note is not None:
        position = figures.shown(step.note.position)
        note = {"text": figures.filled(step.note.text), "cluster": step.note.cluster, "position": position}
    text = figures.filled(step.text)
    return ResolvedStep(
        title=figures.filled(step.title),
        text=text,
        at_us=at_us,
        slow_from_us=at_us if row is None else slow_from_us(world.trace, row),
        seq=None if row is None or step.highlight else row["seq"],
        row=row,
        message=(named[1], int(named[2])) if named else None,
        panel=step.panel,
        note=note,
        show=step.show,
        terms=terms_in(text, protocol_of(world.scenario).terms),
        ask=asked,
    )


def matching(trace: Trace, when: TourCondition, after_seq: int) -> dict[str, Any] | None:
    """The row of a condition, None when it does not happen."""
    seen = 0
    for seq in trace.seqs(after_seq, None, types=(when.type,)):
        row = trace.row(seq)
        if all(row.get(name) == value for name, value in when.fields.items()):
            seen += 1
            if seen == when.number:
                return row
    return None


def described(when: TourCondition) -> str:
    """A condition in words."""
    fields = "".join(f", {name} {value}" for name, value in when.fields.items())
    return f"event {when.number} of type {when.type}{fields}"


def slow_from_us(trace: Trace, row: dict[str, Any]) -> int:
    """The instant of the first of a row's causes that is at most SLOW_US before it."""
    at_us, seq = row["at_us"], row["seq"]
    first_us = at_us
    for _ in range(CAUSES_MOST):
        cause_seq = trace.row(seq).get("cause_seq")
        if cause_seq is None or trace.at_us(cause_seq) < at_us - SLOW_US:
            break
        seq, first_us = cause_seq, trace.at_us(cause_seq)
    return first_us


# --- tours of scenarios: where each step stops in the run, and its texts with the run's figures
#
# Rules: a tour is resolved from a finished run and changes nothing in it. A number in a text is either
# written in the scenario or filled in here. No protocol is named: events, columns and figures are looked up
# by name.


__all__ = ["ResolvedStep", "TourError", "resolve", "tour_answer", "tour_run"]
