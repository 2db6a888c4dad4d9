"""Finds the instants of a tour's steps in a finished run and fills in their texts.

Rules: a step with an event stops at the end of the event's instant. Events are counted after the step before:
after its row, or after its instant. Every step is at or after the step before, and not after the end.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from simulator.protocols.table import protocol_of
from simulator.scenarios.changes import Variant
from simulator.scenarios.model import Scenario, Tour, TourCondition, TourStep
from simulator.scenarios.names import MESSAGE
from simulator.tours.filling import Figures, TourError
from simulator.tours.terms import terms_in
from simulator.trace.trace import Trace
from simulator.world import World

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
