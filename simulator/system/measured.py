"""What an experiment measures, what it moves from run to run, and what would have helped, by protocol."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simulator.world import World


# --- what an experiment measures in a run, and what it moves from run to run, declared by each protocol


@dataclass(frozen=True, slots=True)
class Measure:
    """A figure of a whole run: its name, its title for readers, and its unit, `count` or `us`."""

    name: str
    title: str
    unit: str = "count"

    def described(self) -> dict[str, str]:
        """The measure as files and pages describe it."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Failure:
    """A failover of a run, or the fault whose duplicates are counted: its instant, and a text for readers."""

    at_us: int
    label: str


@dataclass(frozen=True, slots=True)
class Flow:
    """What one producer publishes: a message each `every_us`, from one instant to another, `most` at most."""

    every_us: int
    from_us: int = 0
    to_us: int | None = None
    most: int | None = None

    @property
    def rate(self) -> float:
        """Messages per second while it publishes."""
        return 1e6 / self.every_us

    def messages(self, until_us: int) -> int:
        end_us = until_us if self.to_us is None else min(until_us, self.to_us)
        found = max(0, end_us - self.from_us) // self.every_us
        return found if self.most is None else min(found, self.most)


@dataclass(frozen=True, slots=True)
class Load:
    """The messages per second that consumers, or other `readers`, receive, and how many they can process.

    `capacity` is None where processing takes no time. `drained_s` is the estimated time from the failover
    until what was in the target's log then has drained. `flows` are the producers that `rate` is the sum of.
    """

    rate: float
    capacity: float | None
    drained_s: float
    flows: tuple[Flow, ...] = ()
    readers: str = "consumers"

    @property
    def utilisation(self) -> float:
        """The share of their time that the consumers are busy before the failover."""
        return 0.0 if self.capacity is None else self.rate / self.capacity

    def messages(self, until_us: int) -> int:
        """The messages that are published until an instant, by the mean rates."""
        return sum(flow.messages(until_us) for flow in self.flows)


def _nothing(run: World) -> dict[str, int | None]:
    return {}


def _none_late(scenario: Any) -> tuple[str, ...]:
    return ()


def _never(system: Any, measures: Sequence[str]) -> bool:
    return False


def _no_failures(run: World) -> list[Failure]:
    return []


def _no_causes(run: World) -> dict[str, int]:
    return {}


def _none_delivering(run: World) -> int:
    return 0


def _no_load(scenario: Any) -> Load | None:
    return None


def _counted(scenario: Any) -> str:
    return ""


def _nothing_assumed(scenario: Any) -> list[str]:
    return []


def _irreducible(scenario: Any, factor: int) -> None:
    return None


def _unknown(scenario: Any) -> dict[str, tuple[int, int]] | None:
    return None


def _no_period(scenario: Any) -> int | None:
    return None


@dataclass(frozen=True, slots=True)
class Measured:
    """The measures of a run, and the phase of its faults.

    - `of(run)`: every measure of a world that has run; None where it has no value.
    - `period_us(scenario)`: what the effect of a fault repeats with, None where nothing repeats.
    - `period_says`: what that period is.
    - `faults`: the commands that begin a fault or a failover, each with a clause about what happens, in which
      `{name}` is an argument. From the first one on, all commands are moved together.
    - `settled(system, measures)`: whether these measures, by name, are final although the run goes on, so
      that it may stop here; False whenever that is not certain.
    - `late(scenario)`: the measures, by name, that keep runs of the scenario from settling before their end.
    - `expected(scenario)`: the least and the greatest value of some measures in closed form, by name, without
      a run; None for a scenario that no closed form covers.
    - `failures(run)`: what the duplicates and losses of a run follow from, in order of time.
    - `causes(run)`: the duplicates of a run by cause.
    - `delivering(run)`: how many failovers of a run still delivered their backlog when it ended, so that
      their figures are lower bounds.
    - `load(scenario)`: how busy the consumers of its first failover are, by estimate; None without one.
    - `assumed(scenario)`: sentences about what decides its figures and is not entered with them.
    - `uncounted(scenario)`: a sentence about why its runs can have no duplicate, or "".
    - `reduced(scenario, factor)`: nearly the same scenario at 1/factor of its rate, whose counts times
      factor are an estimate; None where there is none.
    """

    measures: tuple[Measure, ...] = ()
    of: Callable[[World], dict[str, int | None]] = _nothing
    period_us: Callable[[Any], int | None] = _no_period
    faults: Mapping[str, str] = field(default_factory=dict)
    settled: Callable[[Any, Sequence[str]], bool] = _never
    expected: Callable[[Any], dict[str, tuple[int, int]] | None] = _unknown
    late: Callable[[Any], tuple[str, ...]] = _none_late
    failures: Callable[[World], list[Failure]] = _no_failures
    causes: Callable[[World], dict[str, int]] = _no_causes
    delivering: Callable[[World], int] = _none_delivering
    load: Callable[[Any], Load | None] = _no_load
    assumed: Callable[[Any], list[str]] = _nothing_assumed
    uncounted: Callable[[Any], str] = _counted
    period_says: str = "period"
    reduced: Callable[[Any, int], Any | None] = _irreducible


# --- the comparison of changed reruns with a run ("what would have helped"), declared by each protocol


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
