"""What the changed reruns of a run are compared by ("what would have helped"): each protocol says it of
its own runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

Case = dict[str, Any]
"""What is compared, one by one (a failover, a group): its figures, `label` in words, and `at_us`, the
instant at which to look.
"""


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of a case: the title of its column, how "3 fewer" or "2.00 s shorter" goes on, and its
    unit, `count` or `us`.
    """

    name: str
    title: str
    word: str = ""
    unit: str = "count"

    def column(self) -> dict[str, str]:
        """As page and report draw it."""
        return {name: value for name, value in asdict(self).items() if name != "word"}


def no_assumption(real: Case, key: str) -> str | None:
    """Every change could have been made before the run."""
    return None


@dataclass(frozen=True, slots=True)
class Compared:
    """`noun` is what is compared, one by one; `cases(world)` lists them in a world that has run; `figures`
    are the columns; `difference(real, other)` says in words what a change did; `harm(real, other)` orders
    outcomes, small is good; `missing` says that a case did not come about, `nothing` that a run has none
    at all. `assumes(real, key)` is what the change of that key assumes which was not so in the real case
    (a crash cannot be moved ahead of), None for advice that could have been followed.
    """

    noun: str
    cases: Callable[[Any], list[Case]]
    figures: tuple[Figure, ...]
    difference: Callable[[Case, Case], str]
    harm: Callable[[Case, Case], tuple[int, ...]]
    missing: str
    nothing: str
    assumes: Callable[[Case, str], str | None] = no_assumption


def figure_words(figures: Sequence[Figure], real: Case, other: Case) -> list[str]:
    """What a change did to figures, a clause for each that it changed.

    A figure without a word, or null in one of the two, says nothing.
    """
    told = []
    for figure in figures:
        was, became = real[figure.name], other[figure.name]
        if not figure.word or was is None or became is None or was == became:
            continue
        more = became > was
        if figure.unit == "us":
            told.append(f"{figure.word} {span_words(abs(became - was))} {'longer' if more else 'shorter'}")
        else:
            told.append(f"{abs(became - was)} {'more' if more else 'fewer'} {figure.word}")
    return told


def span_words(us: int) -> str:
    """A span with its unit."""
    return f"{us / 1_000_000:.2f} s" if us >= 1_000_000 else f"{us / 1000:.0f} ms"
