"""An experiment: a scenario, the values of its parameters, seeds, and phases of its faults.

Rules: the grid has one point for each combination of values, the last axis varying fastest. Each point is run
with every seed and every phase. Point, seed and phase determine a run completely; their order numbers it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any, TypeVar

from simulator.kernel.random import draw, stream_key
from simulator.protocols.table import protocol_of
from simulator.scenarios.canonical import canonical_text
from simulator.scenarios.limits import LARGEST_INTEGER
from simulator.scenarios.loader import load_scenario_text
from simulator.scenarios.model import CommandSpec, Scenario
from simulator.scenarios.rule_files import loaded_rules
from simulator.scenarios.settings import RULE, own_rule
from simulator.scenarios.tree import Node, Problem, Problems, ScenarioError, Suggestion, Wrong, suggestion
from simulator.scenarios.units import MILLIONTHS, format_duration, parse_duration, parse_share
from simulator.system.measured import Measure

# --- the phase of a run: its faults, and everything after the first of them, later by an offset


def first_fault(scenario: Scenario) -> CommandSpec | None:
    """The first command that begins a fault or a failover."""
    faults = protocol_of(scenario).measured.faults
    found = [spec for spec in scenario.commands if spec.do in faults]
    return min(found, key=lambda spec: spec.at_us, default=None)


def first_fault_us(scenario: Scenario) -> int | None:
    """The instant of the first command that begins a fault or a failover."""
    first = first_fault(scenario)
    return None if first is None else first.at_us


def happening(scenario: Scenario) -> str:
    """Begins a sentence about what the scenario's first fault costs, such as "If node n1 crashes".

    A command that is no fault is given with its names; it counts where the scenario has no fault.
    """
    faults = protocol_of(scenario).measured.faults
    first = first_fault(scenario) or min(scenario.commands, key=lambda spec: spec.at_us, default=None)
    if first is None:
        return "In this scenario"
    if first.do in faults:
        more = sum(spec.do in faults for spec in scenario.commands) - 1
        follow = f" and {more} more {'fault follows' if more == 1 else 'faults follow'}" if more else ""
        return f"If {faults[first.do].format_map(_Arguments(first.arguments))}{follow}"
    names = [value for value in first.arguments.values() if isinstance(value, str)]
    return " ".join(["After", first.do, *names])


class _Arguments(dict):
    """The arguments of a command; a duration is written with its unit, and a missing one left out."""

    def __getitem__(self, name: str) -> str:
        value = self.get(name, "")
        return format_duration(value) if isinstance(value, int) else value

    def __missing__(self, name: str) -> str:
        return ""


def moved(scenario: Scenario, offset_us: int) -> Scenario:
    """The scenario whose commands from the first fault on, and whose end, are later by `offset_us`.

    What it expects is left out: a value of the grid, a seed or an offset may change it.
    """
    changed = replace(moved_without_text(scenario, offset_us), expect={}, compare={})
    return replace(changed, canonical_text=canonical_text(changed))


def moved_without_text(scenario: Scenario, offset_us: int) -> Scenario:
    """The same commands and end, with the text of the scenario as it was."""
    from_us = first_fault_us(scenario)
    if from_us is None:
        return scenario
    commands = tuple(
        replace(spec, at_us=spec.at_us + offset_us) if spec.at_us >= from_us else spec
        for spec in scenario.commands
    )
    return replace(scenario, commands=commands, until_us=scenario.until_us + offset_us)


Value = TypeVar("Value")


class Fields:
    """The reading of one file: `problems` grows until `stop_if_any` raises them together."""

    def __init__(self, root: Node, text: str, problems: Iterable[Problem] = ()) -> None:
        self._lines, self._source = text.splitlines(), root.source
        self.problems = Problems(problems)
        if not isinstance(root.value, dict):
            raise ScenarioError([root.problem("", "an experiment is a mapping", "begin with `format: 1`")])

    def stop_if_any(self) -> None:
        """Raise ScenarioError with all problems so far, in the order of the file."""
        if self.problems:
            in_order = Problems(sorted(self.problems, key=self._place))
            in_order.more = self.problems.more
            raise ScenarioError(in_order)

    def _place(self, problem: Problem) -> tuple[bool, int, int]:
        """Where a problem is; problems of another file come last."""
        return problem.source != self._source, problem.line or 0, problem.column or 0

    def extend(self, problems: Iterable[Problem]) -> None:
        """Add problems that have their places."""
        self.problems.extend(problems)

    def has_problem_at(self, path: str) -> bool:
        """Whether a problem of this path, or of a path in it, was added."""
        return any(one.path == path or one.path.startswith(f"{path}.") for one in self.problems)

    def placed_in_block(self, root: Node, problem: Problem) -> Problem:
        """A problem of a scenario that is a literal block (`scenario: |`), with its place in this file."""
        source, _, name = problem.source.partition(".")
        node = root.value[SCENARIO]
        node = node.value.get(name) if isinstance(node.value, dict) else node
        if source != SCENARIO or problem.line is None or node is None:
            return problem
        head = self._lines[node.line - 1].split("#")[0].rstrip()
        if not head.endswith(("|", "|-", "|+")):
            return problem
        written = self._lines[node.line]
        indent = len(written) - len(written.lstrip())
        line, column = node.line + problem.line, (problem.column or 1) + indent
        return replace(problem, source=node.source, line=line, column=column)

    def add(self, node: Node, path: str, what: str, right: str | Suggestion) -> None:
        """Add a problem at a node."""
        self.problems.append(node.problem(path, what, str(right)))

    def fail(self, parent: Node, key: str, what: str, right: str | Suggestion, above: str = "") -> None:
        """Add a problem at a member, or at its mapping where it is missing."""
        node = parent.value.get(key)
        self.add(node or parent, f"{above}.{key}" if above else key, what, right)

    def known(self, node: Node, above: str, keys: Sequence[str]) -> None:
        """Add a problem for each unknown key."""
        for key, member in node.value.items():
            if key not in keys:
                path = f"{above}.{key}" if above else key
                problem = member.problem(path, "unknown key", str(suggestion(key, keys)), at_key=True)
                self.problems.append(problem)

    def member(self, node: Node, key: str, kind: type | None) -> Node | None:
        """A member of this kind, None where it is absent or null."""
        found = node.value.get(key)
        if found is None or found.value is None:
            return None
        if kind is not None and not isinstance(found.value, kind):
            self.add(found, key, "is not a mapping", f"write {key}: {{name: value}}")
            return None
        return found

    def value(self, node: Node, key: str, otherwise: Any) -> Any:
        """The plain value of a member."""
        found = node.value.get(key)
        return otherwise if found is None or found.value is None else found.plain()

    def text(self, node: Node, key: str, otherwise: str, above: str = "") -> str:
        """The text of a member."""
        found = node.value.get(key)
        if found is None:
            return otherwise
        if isinstance(found.value, str):
            return found.value
        self.fail(node, key, "is not text", "write it in quotes", above)
        return otherwise

    def read(
        self, node: Node, key: str, parse: Callable[[object], Value], otherwise: Value, above: str = ""
    ) -> Value:
        """A member read by a parser that raises `Wrong`."""
        found = node.value.get(key)
        if found is None or found.value is None:
            return otherwise
        try:
            return parse(found.value)
        except Wrong as wrong:
            self.fail(node, key, wrong.what, wrong.right, above)
            return otherwise


# --- the parts of an experiment's file, read one by one: grid, seeds, phases, wanted bound, limits


RUNS_MAX = 10_000
"""The most runs of an experiment whose file does not raise the limit: minutes on two cores."""
RAISED_RUNS_MAX = 10_000_000
"""The highest limit that a file may set: a day on a hundred cores."""
SEEDS_MAX = 100_000
"""The most seeds: many times what a 99th percentile needs."""
PHASES_MAX = 10_000
"""The most phases: at this number, those of a one-second period are 100 us apart."""

ENDS = ("larger", "smaller")
OWN_KEYS = {"seed": "seeds", "until": "until", "scenario": "scenario"}
"""Paths of the scenario for which an experiment has a key of its own."""


def axes(fields: Fields, root: Node) -> tuple[Axis, ...]:
    """The axes of the grid, in the order of the file."""
    grid = fields.member(root, "grid", dict)
    found = []
    for path, node in (grid.value if grid is not None else {}).items():
        name = f"grid.{path}"
        if path in OWN_KEYS:
            fields.add(node, name, "is no axis of a grid", f"write `{OWN_KEYS[path]}:` outside of the grid")
            continue
        values = node.value if isinstance(node.value, list) else []
        if not values or any(isinstance(one.value, (dict, list)) for one in values):
            fields.add(node, name, "is not a list of values", "write a list, such as [250, 500, 1000]")
            continue
        written = [_with_digest(path, written_value(one)) for one in values]
        for value, one in zip(written, values, strict=True):
            if written.index(value) < values.index(one):
                fields.add(one, name, f"{value} is given twice", "keep one of them")
        found.append(Axis(path, tuple(written)))
    return tuple(found)


def _with_digest(path: str, value: str) -> str:
    """A value as it is run: the rule of a file of one's own is named with the digest of its text."""
    found = loaded_rules() if path == f"options.{RULE}" else None
    return found.value if found is not None and value == found.name else value


def written_value(node: Node) -> str:
    """A value as it is written in the file."""
    return node.text if node.text is not None else str(node.value)


def seeds(fields: Fields, root: Node) -> tuple[int, ...]:
    """The seeds: 1 to a number, or a list."""
    value = fields.value(root, "seeds", 1)
    right = f"write a number of seeds, 1 to {SEEDS_MAX:,}, or a list of seeds"
    if type(value) is int and 1 <= value <= SEEDS_MAX:
        return tuple(range(1, value + 1))
    if isinstance(value, list) and 1 <= len(value) <= SEEDS_MAX:
        if all(type(one) is int and 0 <= one <= LARGEST_INTEGER for one in value):
            if len(dict.fromkeys(value)) == len(value):
                return tuple(value)
            right = "give each seed once"
    fields.fail(root, "seeds", "are not seeds", right)
    return (1,)


def phases(fields: Fields, root: Node) -> tuple[int | None, bool, bool]:
    """The number of phases, None where the file gives none; whether they are drawn; whether by seed."""
    node = fields.member(root, "phases", None)
    if node is None:
        return None, False, False
    value: Any = node.plain()
    if value == BY_SEED:
        return 1, False, True
    drawn = isinstance(value, dict) and list(value) == ["drawn"]
    count = value["drawn"] if drawn else value
    if type(count) is int and 1 <= count <= PHASES_MAX:
        return count, drawn, False
    right = f"write a number, 1 to {PHASES_MAX:,}, {{drawn: 20}} for random phases, or {BY_SEED}"
    fields.fail(root, "phases", "is not a number of phases", right)
    return 1, False, False


def wanted(fields: Fields, root: Node) -> Wanted | None:
    """The bound that a setting has to meet; `at_most` is a number, or a duration for a measure of time."""
    node = fields.member(root, "wanted", dict)
    if node is None:
        return None
    fields.known(node, "wanted", ("measure", "at_most", "share", "confidence"))
    at_most = fields.value(node, "at_most", None)
    if isinstance(at_most, str):
        at_most = fields.read(node, "at_most", parse_duration, 0, "wanted")
    elif type(at_most) is not int or not 0 <= at_most <= LARGEST_INTEGER:
        right = "write the largest acceptable value, such as 50, or 2s for a measure of time"
        fields.fail(node, "at_most", "is not a whole number or a duration", right, "wanted")
        at_most = 0
    shares = {}
    for key, otherwise in (("share", "99%"), ("confidence", "95%")):
        shares[key] = fields.read(node, key, parse_share, parse_share(otherwise), "wanted")
        if not 0 < shares[key] < MILLIONTHS:
            right = f"write a share such as {otherwise}"
            fields.fail(node, key, "is not between 0% and 100%", right, "wanted")
    return Wanted(fields.text(node, "measure", "", "wanted"), at_most, shares["share"], shares["confidence"])


def measures(fields: Fields, root: Node) -> tuple[str, ...]:
    """The names of the measures that the experiment needs; none: all."""
    node = root.value.get("measures")
    if node is None or node.value is None:
        return ()
    names = node.plain()
    if isinstance(names, list) and names and all(isinstance(name, str) for name in names):
        return tuple(names)
    fields.add(node, "measures", "is not a list of measures", "write a list, such as [duplicates, outage_us]")
    return ()


def cheaper(fields: Fields, root: Node) -> tuple[tuple[str, str], ...]:
    """By path of the grid, whether its larger or its smaller values are cheaper."""
    node, grid = fields.member(root, "cheaper", dict), fields.member(root, "grid", dict)
    if node is None:
        return ()
    paths = list(grid.value) if grid is not None else []
    for path, end in node.value.items():
        if path not in paths:
            fields.add(end, f"cheaper.{path}", "is no path of the grid", suggestion(path, paths))
        elif end.value not in ENDS:
            fields.add(end, f"cheaper.{path}", "is not a direction", "write larger or smaller")
    return tuple((path, str(end.value)) for path, end in node.value.items())


def runs_max(fields: Fields, root: Node) -> int:
    """The most runs of this experiment."""
    limits = fields.member(root, "limits", dict)
    if limits is None:
        return RUNS_MAX
    fields.known(limits, "limits", ("runs",))
    most = fields.value(limits, "runs", RUNS_MAX)
    if type(most) is int and 1 <= most <= RAISED_RUNS_MAX:
        return most
    fields.fail(
        limits, "runs", "is not a limit", f"write a number of runs, 1 to {RAISED_RUNS_MAX:,}", "limits"
    )
    return RAISED_RUNS_MAX


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
