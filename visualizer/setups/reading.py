"""Reads a set-up's text with the loader: its problems by field, and the failure that it plans.

Rules: only the loader checks the text. Here its problems are assigned to fields by line and column, each once
per field.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from simulator import Scenario, ScenarioError
from simulator.experiments import first_fault
from visualizer.labs.definitions import YAML_LIMIT, read_scenario
from visualizer.live.wire import Refused
from visualizer.pages.scenario_reading import problem_of, read_in_turn
from visualizer.setups.form import CONSUMERS_READ, Line, completed, composed, number_of_consumers

NO_FAILURE = (
    "This scenario has no command, so nothing goes wrong in it. Add a fault to commands, such as "
    "subscription.fail-over or leader.crash, or vary its settings under Experiments."
)


@dataclass(frozen=True, slots=True)
class Failure:
    """What the answer is about: a scenario's first fail-over, or else its first fault.

    A `fault` is the command with its names, such as `leader.crash meters`; it is empty for a fail-over, which
    has a source, a target and a mode.
    """

    at_us: int
    source: str = ""
    target: str = ""
    mode: str = ""
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Reading:
    """A text as the loader read it. `scenario` is None when there are problems."""

    text: str
    scenario: Scenario | None
    problems: list[dict[str, Any]] = field(default_factory=list)

    @property
    def failure(self) -> Failure | None:
        return None if self.scenario is None else failure_of(self.scenario)


def failure_of(scenario: Scenario) -> Failure | None:
    planned = [command for command in scenario.commands if command.do == "subscription.fail-over"]
    if planned:
        first = min(planned, key=lambda command: command.at_us)
        given = first.arguments
        return Failure(first.at_us, given["from"], given["to"], given["mode"])
    earliest = min(scenario.commands, key=lambda command: command.at_us, default=None)
    fault = first_fault(scenario) or earliest
    if fault is None:
        return None
    names = [value for value in fault.arguments.values() if isinstance(value, str)]
    return Failure(fault.at_us, fault=" ".join([fault.do, *names]))


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
    lines = composed(values)
    reading = read_text("".join(f"{line.text}\n" for line in lines))
    problems = [{**problem, "field": _field_of(problem, lines)} for problem in reading.problems]
    return lines, Reading(reading.text, reading.scenario, _in_words_of_the_form(problems, values))


def _field_of(problem: dict[str, Any], lines: Sequence[Line]) -> str:
    line = problem["line"]
    return lines[line - 1].field_at(problem["column"]) if line is not None and line <= len(lines) else ""


def _in_words_of_the_form(problems: list[dict[str, Any]], values: Mapping[str, str]) -> list[dict[str, Any]]:
    """The problems in the form's words, each once per field.

    The number of consumers is a field of the form only, since the format lists consumers one by one.
    """
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for problem in problems:
        if problem["path"] == "consumers":
            problem = {**problem, **_consumers_in_words(values["consumers"], problem)}
        found.setdefault((problem["field"], problem["message"]), problem)
    return list(found.values())


def _consumers_in_words(typed: str, problem: dict[str, Any]) -> dict[str, str]:
    if number_of_consumers({"consumers": typed}) is None:
        return {"message": f'"{typed}" is not a whole number', "hint": "write how many, such as 2"}
    return (
        {"message": f"{typed} consumers are too many", "hint": problem["hint"]}
        if int(typed) >= CONSUMERS_READ
        else {}
    )


def values_from(given: Mapping[str, str]) -> dict[str, str]:
    """The form's values from an address (`visualizer.setups.form.completed`)."""
    return completed({name: value[:_LONGEST_VALUE] for name, value in given.items()})


_LONGEST_VALUE = 2_000
"""Most characters of one field that are read. Seventeen names of regions have a few hundred."""
