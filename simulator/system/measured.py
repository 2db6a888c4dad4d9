"""What an experiment measures in a run, and what it moves from run to run, declared by each protocol."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simulator.world import World


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
