"""The form of an experiment: what it offers, and its text with problems, size and estimated time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from django.conf import settings

from simulator.experiments import Experiment, all_measures, first_fault_us
from visualizer.experiments.composing import (
    OWN_TEXT,
    SET_UP,
    Base,
    base_of,
    comparison,
    late_of,
    one_parameter,
)
from visualizer.experiments.reading import Reading, read_text
from visualizer.experiments.requests import is_small, spoken
from visualizer.labs.definitions import builtin_scenarios
from visualizer.live.wire import Refused

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
