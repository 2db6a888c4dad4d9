"""An experiment: a scenario, the values of its parameters, seeds, and phases of its faults.

Rules: the grid has one point for each combination of values, the last axis varying fastest. Each point is run
with every seed and every phase. Point, seed and phase determine a run completely; their order numbers it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

from simulator.kernel.random import draw, stream_key
from simulator.protocols.table import protocol_of
from simulator.scenarios.loader import load_scenario_text
from simulator.scenarios.model import Scenario
from simulator.scenarios.rule_files import loaded_rules
from simulator.scenarios.settings import RULE, own_rule
from simulator.system.measured import Measure

BY_SEED = "by-seed"
"""The value of `phases` that gives each seed a phase of its own."""

SCENARIO = "scenario"
"""The axis of an experiment that compares scenarios; its values are their names."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A parameter: a dotted path into the scenario, and its values as they are written."""

    path: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Point:
    """A combination of values, by path; `number` counts from 0."""

    number: int
    values: dict[str, str]


@dataclass(frozen=True, slots=True)
class Wanted:
    """The bound that a setting has to meet: in `share` of the runs `measure` is at most `at_most`.

    `share` and `confidence` are millionths, `at_most` has the unit of the measure.
    """

    measure: str
    at_most: int
    share_millionths: int
    confidence_millionths: int


@dataclass(frozen=True)
class Experiment:
    """An experiment as its file declares it.

    `scenario_text` is the text of the scenario, whichever way the file names it. Where several scenarios are
    compared, `compared` has the text of each by its name, the axis `SCENARIO` their names, and
    `scenario_text` is the first one. `phases` is the number of offsets of the faults within a period, random
    ones if they are `drawn`, else evenly spaced. With `by_seed` there is one for each seed, and those of all
    seeds are evenly spaced. `cheaper` has the path of each axis whose values have a
    cheaper end, and `larger` or `smaller`.
    """

    name: str
    title: str
    scenario_text: str
    scenario_source: str
    axes: tuple[Axis, ...] = ()
    seeds: tuple[int, ...] = (1,)
    phases: int = 1
    drawn: bool = False
    until_us: int | None = None
    wanted: Wanted | None = None
    cheaper: tuple[tuple[str, str], ...] = ()
    measured: tuple[str, ...] = ()  # the names of the wanted measures, none: all of the protocol
    compared: tuple[tuple[str, str], ...] = ()
    by_seed: bool = False

    @cached_property
    def points(self) -> tuple[Point, ...]:
        """Every combination of values."""
        combined = product(*(axis.values for axis in self.axes))
        paths = [axis.path for axis in self.axes]
        return tuple(
            Point(number, dict(zip(paths, values, strict=True))) for number, values in enumerate(combined)
        )

    @cached_property
    def measures(self) -> tuple[Measure, ...]:
        """What is measured in each run."""
        measures = protocol_of(self.scenario_at(self.points[0])).measured.measures
        return tuple(one for one in measures if not self.measured or one.name in self.measured)

    @property
    def runs(self) -> int:
        """The number of runs."""
        return len(self.points) * len(self.seeds) * self.phases

    def scenario_at(self, point: Point, seed: int | None = None) -> Scenario:
        """The scenario of a point. Raises ScenarioError."""
        values = dict(point.values)
        name = values.pop(SCENARIO, "") if self.compared else ""
        return load_scenario_text(
            dict(self.compared)[name] if name else self.scenario_text,
            f"{SCENARIO}.{name}" if name else self.scenario_source,
            seed=seed,
            until_us=self.until_us,
            overrides=tuple(values.items()),
        )

    def offsets_us(self, scenario: Scenario, point: Point, seed: int) -> list[int]:
        """By phase, how much later than written the faults of a run are."""
        if self.phases == 1 and not self.drawn and not self.by_seed:
            return [0]
        period_us = protocol_of(scenario).measured.period_us(scenario) or 1
        if self.by_seed:
            return [self.seeds.index(seed) * period_us // len(self.seeds)]
        if not self.drawn:
            return [phase * period_us // self.phases for phase in range(self.phases)]
        key = stream_key(seed, f"experiment/{self.name}/{point.number}")
        return [draw(key, phase) % period_us for phase in range(self.phases)]

    @property
    def own_rules(self) -> tuple[str, ...]:
        """Name and digest of each rule of one's own under which a point runs."""
        chosen = [own_rule(self.scenario_at(point).options) for point in self._by_rule()]
        return tuple(dict.fromkeys(rule for rule in chosen if rule is not None))

    def _by_rule(self) -> list[Point]:
        """One point for each scenario and each value of the rule's option."""
        found: dict[tuple[str | None, ...], Point] = {}
        for point in self.points:
            found.setdefault(tuple(point.values.get(path) for path in (SCENARIO, f"options.{RULE}")), point)
        return list(found.values())

    def described(self) -> dict[str, Any]:
        """The experiment as JSON: equal for equal experiments."""
        rules = self.own_rules if loaded_rules() is not None else ()
        return {
            **({"rules": list(rules)} if rules else {}),
            "name": self.name,
            "title": self.title,
            "scenario": dict(self.compared) if self.compared else self.scenario_text,
            "grid": {axis.path: list(axis.values) for axis in self.axes},
            "seeds": list(self.seeds),
            "phases": BY_SEED if self.by_seed else {"drawn": self.phases} if self.drawn else self.phases,
            "until_us": self.until_us,
            "wanted": None
            if self.wanted is None
            else {
                "measure": self.wanted.measure,
                "at_most": self.wanted.at_most,
                "share": self.wanted.share_millionths / 1_000_000,
                "confidence": self.wanted.confidence_millionths / 1_000_000,
            },
            "cheaper": dict(self.cheaper),
            "measures": list(self.measured),
        }
