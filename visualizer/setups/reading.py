"""Reads a set-up's text with the loader: its problems by field, and the failure that it plans.

Rules: only the loader checks the text. Here its problems are assigned to fields by line and column, each once
per field.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from simulator import Scenario, ScenarioError, format_duration
from simulator.experiments import first_fault, happening
from simulator.set_ups import FORMS, Field, Form, Line, form_of, number
from visualizer.labs.definitions import YAML_LIMIT, read_scenario
from visualizer.live.wire import Refused
from visualizer.pages.scenario_reading import problem_of, read_in_turn

NO_FAILURE = (
    "This scenario has no command, so its runs differ only by their seeds. Add a fault to commands, such as "
    "subscription.fail-over or leader.crash, to see what it costs."
)


@dataclass(frozen=True, slots=True)
class PlannedFailure:
    """What the answer is about: a scenario's first fail-over, or else its first fault.

    A `fault` is the command with its names, such as `leader.crash meters`; it is empty for a fail-over, which
    has a source, a target and a mode, and where there is no command. `begins` is the beginning of a sentence
    about what it costs, such as "If node n1 crashes".
    """

    at_us: int
    source: str = ""
    target: str = ""
    mode: str = ""
    fault: str = ""
    begins: str = "In this scenario"

    def described(self) -> dict[str, str]:
        names = {"from": self.source, "to": self.target, "mode": self.mode}
        return {**names, "fault": self.fault, "begins": self.begins}


@dataclass(frozen=True, slots=True)
class Reading:
    """A text as the loader read it. `scenario` is None when there are problems."""

    text: str
    scenario: Scenario | None
    problems: list[dict[str, Any]] = field(default_factory=list)

    @property
    def failure(self) -> PlannedFailure | None:
        return None if self.scenario is None else failure_of(self.scenario)


def failure_of(scenario: Scenario) -> PlannedFailure:
    """What a scenario is asked about."""
    planned = [command for command in scenario.commands if command.do == "subscription.fail-over"]
    if planned:
        first = min(planned, key=lambda command: command.at_us)
        source, target, mode = (first.arguments[name] for name in ("from", "to", "mode"))
        begins = f"If consumers move from {source} to {target} ({mode})"
        if mode == "crash":
            begins = f"If {source} goes down"
        return PlannedFailure(first.at_us, source, target, mode, begins=begins)
    earliest = min(scenario.commands, key=lambda command: command.at_us, default=None)
    fault = first_fault(scenario) or earliest
    if fault is None:
        return PlannedFailure(0)
    names = [value for value in fault.arguments.values() if isinstance(value, str)]
    return PlannedFailure(fault.at_us, fault=" ".join([fault.do, *names]), begins=happening(scenario))


def read_text(text: str) -> Reading:
    """Read a visitor's text, in a thread.

    Raises Refused when it is too long, or when too many texts wait to be read.
    """
    if len(text) > YAML_LIMIT:
        raise Refused(
            "bad-field", f"The text has {len(text):,} characters.", f"At most {YAML_LIMIT:,} are taken."
        )
    try:
        return Reading(text, read_in_turn(read_scenario, text, None))
    except ScenarioError as error:
        return Reading(text, None, [problem_of(problem) for problem in error.problems])


def read_form(values: Mapping[str, str]) -> tuple[list[Line], Reading]:
    """Read the form: the lines of completed values, and the loader's result.

    Each problem of the result has its `field`.
    """
    form = form_of(values)
    lines = form.composed(values)
    reading = read_text("".join(f"{line.text}\n" for line in lines))
    problems = [{**problem, "field": _field_of(problem, lines)} for problem in reading.problems]
    return lines, Reading(reading.text, reading.scenario, _in_words_of_the_form(problems, form, values))


def _field_of(problem: dict[str, Any], lines: Sequence[Line]) -> str:
    line = problem["line"]
    return lines[line - 1].field_at(problem["column"]) if line is not None and line <= len(lines) else ""


def _in_words_of_the_form(
    problems: list[dict[str, Any]], form: Form, values: Mapping[str, str]
) -> list[dict[str, Any]]:
    """The problems in the form's words, each once per field.

    The number of consumers, nodes or clients is a field of the form only, since the format lists each.
    """
    counted = {one.counted: one for one in form.fields if one.counted}
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for problem in problems:
        if problem["path"] in counted:
            field = counted[problem["path"]]
            problem = {**problem, "field": field.name, **_count_in_words(field, values[field.name], problem)}
        found.setdefault((problem["field"], problem["message"]), problem)
    return list(found.values())


def _count_in_words(field: Field, typed: str, problem: dict[str, Any]) -> dict[str, str]:
    count = number(typed)
    if count is None:
        return {"message": f'"{typed}" is not a whole number', "hint": "write how many, such as 2"}
    what = "clients" if field.counted == "sessions" else field.counted
    return {"message": f"{typed} {what} are too many", "hint": problem["hint"]} if count > 1 else {}


def values_from(given: Mapping[str, str]) -> dict[str, str]:
    """The form's values from an address (`Form.completed`)."""
    form = form_of(given)
    return form.completed({name: value[:_LONGEST_VALUE] for name, value in given.items()})


_LONGEST_VALUE = 2_000
"""Most characters of one field that are read. Seventeen names of regions have a few hundred."""


def described(reading: Reading) -> dict[str, Any]:
    """The loader's result as pages have it: problems, or the title, the failure and what is said of it."""
    scenario, failure = reading.scenario, reading.failure
    if scenario is None or failure is None:
        none = {"title": "", "failure": None, "no_failure": "", "validity": "", "compared": False}
        return {"problems": reading.problems, **none}
    form = next((one for one in FORMS if one.name == scenario.protocol), None)
    return {
        "problems": reading.problems,
        "title": scenario.title,
        "failure": {**failure.described(), "at": format_duration(failure.at_us)},
        "no_failure": "" if scenario.commands else NO_FAILURE,
        "validity": "" if form is None else form.validity,
        "compared": form is not None and form.compared,
    }
