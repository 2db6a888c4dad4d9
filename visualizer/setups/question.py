"""The question of My set-up as an experiment: one setting, twenty seeds, each at a phase of its own.

Rules: run N has seed N, and its failover, everything after it and its end are later by (N - 1) twentieths of
the snapshot period. With constant latencies twenty seeds could make twenty equal runs, and the number of
duplicates depends mainly on the age of the last snapshot; so the runs sample that age evenly. What the form
assumes is run beside it, with the same seeds and phases, after the answer. What would have helped in one of
the runs follows (`labsite/engine_worker.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from django.urls import reverse

from simulator import ENGINE_VERSION, ROWS_MAX, Scenario, format_duration
from simulator.experiments import (
    Load,
    first_fault_us,
    has_phases,
    late_measures,
    load_of,
    measures_of,
)
from simulator.what_if import variants
from visualizer.experiments.composing import block_of
from visualizer.experiments.models import Experiment
from visualizer.experiments.reading import experiment_of
from visualizer.experiments.reading import read_text as read_experiment
from visualizer.labs import clients
from visualizer.labs.clients import client_key
from visualizer.labs.reruns import ROWS_MOST
from visualizer.live.wire import Refused, problems_counted
from visualizer.models import hash_of, new_token
from visualizer.setups.form import at_of, composed
from visualizer.setups.reading import NO_FAILURE, Failure, Reading, read_text, values_from
from visualizer.tasks.models import WAITING, TaskState
from visualizer.tasks.owned import Quotas, check_waiting

RUNS = 20

RUNS_LEAST = 6
"""The fewest runs whose smallest and largest values enclose the median with 95 % confidence."""

WHOLE_RATE = 10_000
"""Messages per second up to which all twenty runs are made. Above it there are fewer.

Runs with more rows than those of a lab are not made, and the page says so before anything is run.
"""

KEPT = 200
"""Most answers that are kept, a few KB each, so that a shared link is answered at once."""

WAITING_MOST = 20
"""Most questions that wait on a site. A further one is refused and may be asked again."""

SLOW_ACKS = {"slow_share": "1%", "slow_for": "500ms"}
"""The slow acks that are tried beside a form that has none."""

AS_ENTERED = "as-entered"

SMALLER = (
    "Enter a lower rate with as many consumers as it needs, such as one partition's share of both, or faster "
    "consumers, so that the backlog drains sooner."
)

CHANGED_COST = 2
"""The cost of a run for *What would have helped*, in runs of the answer: it is checked as in a lab."""


@dataclass(frozen=True, slots=True)
class Question:
    """A set-up to be answered: its scenario, the experiment's text, and what is tried beside it."""

    scenario: Scenario
    failure: Failure
    text: str
    runs: int
    beside: str = ""

    @property
    def load(self) -> Load | None:
        """How busy its consumers are, by estimate."""
        return load_of(self.scenario)


def question_of(given: Mapping[str, Any]) -> Question:
    """The question of a request: {query} of the form's page, or {yaml}. Raises Refused."""
    query, text = given.get("query"), given.get("yaml")
    if isinstance(query, str) and len(query) <= 2 * QUERY_MOST:
        values = values_from(dict(parse_qsl(query.lstrip("?"), keep_blank_values=True, max_num_fields=400)))
        slow = bool(values["slow_share"].strip())
        beside = {
            **values,
            "at": at_of(values),
            **({"slow_share": "", "slow_for": ""} if slow else SLOW_ACKS),
        }
        texts = [_form_text(values), _form_text(beside)]
        return _question(read_text(texts[0]), texts[1], "without-slow-acks" if slow else "with-slow-acks")
    if not isinstance(text, str):
        raise Refused(
            "bad-field", "yaml is not a text.", 'Send {"yaml": "format: 1…"} or {"query": "rate=…"}.'
        )
    return _question(read_text(text), "", "")


QUERY_MOST = 20_000
"""Most characters of a form's query that are read."""


def _form_text(values: Mapping[str, str]) -> str:
    return "".join(f"{line.text}\n" for line in composed(values))


def _question(reading: Reading, beside_text: str, beside: str) -> Question:
    if reading.scenario is None:
        raise Refused(
            "bad-scenario",
            f"The scenario has {problems_counted(len(reading.problems))}.",
            "Fix every problem listed and start again.",
        )
    if reading.failure is None:
        hint = (
            "commands: - {at: 30s, do: subscription.fail-over, subscription: …, from: …, to: …, mode: crash}"
            " or - {at: 30s, do: leader.crash, group: …}"
        )
        raise Refused("no-failure", NO_FAILURE, hint)
    scenario = reading.scenario
    late = late_measures(scenario)
    names = [one.name for one in measures_of(scenario) if one.name not in late]
    load = load_of(scenario)
    runs = RUNS if load is None else runs_at(load.rate)
    lines = [
        "format: 1",
        "name: my-set-up",
        f"measures: [{', '.join(names)}]",
        f"seeds: {runs}",
        *(["phases: by-seed"] if has_phases(scenario) else []),
    ]
    if beside:
        lines += ["scenario:", *block_of(AS_ENTERED, reading.text, 1), *block_of(beside, beside_text, 1)]
    else:
        lines += block_of("scenario", reading.text, 0)
    return Question(scenario, reading.failure, "\n".join([*lines, ""]), runs, beside)


def runs_at(rate: float) -> int:
    """How many runs are made of a set-up with so many messages per second."""
    return RUNS if rate <= WHOLE_RATE else max(RUNS_LEAST, round(RUNS * WHOLE_RATE / rate))


def size_of(question: Question) -> dict[str, Any]:
    """The rows and seconds of the answer, and how busy the consumers are. Raises Refused.

    `beside_core_s` is for what follows it: the runs for the assumptions, and those of what would have helped.
    """
    reading = read_experiment(question.text)
    if reading.experiment is None:
        problem = reading.problems[0]
        hint = SMALLER if problem["path"] == "estimated time" else problem["hint"]
        raise Refused("too-large", f"{problem['path']}: {problem['message']}.", hint)
    share = question.runs / reading.experiment.runs
    each_s, rows = (whole / reading.experiment.runs for whole in (reading.cost.core_s, reading.cost.rows))
    if rows > ROWS_MAX:
        raise Refused("too-large", f"A run has about {rows:,.0f} rows, of at most {ROWS_MAX:,}.", SMALLER)
    changed_runs = CHANGED_COST * len(variants(question.scenario, [])) if rows <= ROWS_MOST else 0
    load = question.load
    return {
        "runs": question.runs,
        "runs_whole": RUNS,
        "rows": round(reading.cost.rows * share),
        "core_s": reading.cost.core_s * share,
        "changed_runs": changed_runs,
        "beside_core_s": each_s * (reading.experiment.runs - question.runs + changed_runs),
        "rate": None if load is None else round(load.rate),
        "capacity": None if load is None or load.capacity is None else round(load.capacity),
        "utilisation": None if load is None else round(load.utilisation, 3),
    }


def ask(question: Question, site: str) -> dict[str, Any]:
    """Store and queue the question, or find its answer: {id, token, url, asked, size}. Raises Refused."""
    size = size_of(question)
    found = Experiment.objects.filter(
        set_up=True, text=question.text, state=TaskState.DONE, engine_version=ENGINE_VERSION
    ).first()
    token = None
    if found is None:
        rows = Experiment.objects.filter(set_up=True)
        check_waiting(Experiment, Quotas(0, 0, clients.STUDIES_PER_CLIENT), rows)
        if rows.filter(state__in=WAITING).count() >= WAITING_MOST:
            raise Refused("too-many", f"{WAITING_MOST} set-ups wait already.", "Try again in a minute.")
        for old in rows.exclude(state__in=WAITING)[KEPT - 1 :]:
            old.delete()
        token = new_token()
        experiment = experiment_of(question.text)
        found = Experiment.objects.create(
            client=client_key(),
            token_hash=hash_of(token),
            title=question.scenario.title[:200],
            text=question.text,
            site=site,
            core_s=size["core_s"] + size["beside_core_s"],
            runs=experiment.runs,
            engine=True,
            set_up=True,
        )
        found.enqueue()
    url = reverse("experiments:experiment", args=[found.pk])
    return {"id": found.pk, "token": token, "url": url, "size": size, "asked": _asked(question)}


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
        "from": failure.source,
        "to": failure.target,
        "mode": failure.mode,
        "fault": failure.fault,
        "at_us": failure.at_us,
        "period_us": later[1] * question.runs,  # 0: the runs have no phases
        "until_us": question.scenario.until_us,
        "beside": question.beside,
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
