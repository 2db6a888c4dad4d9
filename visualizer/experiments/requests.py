"""Requests about experiments: the owner's check, quotas, and the queued task.

Rules: only the owner of an experiment cancels, continues and deletes it. Any holder of the link may read it.
"""

from __future__ import annotations

from dataclasses import dataclass

from visualizer.experiments.models import Experiment
from visualizer.experiments.reading import Reading, read_text
from visualizer.labs import clients
from visualizer.labs.clients import client_key
from visualizer.live.wire import Refused
from visualizer.models import hash_of, new_token
from visualizer.tasks.models import WAITING

KEPT_MOST = 2_000
"""Most rows of experiments. Beyond that the site asks its operator to delete old ones."""


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
    check_quotas()
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
        core_s=reading.core_s,
        runs=experiment.runs,
    )
    row.enqueue()
    return NewExperiment(reading, row, token)


def check_quotas() -> None:
    """Raise Refused when the site or this client has too many experiments."""
    if Experiment.objects.count() >= KEPT_MOST:
        raise Refused(
            "full",
            f"This site keeps {KEPT_MOST:,} experiments.",
            "Delete those that you no longer need; its operator may delete old ones.",
        )
    own = client_key()
    if not own:
        return
    of_client = Experiment.objects.filter(client=own)
    if of_client.count() >= clients.EXPERIMENTS_KEPT_PER_CLIENT:
        raise Refused(
            "full",
            f"{clients.EXPERIMENTS_KEPT_PER_CLIENT} experiments from your address are kept.",
            "Delete those that you no longer need.",
        )
    check_waiting()


def check_waiting() -> None:
    """Raise Refused when this client has too many experiments queued or running."""
    own = client_key()
    waiting = Experiment.objects.filter(client=own, state__in=WAITING).count() if own else 0
    if waiting >= clients.EXPERIMENTS_PER_CLIENT:
        raise Refused(
            "too-many",
            f"{clients.EXPERIMENTS_PER_CLIENT} experiments of your address are queued or running already.",
            "Wait for one of them, or cancel one.",
        )
