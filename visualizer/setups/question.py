"""The question of My set-up as an experiment: one setting, twenty seeds, each at a phase of its own.

Rules: run N has seed N, and its failover, everything after it and its end are later by (N - 1) twentieths of
the snapshot period. With constant latencies twenty seeds could make twenty equal runs, and the number of
duplicates depends mainly on the age of the last snapshot; so the runs sample that age evenly. What the form
assumes is run beside it, with the same seeds and phases, after the answer. What would have helped in one of
the runs follows (`labsite/engine_worker.py`). A set-up with too many messages is run at a part of its rate
with as much smaller a number of consumers, and counts are multiplied. By how much the answer may differ is
measured for each set-up: it is run again at half of that rate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from simulator import ENGINE_VERSION, ROWS_MAX, Scenario, format_duration
from simulator.experiments import (
    FINISHED,
    Load,
    assumed,
    first_fault_us,
    has_phases,
    late_measures,
    load_of,
    measures_of,
    messages_of,
    period_says,
    reduced,
)
from simulator.set_ups import composed, form_of
from simulator.what_if import ROWS_MOST, variants
from visualizer.labs import clients
from visualizer.live.wire import Refused, problems_counted
from visualizer.setups.reading import PlannedFailure, Reading, failure_of, read_text, values_from
from visualizer.tasks.experiments import CORE_SECONDS_MOST, block_of, experiment_of
from visualizer.tasks.experiments import read_text as read_experiment
from visualizer.tasks.models import WAITING, Experiment, TaskState
from visualizer.tasks.requests import check_waiting, new_experiment

if TYPE_CHECKING:
    from simulator.experiments import Experiment as Planned
    from simulator.set_ups import Beside

RUNS = 20

WHOLE_RATE = 10_000
"""Messages per second up to which a set-up is run as it is, if its runs have at most `WHOLE_MESSAGES`."""

WHOLE_MESSAGES = 6_000_000
"""Most messages that the twenty runs of a set-up up to `WHOLE_RATE` publish: some eight minutes of a core."""

PART_MESSAGES = 700_000
"""Most messages that the twenty runs above `WHOLE_RATE` publish: about a minute of one core."""

LEAST_RATE = 2_000
"""Messages per second to which a rate is reduced at most: below, a backlog fits into one receiver queue."""

DIFFERS_LEAST = 0.03
"""What a figure may differ at least: where both rates could be run, small differences were not regular."""

PART = "rate-over-"
"""Begins the name of a scenario at a part of its rate; the divisor follows."""

KEPT = 200
"""Most answers that are kept, a few KB each, so that a shared link is answered at once."""

WAITING_MOST = 20
"""Most questions that wait on a site. A further one is refused and may be asked again."""

AS_ENTERED = "as-entered"

SMALLER = (
    "Enter a lower rate with as many consumers as it needs, such as one partition's share of both, or faster "
    "consumers, so that the backlog drains sooner."
)

CHANGED_COST = 2
"""The cost of a run for *What would have helped*, in runs of the answer: it is checked as in a lab."""


@dataclass(frozen=True, slots=True)
class Question:
    """A set-up to be answered: its scenario, the experiment's text, and what is tried beside it.

    `beside_says` begins the sentence about that. The runs have 1/`factor` of its rate: the scenario `run`,
    whose text is `run_text`.
    """

    scenario: Scenario
    failure: PlannedFailure
    text: str
    beside: str
    beside_says: str
    factor: int
    run: Scenario
    run_text: str

    @property
    def load(self) -> Load | None:
        """How busy its consumers are, by estimate."""
        return load_of(self.scenario)


def question_of(given: Mapping[str, Any]) -> Question:
    """The question of a request: {query} of the form's page, or {yaml}. Raises Refused."""
    query, text = given.get("query"), given.get("yaml")
    if isinstance(query, str) and len(query) <= 2 * QUERY_MOST:
        values = values_from(dict(parse_qsl(query.lstrip("?"), keep_blank_values=True, max_num_fields=400)))
        return _question(read_text(_form_text(values)), form_of(values).beside(values))
    if not isinstance(text, str):
        raise Refused(
            "bad-field", "yaml is not a text.", 'Send {"yaml": "format: 1…"} or {"query": "rate=…"}.'
        )
    return _question(read_text(text), None)


QUERY_MOST = 20_000
"""Most characters of a form's query that are read."""


def _form_text(values: Mapping[str, str]) -> str:
    return "".join(f"{line.text}\n" for line in composed(values))


def _question(reading: Reading, tried: Beside | None) -> Question:
    if reading.scenario is None:
        raise Refused(
            "bad-scenario",
            f"The scenario has {problems_counted(len(reading.problems))}.",
            "Fix every problem listed and start again.",
        )
    scenario, beside = reading.scenario, "" if tried is None else tried.name
    beside_text = "" if tried is None else _form_text(tried.values)
    texts = {AS_ENTERED: reading.text, **({beside: beside_text} if beside else {})}
    other = read_text(beside_text).scenario if beside else None

    factor = _factor(scenario)
    run = scenario if factor == 1 else reduced(scenario, factor)
    assert run is not None, "the factor is a possible one"
    if factor > 1:
        texts = {f"{PART}{factor}": run.canonical_text}
        texts[f"{PART}{2 * factor}"] = _reduced_text(scenario, 2 * factor)
        texts |= {} if other is None else {beside: _reduced_text(other, factor)}
    run_text = reading.text if factor == 1 else run.canonical_text
    text = _experiment_text(scenario, texts)
    says = "" if tried is None else tried.says
    return Question(scenario, failure_of(scenario), text, beside, says, factor, run, run_text)


def _experiment_text(scenario: Scenario, texts: Mapping[str, str]) -> str:
    """The text of the experiment that compares these scenarios, by name."""
    late = late_measures(scenario)
    names = [one.name for one in measures_of(scenario) if one.name not in late]
    lines = [
        "format: 1",
        "name: my-set-up",
        f"measures: [{', '.join(names)}]",
        f"seeds: {RUNS}",
        *(["phases: by-seed"] if has_phases(scenario) else []),
    ]
    if len(texts) == 1:
        lines += block_of("scenario", next(iter(texts.values())), 0)
    else:
        lines.append("scenario:")
        for name, text in texts.items():
            lines += block_of(name, text, 1)
    return "\n".join([*lines, ""])


def _reduced_text(scenario: Scenario, factor: int) -> str:
    found = reduced(scenario, factor)
    return "" if found is None else found.canonical_text


def _factor(scenario: Scenario) -> int:
    """By what the rate is divided: the least power of two with which the twenty runs are short enough.

    It depends on the scenario alone, so that a question has one answer on every machine. The messages of
    a run are nearly proportional to its rate, and so is the time that it takes.
    """
    load, messages = load_of(scenario), messages_of(scenario)
    if load is None or messages is None:
        return 1
    most = WHOLE_MESSAGES if load.rate <= WHOLE_RATE else PART_MESSAGES
    factor = 1
    while (
        RUNS * messages > most * factor
        and load.rate / (2 * factor) >= LEAST_RATE
        and reduced(scenario, 4 * factor) is not None  # it is run at half of that rate, too
    ):
        factor *= 2
    return factor


def _share(beside: bool, factor: int) -> float:
    """The share that the answer's own runs have in the time of all: those at half of the rate take half."""
    return 1 / (1 + beside + (0.5 if factor > 1 else 0))


def factor_of(experiment: Planned) -> int:
    """By what the rate of a stored answer was divided; 1 if it was run as entered."""
    name = experiment.points[0].values.get("scenario", "")
    return int(name.removeprefix(PART)) if name.startswith(PART) else 1


def may_differ(experiment: Planned, rows: Sequence[Mapping[str, Any]]) -> dict[str, float] | None:
    """By how much each figure's median may differ from that at the whole rate, in units of the whole.

    It is the difference that halving the rate once more makes, for each halving that the whole rate is away
    and once more, and at least `DIFFERS_LEAST` of the figure and one message of the runs. None before those
    runs are finished, and for a whole rate.
    """
    factor = factor_of(experiment)
    done = [
        [row for row in rows if row["point"] == number and row["status"] == FINISHED] for number in (0, 1)
    ]
    if factor == 1 or min(map(len, done)) < len(experiment.seeds):
        return None
    found = {}
    for one in experiment.measures:
        values = [[row[one.name] for row in runs if row[one.name] is not None] for runs in done]
        if not all(values):
            continue
        times = (1, 1) if one.unit == "us" else (factor, 2 * factor)
        whole, half = (each * median(known) for each, known in zip(times, values, strict=True))
        least = 0 if one.unit == "us" else factor
        found[one.name] = max(least, DIFFERS_LEAST * whole, (1 + math.log2(factor)) * abs(whole - half))
    return found


def size_of(question: Question) -> dict[str, Any]:
    """The rows and seconds of the answer, and how busy the consumers are. Raises Refused.

    `beside_core_s` is for what follows it: the runs for the assumptions, and those of what would have helped.
    """
    reading, load = read_experiment(question.text), question.load
    if reading.experiment is None:
        problem = reading.problems[0]
        if problem["path"] != "estimated time":
            raise Refused("too-large", f"{problem['path']}: {problem['message']}.", problem["hint"])
        share = CORE_SECONDS_MOST / reading.cost.core_s
        raise Refused("too-large", f"estimated time: {problem['message']}.", _smaller(question, share))
    share = _share(bool(question.beside), question.factor)
    each_s, rows = (whole * share / RUNS for whole in (reading.cost.core_s, reading.cost.rows))
    if rows > ROWS_MAX:
        words = f"A run has about {rows:,.0f} rows, of at most {ROWS_MAX:,}."
        raise Refused("too-large", words, _smaller(question, ROWS_MAX / rows))
    changed_runs = CHANGED_COST * len(variants(question.run, [])) if rows <= ROWS_MOST else 0
    return {
        "runs": RUNS,
        "factor": question.factor,
        "rows": round(RUNS * rows),
        "core_s": RUNS * each_s,
        "changed_runs": changed_runs,
        "beside_core_s": reading.cost.core_s - RUNS * each_s + each_s * changed_runs,
        "rate": None if load is None else round(load.rate),
        "capacity": None if load is None or load.capacity is None else round(load.capacity),
        "utilisation": None if load is None else round(load.utilisation, 3),
    }


def _smaller(question: Question, share: float) -> str:
    """What would be right: the highest rate that can be answered, where a lower one helps."""
    if question.load is None:
        return SMALLER
    highest = math.floor(question.load.rate * share / 10) * 10
    return f"The highest rate of this set-up that can be answered is about {highest:,} messages/s. {SMALLER}"


def ask(question: Question, site: str) -> dict[str, Any]:
    """Store and queue the question, or find its answer: {id, token, url, asked, size}. Raises Refused."""
    size = size_of(question)
    found = Experiment.objects.filter(
        set_up=True, text=question.text, state=TaskState.DONE, engine_version=ENGINE_VERSION
    ).first()
    token = None
    if found is None:
        rows = Experiment.objects.filter(set_up=True)
        check_waiting(Experiment, rows, clients.STUDIES_PER_CLIENT)
        if rows.filter(state__in=WAITING).count() >= WAITING_MOST:
            raise Refused("too-many", f"{WAITING_MOST} set-ups wait already.", "Try again in a minute.")
        for old in rows.exclude(state__in=WAITING)[KEPT - 1 :]:
            old.delete()
        found, token = new_experiment(
            site,
            title=question.scenario.title[:200],
            text=question.text,
            core_s=size["core_s"] + size["beside_core_s"],
            runs=experiment_of(question.text).runs,
            engine=True,
            set_up=True,
        )
    return {"id": found.pk, "token": token, "url": found.url, "size": size, "asked": _asked(question)}


def _asked(question: Question) -> dict[str, Any]:
    """The planned runs, so that the page can show them and open any of them."""
    experiment, failure = experiment_of(question.text), question.failure
    point = experiment.points[0]
    later = [experiment.offsets_us(question.scenario, point, seed)[0] for seed in experiment.seeds]
    runs = [
        {"run": number, "seed": seed, "at_us": failure.at_us + later_us, "set": _set(question, later_us)}
        for number, (seed, later_us) in enumerate(zip(experiment.seeds, later, strict=True))
    ]
    return {
        **failure.described(),
        "at_us": failure.at_us,
        "period_us": later[1] * RUNS,  # 0: the runs have no phases
        "period_says": period_says(question.scenario),
        "assumed": assumed(question.scenario),
        "readers": "consumers" if question.load is None else question.load.readers,
        "until_us": question.scenario.until_us,
        "points": [one.values.get("scenario", "") for one in experiment.points],
        "beside": question.beside,
        "beside_says": question.beside_says,
        "yaml": question.run_text,
        "runs": runs,
    }


def _set(question: Question, later_us: int) -> list[list[str]]:
    """The changes of one run, as `manage.py simulate --set` takes them."""
    if not later_us:
        return []
    scenario, from_us = question.scenario, first_fault_us(question.scenario) or 0
    moved = [
        [f"commands[{place}].at", format_duration(spec.at_us + later_us)]
        for place, spec in enumerate(scenario.commands)
        if spec.at_us >= from_us
    ]
    return [*moved, ["until", format_duration(scenario.until_us + later_us)]]
