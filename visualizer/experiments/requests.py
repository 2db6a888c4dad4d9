"""Requests for an experiment: its quotas, its text, and the queued task."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.experiments import Cost
from visualizer.experiments.models import Experiment
from visualizer.experiments.reading import Reading, read_text
from visualizer.labs import clients
from visualizer.labs.clients import client_key
from visualizer.models import hash_of, new_token
from visualizer.tasks.owned import Quotas, check_quotas

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
