"""Requests for an experiment: its quotas, its text, and the queued task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.urls import reverse

from simulator.experiments import Cost
from visualizer.experiments.models import Experiment
from visualizer.experiments.reading import Reading, read_text
from visualizer.labs import clients
from visualizer.labs.clients import client_key
from visualizer.models import hash_of, new_token
from visualizer.tasks.owned import Quotas, check_quotas
from visualizer.tasks.waiting import common_status

KEPT_MOST = 2_000
"""Most rows of experiments. Beyond that the site asks its operator to delete old ones."""


def quotas() -> Quotas:
    """The quotas of experiments."""
    return Quotas(KEPT_MOST, clients.EXPERIMENTS_KEPT_PER_CLIENT, clients.EXPERIMENTS_PER_CLIENT)


SMALL_CORE_S = 240.0
"""Seconds of one core up to which an experiment is run by the engine's own processes, without Spark."""


def is_small(cost: Cost) -> bool:
    """Whether an experiment of this cost needs no Spark."""
    return cost.core_s <= SMALL_CORE_S


@dataclass(frozen=True, slots=True)
class NewExperiment:
    """A stored experiment, its owner's token, or the problems for which it was not stored."""

    reading: Reading
    row: Experiment | None = None
    token: str = ""


def new_experiment(text: str, site: str) -> NewExperiment:
    """Store and queue an experiment. Raises Refused; problems of the text are in the result.

    `site` is the address that its report links to.
    """
    check_quotas(Experiment, quotas(), Experiment.objects.filter(set_up=False))
    reading = read_text(text)
    experiment = reading.experiment
    if experiment is None:
        return NewExperiment(reading)
    token = new_token()
    row = Experiment.objects.create(
        client=client_key(),
        token_hash=hash_of(token),
        title=experiment.title[:200],
        text=text,
        site=site,
        core_s=reading.cost.core_s,
        engine=is_small(reading.cost),
        runs=experiment.runs,
    )
    row.enqueue()
    return NewExperiment(reading, row, token)


# --- the state of an experiment, for its page and for the list of a visitor's experiments


def status_of(experiment_id: str) -> dict[str, Any]:
    """The state as JSON. A running experiment whose worker has died is marked as failed first."""
    Experiment.give_up_on_the_silent(experiment_id)
    row = Experiment.objects.get(pk=experiment_id)
    return {
        **common_status(row, words(row)),
        "runs": row.runs,
        "finished": row.runs_finished,
        "failed": row.runs_failed,
        "set_up": row.set_up,
        "left_s": row.left_s if row.state == Experiment.State.RUNNING else None,
        "files": (row.folder / "sweep.html").is_file(),
        "results": row.results,
    }


def words(row: Experiment) -> str:
    """The state as a sentence."""
    of = f"{row.runs_finished:,} of {row.runs:,} runs finished"
    failed = f", {row.runs_failed:,} of them failed" if row.runs_failed else ""
    if row.state == Experiment.State.QUEUED:
        return f"Queued, {of}." if row.runs_finished else "Queued."
    if row.state == Experiment.State.RUNNING:
        if row.cancel_wanted:
            return f"Being cancelled: {of}."
        if row.message and not row.runs_finished and row.left_s is None:
            return f"{row.message[0].upper()}{row.message[1:]}."
        doing = f"; {row.message}" if row.message and row.runs_finished == row.runs else ""
        left = f", about {spoken(row.left_s)} left" if row.left_s is not None else ""
        return f"{of}{failed}{doing}{left}."
    if row.state == Experiment.State.DONE:
        return f"Finished: {row.runs:,} runs{failed}."
    if row.state == Experiment.State.FAILED:
        return row.error or "It failed."
    return f"Cancelled: {of}."


def spoken(seconds: float) -> str:
    """A duration for people: `8 s`, `12 min`."""
    return f"{max(1, round(seconds))} s" if seconds < 90 else f"{round(seconds / 60)} min"


def described(row: Experiment) -> dict[str, Any]:
    """What the list of the own experiments shows of one."""
    return {"url": reverse("experiments:experiment", args=[row.pk]), "words": words(row)}
