"""The comparison of changed reruns with a run ("what would have helped"), declared by each protocol."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

Case = dict[str, Any]
"""One compared failover or group.

It has its figures, `label` in words, and `at_us`, the instant at which to look.
"""


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of a case: its column's title, the words after "3 fewer", and its unit, `count` or `us`."""

    name: str
    title: str
    word: str = ""
    unit: str = "count"
    grows: bool = False  # rises while a case still delivers, so that it is a lower bound until then

    def column(self) -> dict[str, str]:
        """The column as page and report draw it."""
        return {name: value for name, value in asdict(self).items() if name not in ("word", "grows")}


@dataclass(frozen=True, slots=True)
class Price:
    """A cost of a run that a change may raise: its name and its words.

    With the unit `per_s` the words follow "3 more", with `us` they precede "3 s longer".
    """

    name: str
    words: str
    unit: str = "per_s"


def per_second(count: int, run_us: int) -> float:
    """A count of a run as a rate, rounded as it is shown."""
    return round(count * 1_000_000 / run_us, 1) if run_us else 0.0


def no_assumption(real: Case, key: str) -> str | None:
    """No assumption: every change could have been made before the run."""
    return None


@dataclass(frozen=True, slots=True)
class Compared:
    """The cases of a comparison, and the texts and order of the result.

    `noun` names a case; `cases(world)` lists the cases of a world that has run. `figures` are the columns.
    `difference(real, other)` is the text of a change's effect; `harm(real, other)` orders outcomes, small is
    good. `missing` is the text for a case that did not occur, `nothing` for a run without cases.
    `assumes(real, key)` is an assumption of that change that the real case did not meet (a crash cannot be
    planned for), None for advice that could have been followed. `prices` are costs of a case that a change
    may raise.
    """

    noun: str
    cases: Callable[[Any], list[Case]]
    figures: tuple[Figure, ...]
    difference: Callable[[Case, Case], str]
    harm: Callable[[Case, Case], tuple[int, ...]]
    missing: str
    nothing: str
    assumes: Callable[[Case, str], str | None] = no_assumption
    prices: tuple[Price, ...] = ()


def figure_words(figures: Sequence[Figure], real: Case, other: Case) -> list[str]:
    """The effect of a change on figures, one clause for each that it changed.

    A figure without a word, or null in one of the two, has no clause.
    """
    words = []
    for figure in figures:
        was, became = real[figure.name], other[figure.name]
        if not figure.word or was is None or became is None or was == became:
            continue
        more = became > was
        if figure.unit == "us":
            words.append(f"{figure.word} {span_words(abs(became - was))} {'longer' if more else 'shorter'}")
        else:
            words.append(f"{abs(became - was)} {'more' if more else 'fewer'} {figure.word}")
    return words


def price_of(prices: Sequence[Price], real: Case, other: Case) -> dict[str, Any]:
    """The additional costs of a case after a change, negative where it saves; null where one has none."""
    found: dict[str, Any] = {}
    for price in prices:
        was, became = real[price.name], other[price.name]
        known = was is not None and became is not None
        found[price.name] = round(became - was, 1) if known else None
    return found


def price_words(prices: Sequence[Price], additional: dict[str, Any]) -> str:
    """The additional costs in words, without what became cheaper; empty when nothing costs more."""
    words = []
    for price in prices:
        more = additional[price.name]
        if more is None or more <= 0:
            continue
        words.append(
            f"{price.words} {span_words(more)} longer"
            if price.unit == "us"
            else f"{more:,.1f} more {price.words}".replace(".0 ", " ")
        )
    return ", ".join(words)


def span_words(us: int) -> str:
    """A duration with its unit."""
    return f"{us / 1_000_000:.2f} s" if us >= 1_000_000 else f"{us / 1000:.0f} ms"
