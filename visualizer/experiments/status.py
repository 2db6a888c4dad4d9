"""The state of an experiment, for its page and for the list of a visitor's experiments."""

from __future__ import annotations

from typing import Any

from django.urls import reverse

from visualizer.experiments.models import Experiment
from visualizer.tasks.waiting import common_status


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
