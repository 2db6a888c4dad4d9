"""When did it become inevitable: a run, run again with fresh draws from instants before its failover.

Rules: up to its instant a re-run is the run as it was; then `draws.reseed` gives it a seed of its own, and
the later commands apply as in the run. Re-run n from instant t has the seed that draw n of the stream
`inevitable/t` of the run's seed gives, so equal inputs give equal figures. A re-run is therefore inputs only
(`rerun_commands`), and can be opened as a lab or compared. Figures are sums over the whole run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from simulator.branch import RunFailed
from simulator.counting import wilson_interval
from simulator.kernel.random import draw, stream_key
from simulator.protocols.table import protocol_of
from simulator.runs import Runs, Slices, finished
from simulator.scenarios.canonical import CommandLog, Variant
from simulator.scenarios.limits import LARGEST_INTEGER
from simulator.scenarios.model import CommandSpec, Scenario
from simulator.scenarios.shared_commands import ARRIVALS, POISSON, SPREAD_MAX_MILLIONTHS
from simulator.scenarios.tree import Wrong
from simulator.system.measured import Failure
from simulator.world import World

INSTANTS, INSTANTS_MIN, INSTANTS_MAX = 16, 2, 20
"""Instants from which a run is run again: as many as points can be told apart on a phone."""

RERUNS, RERUNS_MIN, RERUNS_MAX = 30, 5, 100
"""Re-runs from each instant: 30 give an interval of at most 36 percentage points, 100 one of at most 20."""

PERIODS, PERIODS_MIN, PERIODS_MAX = 3, 1, 20
"""Periods before the failover over which the instants are spread."""

MORE_THAN_MAX = 1_000_000
"""Most duplicates that can be asked for: more messages than a run that fits the limit of rows has."""

ROWS_MAX = 40_000_000
"""Most rows of all re-runs together: about two minutes of a processor."""

SPREAD_MILLIONTHS = 200_000
"""How far below their value constant durations are drawn: most scenarios draw nothing else at random."""

PERIOD_OTHERWISE_US = 1_000_000
"""The period in a run in which nothing repeats: one second."""

MEASURES = ("duplicates", "lost")


def fresh_seed(seed: int, at_us: int, number: int) -> int:
    """The seed of a re-run from an instant, 53 bits long as seeds of scenarios are."""
    return draw(stream_key(seed, f"inevitable/{at_us}"), number) >> 11


@dataclass(frozen=True, slots=True)
class Draws:
    """How the draws of re-runs differ from those of the run: see the command `draws.reseed`."""

    spread_millionths: int = SPREAD_MILLIONTHS
    arrivals: str = POISSON

    def __post_init__(self) -> None:
        _check("spread_millionths", self.spread_millionths, 0, SPREAD_MAX_MILLIONTHS)
        if self.arrivals not in ARRIVALS:
            raise Wrong(f"arrivals is {self.arrivals[:40]!r}", f"Give {' or '.join(ARRIVALS)}.")

    def command(self, seed: int, at_us: int, number: int) -> dict[str, Any]:
        """The command that a re-run has beside those of the run."""
        fresh = fresh_seed(seed, at_us, number)
        return {
            "do": "draws.reseed",
            "seed": fresh,
            "spread_millionths": self.spread_millionths,
            "arrivals": self.arrivals,
        }


@dataclass(frozen=True, slots=True)
class Asked:
    """The inputs: a run, and from where and how often it is run again. Raises Wrong out of bounds."""

    scenario: Scenario
    seed: int
    commands: CommandLog
    until_us: int
    failure: int = 0
    instants: int = INSTANTS
    reruns: int = RERUNS
    periods: int = PERIODS
    draws: Draws = field(default_factory=Draws)

    def __post_init__(self) -> None:
        _check("instants", self.instants, INSTANTS_MIN, INSTANTS_MAX)
        _check("reruns", self.reruns, RERUNS_MIN, RERUNS_MAX)
        _check("periods", self.periods, PERIODS_MIN, PERIODS_MAX)
        _check("failure", self.failure, 0, LARGEST_INTEGER)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The figures of one re-run; `reason` says why it could not be carried out, and is empty otherwise."""

    number: int
    seed: int
    duplicates: int = 0
    lost: int = 0
    reason: str = ""


@dataclass(slots=True)
class Point:
    """An instant, and the outcomes of the re-runs from it so far, in order."""

    at_us: int
    outcomes: list[Outcome] = field(default_factory=list)


def rerun_commands(commands: CommandLog, seed: int, at_us: int, number: int, draws: Draws) -> CommandLog:
    """The command log of a re-run: that of the run, with the fresh seed after the commands of the instant."""
    fresh = {"at_us": at_us, **draws.command(seed, at_us, number)}
    before = [entry for entry in commands if entry["at_us"] <= at_us]
    after = [entry for entry in commands if entry["at_us"] > at_us]
    return [{**entry, "number": place} for place, entry in enumerate([*before, fresh, *after])]


def instants_before(failure_us: int, period_us: int, periods: int, count: int) -> list[int]:
    """Instants evenly spread over some periods up to the failover; the last one is that of the failover."""
    first_us = max(0, failure_us - periods * period_us)
    spread = [first_us + (failure_us - first_us) * place // (count - 1) for place in range(count)]
    return list(dict.fromkeys(spread))


class Reruns:
    """The run and its re-runs, made by `work`.

    `actual` and `failures` are known once the run as it was has ended, `points` grows after that.
    """

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self.failures: list[Failure] = []
        self.actual: Outcome | None = None
        self.rows = 0
        self.points: list[Point] = []
        self._declared = protocol_of(asked.scenario).measured
        # a recorded command that a re-run refuses is a row there, as one of the scenario is
        given = [CommandSpec(entry["at_us"], entry["do"], _arguments_of(entry)) for entry in asked.commands]
        planned = tuple(sorted((*asked.scenario.commands, *given), key=lambda spec: spec.at_us))
        self._scenario = replace(asked.scenario, seed=asked.seed, commands=planned)

    @property
    def of(self) -> int:
        """The number of re-runs; 0 until the instants are known."""
        return len(self.points) * self.asked.reruns

    @property
    def done(self) -> int:
        """The number of re-runs that have ended."""
        return sum(len(point.outcomes) for point in self.points)

    def work(self, runs: Runs) -> Slices[None]:
        """Everything, in slices. Raises Wrong where there is no answer."""
        asked = self.asked
        as_it_was = Variant("as-it-was", "", self._scenario, [], until_us=asked.until_us)
        world = yield from runs.run(as_it_was)
        self.rows = world.seq
        self.actual = yield lambda: self._counted(world, Outcome(-1, asked.seed))
        self.failures = yield lambda: self._declared.failures(world)
        instants = self._instants()
        self.points = [Point(at_us) for at_us in instants]
        for point in self.points:
            for number in range(asked.reruns):
                outcome = Outcome(number, fresh_seed(asked.seed, point.at_us, number))
                try:
                    rerun = yield from runs.run(self._rerun(point.at_us, number), MEASURES)
                    point.outcomes.append((yield partial(self._counted, rerun, outcome)))
                except RunFailed as error:
                    point.outcomes.append(replace(outcome, reason=str(error)))

    def _rerun(self, at_us: int, number: int) -> Variant:
        """The inputs of a re-run, which is the run as it was before its instant."""
        command = self.asked.draws.command(self.asked.seed, at_us, number)
        fresh = CommandSpec(at_us, command.pop("do"), command)
        commands = tuple(sorted((*self._scenario.commands, fresh), key=lambda spec: spec.at_us))
        scenario = replace(self._scenario, commands=commands)
        return Variant("", "", scenario, [], until_us=self.asked.until_us, fork_us=at_us - 1)

    def _instants(self) -> list[int]:
        asked = self.asked
        if not self.failures:
            raise Wrong(
                "This run has no failover and no fault whose duplicates are counted",
                "Fail over, or let a node or client crash, and ask again.",
            )
        if asked.failure >= len(self.failures):
            raise Wrong(
                f"failure is {asked.failure}, and this run has {len(self.failures)} failovers or faults",
                f"Give a whole number from 0 to {len(self.failures) - 1}.",
            )
        period_us = self._declared.period_us(asked.scenario) or PERIOD_OTHERWISE_US
        failure_us = self.failures[asked.failure].at_us
        instants = instants_before(failure_us, period_us, asked.periods, asked.instants)
        rows = self.rows * len(instants) * asked.reruns
        if rows > ROWS_MAX:
            fitting = ROWS_MAX // (self.rows * RERUNS_MIN)
            raise Wrong(
                f"The run has {self.rows:,} rows, so {len(instants)} x {asked.reruns} re-runs may have "
                f"{rows:,}; the most is {ROWS_MAX:,}",
                f"Take at most {fitting} instants with {RERUNS_MIN} re-runs each."
                if fitting >= INSTANTS_MIN
                else "Let the run publish fewer messages, or end earlier.",
            )
        return instants

    def _counted(self, world: World, outcome: Outcome) -> Outcome:
        found = self._declared.of(world)
        duplicates, lost = (found.get(name) or 0 for name in MEASURES)
        return replace(outcome, duplicates=duplicates, lost=lost)


def _check(name: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise Wrong(f"{name} is {value}", f"Give a whole number from {least} to {most}.")


def carried_out(reruns: Reruns) -> Reruns:
    """The re-runs after all of the work, in one call. Raises Wrong."""
    finished(reruns.work(Runs(figures_only=True)))
    return reruns


def typical(points: Sequence[Point], reruns: int) -> int:
    """The median of the duplicates from the earliest instant, the lower one of two; 0 until they have run."""
    if not points or len(points[0].outcomes) < reruns:
        return 0
    ordered = sorted(one.duplicates for one in points[0].outcomes if not one.reason)
    return ordered[(len(ordered) - 1) // 2] if ordered else 0


def curve(points: Sequence[Point], more_than: int) -> list[dict[str, Any]]:
    """The probability of more duplicates, and of a loss, at each instant with outcomes, in order of time.

    Probabilities are millionths with the bounds of their 95 % interval (Wilson). `worst` is the re-run with
    the most losses, then duplicates; of equal ones the first.
    """
    return [described for point in points if (described := _described(point, more_than)) is not None]


def _described(point: Point, more_than: int) -> dict[str, Any] | None:
    ran = [one for one in point.outcomes if not one.reason]
    if not ran:
        return None
    ordered = sorted(one.duplicates for one in ran)
    worst = max(ran, key=lambda one: (one.lost, one.duplicates, -one.number))
    return {
        "at_us": point.at_us,
        "runs": len(ran),
        "failed": len(point.outcomes) - len(ran),
        "more": _share(sum(one.duplicates > more_than for one in ran), len(ran)),
        "loss": _share(sum(one.lost > 0 for one in ran), len(ran)),
        "duplicates": [ordered[0], ordered[(len(ordered) - 1) // 2], ordered[-1]],
        "worst": {"number": worst.number, "duplicates": worst.duplicates, "lost": worst.lost},
    }


def _share(hits: int, runs: int) -> dict[str, int]:
    low, high = wilson_interval(hits, runs)
    return {"hits": hits, "share": 1_000_000 * hits // runs, "low": low, "high": high}


def decided(described: Sequence[dict[str, Any]], name: str) -> dict[str, Any] | None:
    """From which instant on every re-run has the same answer to `more` or `loss`, and whether it is yes.

    None while no point has all of its re-runs on one side, as after a late draw that decides.
    """
    found: dict[str, Any] | None = None
    for point in reversed(described):
        hits = point[name]["hits"]
        if hits not in (0, point["runs"]) or (found and found["yes"] != (hits > 0)):
            break
        found = {"at_us": point["at_us"], "yes": hits > 0}
    return found


def same_in_all(points: Sequence[Point]) -> bool:
    """Whether all re-runs so far have equal figures: then no draw decided anything."""
    figures = {
        (one.duplicates, one.lost): None for point in points for one in point.outcomes if not one.reason
    }
    return len(figures) == 1


def _arguments_of(entry: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if name not in ("at_us", "number", "do")}
