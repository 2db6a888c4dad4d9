"""The text of an experiment: read within the site's bounds, written from the form, and its runs.

Rules: only the experiment reader decides what is valid. It loads the scenario of every point, so their number
is limited by the length of the text. Texts are read in turn with those of scenarios. The form checks no
value: what was typed is written into the text, and the reader reports its problems. A base is My set-up (the
query of its page), a built-in scenario, or a text of the visitor.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any
from urllib.parse import parse_qsl

from django.conf import settings

from simulator import (
    Scenario,
    ScenarioError,
    format_duration,
    load_scenario_text,
    loaded_rules,
    scenario_names,
)
from simulator.experiments import (
    Cost,
    Experiment,
    all_measures,
    cost_of,
    first_fault_us,
    late_measures,
    measures_of,
    read_experiment_text,
    replayed,
)
from simulator.scenarios.settings import OPTIONS, SETTINGS
from simulator.set_ups import composed
from visualizer.labs.definitions import builtin_scenario, builtin_scenarios, read_scenario
from visualizer.live.wire import Refused
from visualizer.pages.scenario_reading import problem_of, read_in_turn
from visualizer.setups.reading import values_from
from visualizer.tasks.models import spoken

TEXT_MOST = 393_216
"""Most characters of an experiment's text: two scenarios of the length of the longest sensible one."""

RUNS_MOST = 2_000
"""Most runs of an experiment from the page: minutes of the one worker that all visitors share."""

POINTS_MOST = 200
"""Most points: the page draws a row for each."""

CHARACTERS_LOADED = 1_000_000
"""Most characters of all points' scenarios together: about three seconds of reading."""

MEASURED_S = 1.0
"""Seconds of the processor for estimating the cost of an experiment."""

CORE_SECONDS_MOST = 1_200.0
"""Most estimated time of one core, seconds: ten minutes of a worker with two cores."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A text as the experiment reader read it. `experiment` is None when there are problems."""

    experiment: Experiment | None
    cost: Cost = Cost(0.0, 0.0)
    problems: tuple[dict[str, Any], ...] = field(default_factory=tuple)


def read_text(text: str) -> Reading:
    """Read a visitor's text, in a thread. Raises Refused when it is too long or too many texts wait."""
    if len(text) > TEXT_MOST:
        raise Refused(
            "bad-field", f"The experiment has {len(text):,} characters.", f"At most {TEXT_MOST:,} are taken."
        )
    return read_in_turn(_read, text)


def experiment_of(text: str) -> Experiment:
    """The experiment of a stored text, without its estimate. Raises ScenarioError."""
    return read_in_turn(_experiment, text)


@lru_cache(maxsize=64)
def _read(text: str) -> Reading:
    try:
        experiment = _experiment(text)
    except ScenarioError as error:
        return Reading(None, problems=tuple(problem_of(one) for one in error.problems))
    cost = cost_of(experiment, time.thread_time, MEASURED_S)
    if cost.core_s <= CORE_SECONDS_MOST:
        return Reading(experiment, cost)
    too_long = {
        "line": None,
        "column": None,
        "path": "estimated time",
        "message": f"all runs together need about {cost.core_s / 60:,.0f} minutes of one core",
        "hint": (
            f"at most {CORE_SECONDS_MOST / 60:.0f} minutes from the page; take fewer values, seeds "
            f"or phases, or a shorter scenario, or use the command line (docs/experiments.md)"
        ),
    }
    return Reading(None, cost, (too_long,))


@lru_cache(maxsize=32)
def _experiment(text: str) -> Experiment:
    points_most = max(1, min(POINTS_MOST, CHARACTERS_LOADED // max(1, len(text))))
    return read_experiment_text(text, runs_most=RUNS_MOST, points_most=points_most)


SMALL_CORE_S = 240.0
"""Seconds of one core up to which an experiment is run by the engine's own processes, without Spark."""


def is_small(cost: Cost) -> bool:
    """Whether an experiment of this cost needs no Spark."""
    return cost.core_s <= SMALL_CORE_S


# --- the parameters that the page offers to vary: those that matter most by hand, the others as declared
#
# Rules: which parameters a scenario has is found by giving it the first proposed value, since only the
# loader decides. The first of the paths that it accepts is the parameter's path. The settings and options
# that protocols declare follow, with values around their defaults.


COMMANDS_TRIED = 4
"""How many of a scenario's first commands are tried as the failover whose mode is varied."""

FREQUENT, BROKER, MODEL = "Frequently varied", "Broker settings", "Options of the simulator"


DECLARED = {"settings": SETTINGS, "options": OPTIONS}


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter: its paths, of which a scenario has one, and proposed values as they are written.

    `cheaper` is the end of the values that costs less, `larger` or `smaller`, or empty.
    """

    name: str
    label: str
    unit: str
    paths: tuple[str, ...]
    values: tuple[str, ...]
    cheaper: str = ""
    group: str = FREQUENT


@dataclass(frozen=True, slots=True)
class Offered:
    """A parameter that a scenario has, with its path there."""

    parameter: Parameter
    path: str

    def described(self) -> dict[str, Any]:
        """The parameter for the page."""
        one = self.parameter
        return {
            "name": one.name,
            "label": f"{one.label}, {one.unit}" if one.unit else one.label,
            "group": one.group,
            "path": self.path,
            "values": ", ".join(one.values),
        }


FREQUENTLY_VARIED = (
    Parameter(
        *("period", "Snapshot period", "ms", ("settings.replicatedSubscriptionsSnapshotFrequencyMillis",)),
        values=("250", "500", "1000", "2000", "5000"),
        cheaper="larger",
    ),
    Parameter(
        *("cache", "Snapshots kept per subscription", ""),
        ("settings.replicatedSubscriptionsSnapshotMaxCachedPerSubscription",),
        values=("3", "10", "30", "100"),
        cheaper="smaller",
    ),
    Parameter(
        *("rule", "Rule of a full snapshot cache", "", ("options.snapshotCacheRule",)),
        values=OPTIONS["snapshotCacheRule"].choices,
    ),
    Parameter(
        *("queue", "Receiver queue", "messages per consumer", ("consumers.*.receiverQueueSize",)),
        values=("10", "100", "1000", "10000"),
        cheaper="larger",
    ),
    Parameter(
        *("latency", "Link latency", "one way", ("links.*.latency", "links.default.latency")),
        values=("5ms", "20ms", "40ms", "100ms"),
    ),
    Parameter(
        *("rate", "Rate of each producer", "messages per second"),
        ("producers.*.rate", "publishers.*.rate"),
        values=("50/s", "100/s", "200/s", "400/s"),
    ),
    Parameter(
        *("every", "Interval between messages of each producer", ""),
        ("producers.*.every", "publishers.*.every"),
        values=("5ms", "10ms", "20ms", "50ms"),
    ),
    Parameter(
        *("processing", "Processing time", "per message"),
        (
            *("consumers.*.processing.median", "consumers.*.processing.mean", "consumers.*.processing"),
            *("sessions.*.processing.median", "sessions.*.processing.mean", "sessions.*.processing"),
        ),
        values=("1ms", "5ms", "10ms", "15ms"),
    ),
    Parameter(
        *("ack-groups", "Acknowledgments sent together after", "", ("consumers.*.acknowledgmentGroupTime",)),
        values=("0s", "50ms", "100ms", "500ms"),
        cheaper="larger",
    ),
    Parameter(
        *("slow-share", "Share of slow acks", "", ("consumers.*.hold.share",)),
        values=("0.1%", "1%", "5%"),
    ),
    Parameter(
        *("replicated", "Subscription state replicated", "", ("subscriptions.*.replicateSubscriptionState",)),
        values=("true", "false"),
    ),
    Parameter(
        *("mode", "Mode of the failover", ""),
        tuple(f"commands[{number}].mode" for number in range(COMMANDS_TRIED)),
        values=("planned", "drained", "crash"),
    ),
)


@lru_cache(maxsize=64)
def offered(text: str) -> tuple[Offered, ...]:
    """The parameters of a scenario. Raises ScenarioError."""
    scenario = read_scenario(text, None)
    found = []
    for parameter in (*FREQUENTLY_VARIED, *_declared(scenario)):
        path = next((path for path in parameter.paths if _accepts(scenario, text, path, parameter)), None)
        if path is not None:
            found.append(Offered(parameter, path))
    return tuple(found)


def _accepts(scenario: Scenario, text: str, path: str, parameter: Parameter) -> bool:
    """Whether the scenario has the path, so that the loader takes a value there."""
    section, _, rest = path.partition(".")
    if section in DECLARED:
        return DECLARED[section][rest].protocol == scenario.protocol
    if rest.startswith("*.") and not getattr(scenario, section, None):
        return False
    try:
        load_scenario_text(text, overrides=((path, parameter.values[-1]),))
    except ScenarioError:
        return False
    return True


def _declared(scenario: Scenario) -> Iterator[Parameter]:
    """Every setting and option of the scenario's protocol that is not offered above."""
    above = {path for one in FREQUENTLY_VARIED for path in one.paths}
    for section, group in (("settings", BROKER), ("options", MODEL)):
        for setting in DECLARED[section].values():
            path = f"{section}.{setting.name}"
            values = _values_around(setting)
            if setting.protocol == scenario.protocol and path not in above and values:
                yield Parameter(setting.name, setting.name, "", (path,), values, group=group)


def _values_around(setting: Any) -> tuple[str, ...]:
    """Values to propose: every choice, or the default with a quarter, a half and twice of it."""
    if setting.kind == "choice":
        return tuple(setting.choices)
    if setting.kind == "boolean":
        return ("true", "false")
    if setting.kind == "rule":
        found = loaded_rules()
        return () if found is None else (setting.default, found.name)
    if setting.kind not in ("integer", "duration") or not setting.default or setting.default < 0:
        return ()
    least = setting.minimum or 0
    values = [setting.default // 4, setting.default // 2, setting.default, 2 * setting.default]
    if setting.maximum is not None:
        values = [value for value in values if value <= setting.maximum]
    distinct = dict.fromkeys(value for value in values if value >= max(least, 1))
    return tuple(format_duration(one) if setting.kind == "duration" else str(one) for one in distinct)


SET_UP, OWN_TEXT = "set-up", "text"
"""Kinds of a base beside the names of built-in scenarios."""

FIELD_MOST = 2_000
"""Most characters of one field of the form that are read."""

LONGEST_NAME = 60
"""Most characters of the name of a compared scenario."""

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_./%+-]*")


@dataclass(frozen=True, slots=True)
class Base:
    """A scenario that an experiment begins from: its text, and how the experiment's file names it."""

    text: str
    written: str
    title: str
    name: str
    problems: tuple[dict[str, Any], ...] = ()

    def parameters(self) -> tuple[Offered, ...]:
        """The parameters to offer, none for a text with problems."""
        return () if self.problems else read_in_turn(offered, self.text)


def base_of(given: Any) -> Base:
    """The base of a request: {kind, query, text}. Raises Refused."""
    given = given if isinstance(given, dict) else {}
    kind, text = given.get("kind"), given.get("text")
    if kind == SET_UP:
        text = "".join(f"{line.text}\n" for line in composed(values_from(_query(given.get("query")))))
    elif kind != OWN_TEXT:
        if kind not in scenario_names():
            raise Refused(
                "unknown-scenario",
                f"There is no built-in scenario {str(kind)[:60]!r}.",
                "Choose one of the list.",
            )
        scenario = builtin_scenario(kind)
        return Base(scenario.canonical_text, kind, scenario.title, kind)
    if not isinstance(text, str) or len(text) > TEXT_MOST:
        raise Refused(
            "bad-field", "The scenario is no text that can be taken.", f"At most {TEXT_MOST:,} characters."
        )
    try:
        scenario = read_in_turn(read_scenario, text, None)
    except ScenarioError as error:
        return Base(text, "", "", "", tuple(problem_of(one) for one in error.problems))
    return Base(text, "", scenario.title, scenario.name)


def _query(text: Any) -> dict[str, str]:
    query = text if isinstance(text, str) and len(text) <= 2 * FIELD_MOST else ""
    return dict(parse_qsl(query.lstrip("?"), keep_blank_values=True, max_num_fields=400))


def one_parameter(base: Base, parameter: Offered, given: Mapping[str, Any]) -> str:
    """The text of an experiment that varies one parameter of a base."""
    path, one = _scalar(parameter.path), parameter.parameter
    lines = [
        "format: 1",
        f"name: {_scalar(f'by-{one.name}')}",
        f"title: {_scalar(f'{one.label}: {base.title}')}",
        *_scenario("scenario", base, 0),
        "grid:",
        f"  {path}: [{', '.join(_scalar(value) for value in _values(given))}]",
        *_runs(given, base),
    ]
    if one.cheaper and any(line.startswith("wanted:") for line in lines):
        lines.append(f"cheaper: {{{path}: {one.cheaper}}}")
    return "\n".join([*lines, ""])


def comparison(one: Base, other: Base, given: Mapping[str, Any]) -> str:
    """The text of an experiment that compares two scenarios."""
    names = [_field(given, key) or base.name or key for key, base in (("name", one), ("name2", other))]
    if names[0] == names[1]:
        names[1] += "-2"
    lines = [
        "format: 1",
        "name: comparison",
        f"title: {_scalar(f'{names[0]} and {names[1]}')}",
        "scenario:",
        *_scenario(_scalar(names[0][:LONGEST_NAME]), one, 1),
        *_scenario(_scalar(names[1][:LONGEST_NAME]), other, 1),
        *_runs(given, one, other),
    ]
    return "\n".join([*lines, ""])


def _scenario(key: str, base: Base, depth: int) -> list[str]:
    """A scenario by its name, or as a block of text."""
    return [f"{'  ' * depth}{key}: {base.written}"] if base.written else block_of(key, base.text, depth)


def block_of(key: str, text: str, depth: int) -> list[str]:
    """The lines of a key whose value is a block of text."""
    before = "  " * depth
    return [f"{before}{key}: |", *(f"{before}  {line}".rstrip() for line in text.splitlines())]


def _runs(given: Mapping[str, Any], *bases: Base) -> list[str]:
    """Seeds, phases, measures and the wanted bound."""
    lines = [f"{key}: {_scalar(value)}" for key in ("seeds", "phases") if (value := _field(given, key))]
    lines += _measures(given, bases)
    if bound := _field(given, "at_most"):
        pairs = [("measure", _field(given, "measure") or "duplicates"), ("at_most", bound)]
        pairs += [(key, value) for key in ("share", "confidence") if (value := _field(given, key))]
        lines.append(f"wanted: {{{', '.join(f'{key}: {_scalar(value)}' for key, value in pairs)}}}")
    return lines


def _measures(given: Mapping[str, Any], bases: Sequence[Base]) -> list[str]:
    """All measures but those that keep runs from stopping early, unless they were asked for."""
    late = late_of(bases)
    asked = given.get("late") is True or (_field(given, "at_most") and _field(given, "measure") in late)
    if not late or asked:
        return []
    scenario = read_in_turn(read_scenario, bases[0].text, None)
    names = [one.name for one in measures_of(scenario) if one.name not in late]
    return [f"measures: [{', '.join(names)}]"]


def late_of(bases: Sequence[Base]) -> list[str]:
    """The measures that keep runs of these scenarios from stopping before their end."""
    scenarios = [read_in_turn(read_scenario, base.text, None) for base in bases]
    return list(dict.fromkeys(name for scenario in scenarios for name in late_measures(scenario)))


def _values(given: Mapping[str, Any]) -> list[str]:
    """The typed values: separated by commas outside of braces."""
    parts = re.split(r",(?![^{]*\})", _field(given, "values"))
    return [part.strip() for part in parts if part.strip()]


def _field(given: Mapping[str, Any], name: str) -> str:
    value = given.get(name)
    return value.strip()[:FIELD_MOST] if isinstance(value, str) else ""


def _scalar(text: str) -> str:
    return text if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)


# --- the form: what it offers, and its text with problems, size and estimated time


CORES = 2
"""Cores of a small worker, for which the time is shown; the page says so."""

WAYS = ("parameter", "compare", "yaml")


@cache
def choices() -> tuple[dict[str, Any], ...]:
    """The bases to choose from, in groups: My set-up, a text, and built-in scenarios with a failover."""
    own = [{"value": SET_UP, "words": "My set-up"}, {"value": OWN_TEXT, "words": "My own YAML"}]
    built_in = sorted(
        (
            {"value": one.name, "words": one.title}
            for one in builtin_scenarios()
            if first_fault_us(one) is not None
        ),
        key=lambda choice: choice["words"],
    )
    return {"title": "Your own", "choices": own}, {"title": "Built-in scenarios", "choices": built_in}


def checked(given: dict[str, Any]) -> dict[str, Any]:
    """The form as it is read: {yaml, problems, parameters, parameter, size, late}. Raises Refused."""
    way = given.get("way")
    if way not in WAYS:
        raise Refused("bad-field", "way is unknown.", f"One of {', '.join(WAYS)}.")
    if way == "yaml":
        text = given.get("yaml")
        return _answer(text if isinstance(text, str) else "")
    base = base_of(given.get("base"))
    if way == "compare":
        other = base_of(given.get("base2"))
        bad = [*_named(base, "first"), *_named(other, "second")]
        return _problems(bad) if bad else _answer(comparison(base, other, given), (base, other))
    offered = base.parameters()
    parameters = [one.described() for one in offered]
    if base.problems or not offered:
        return {**_problems(_named(base, "scenario")), "parameters": parameters, "parameter": ""}
    chosen = next((one for one in offered if one.parameter.name == given.get("parameter")), offered[0])
    values = given.get("values")
    typed = values if isinstance(values, str) and given.get("parameter") == chosen.parameter.name else None
    proposed = ", ".join(chosen.parameter.values)
    used = {**given, "values": proposed if typed is None else typed}
    return {
        **_answer(one_parameter(base, chosen, used), (base,)),
        "parameters": parameters,
        "parameter": chosen.parameter.name,
        "values": used["values"],
    }


def _named(base: Base, which: str) -> list[dict[str, Any]]:
    """The problems of a base, with the name of its scenario before their paths."""
    return [
        {**problem, "path": f"{which}: {problem['path']}".removesuffix(": ")} for problem in base.problems
    ]


def _problems(problems: list[dict[str, Any]]) -> dict[str, Any]:
    return {"yaml": "", "problems": problems, "size": None, "late": ""}


def _answer(text: str, bases: Sequence[Base] = ()) -> dict[str, Any]:
    """The answer about an experiment's text. `late` names what keeps its runs from stopping early."""
    reading = read_text(text)
    size = None if reading.experiment is None else _size(reading.experiment, reading)
    late = late_of(bases)
    titles = [] if size is None else [one["title"] for one in size["measures"] if one["name"] in late]
    return {"yaml": text, "problems": list(reading.problems), "size": size, "late": " and ".join(titles)}


def _size(experiment: Experiment, reading: Reading) -> dict[str, Any]:
    """The number of runs and the estimated time, in numbers and words."""
    points, seeds, phases = len(experiment.points), len(experiment.seeds), experiment.phases
    small = is_small(reading.cost)
    cores = settings.ENGINE_PROCESSES if small else CORES
    duration = spoken(reading.cost.core_s / cores)
    parts = " × ".join(
        f"{count:,} {one if count == 1 else many}"
        for count, one, many in (
            (points, "setting", "settings"),
            (seeds, "seed", "seeds"),
            (phases, "phase", "phases"),
        )
    )
    return {
        "runs": experiment.runs,
        "points": points,
        "seeds": seeds,
        "phases": phases,
        "core_s": reading.cost.core_s,
        "rows": round(reading.cost.rows),
        "words": f"{experiment.runs:,} runs ({parts}), about {reading.cost.rows:,.0f} rows, about {duration} "
        f"on {cores} {'core' if cores == 1 else 'cores'}{'' if small else ' once Spark runs'}",
        "measures": [one.described() for one in all_measures(experiment)],
    }


# --- one run as a scenario: its number says its point, seed and phase


def run_number(experiment: Experiment, text: str) -> int:
    """The number of a run in an address. Raises Refused."""
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else -1
    if not 0 <= number < experiment.runs:
        raise Refused(
            "not-found",
            f"This experiment has no run {text[:20]}.",
            f"Runs are numbered 0 to {experiment.runs - 1}.",
        )
    return number


def scenario_of_run(experiment: Experiment, number: int) -> tuple[Scenario, int]:
    """The scenario of a run, with its own seed and instants, and its first fault, 0 without one."""
    batch, phase = divmod(number, experiment.phases)
    point_number, seed_place = divmod(batch, len(experiment.seeds))
    point, seed = experiment.points[point_number], experiment.seeds[seed_place]
    offsets_us = experiment.offsets_us(experiment.scenario_at(point, seed), point, seed)
    row = {"run": number, "point": point_number, "seed": seed, "phase_us": offsets_us[phase]}
    scenario = replayed(experiment, row)
    return scenario, first_fault_us(scenario) or 0
