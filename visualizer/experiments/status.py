"""The state of an experiment for its page, and the list of a visitor's experiments."""

from __future__ import annotations

from typing import Any

from django.urls import reverse

from visualizer.experiments.models import Experiment
from visualizer.tasks.waiting import words_and_note

LISTED_MOST = 100
"""Most experiments in a visitor's list, the newest ones."""


def status_of(experiment_id: str) -> dict[str, Any]:
    """The state as JSON. A running experiment whose worker has died is marked as failed first."""
    Experiment.give_up_on_the_silent(experiment_id)
    row = Experiment.objects.get(pk=experiment_id)
    state_words, note = words_and_note(row, words(row))
    return {
        "id": row.pk,
        "state": row.state,
        "over": row.over,
        "cancel_wanted": row.cancel_wanted,
        "runs": row.runs,
        "finished": row.runs_finished,
        "failed": row.runs_failed,
        "left_s": row.left_s if row.state == Experiment.State.RUNNING else None,
        "words": state_words,
        "note": note,
        "error": row.error,
        "hint": row.hint,
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
        if row.message and not row.runs_finished:
            return f"{row.message[0].upper()}{row.message[1:]}."
        left = f", about {spoken(row.left_s)} left" if row.left_s is not None else ""
        return f"{of}{failed}{left}."
    if row.state == Experiment.State.DONE:
        return f"Finished: {row.runs:,} runs{failed}."
    if row.state == Experiment.State.FAILED:
        return row.error or "It failed."
    return f"Cancelled: {of}."


def spoken(seconds: float) -> str:
    """A duration for people: `8 s`, `12 min`."""
    return f"{max(1, round(seconds))} s" if seconds < 90 else f"{round(seconds / 60)} min"


def listed(tokens: dict[str, Any]) -> dict[str, Any]:
    """The experiments of a browser by its tokens, newest first; the others are `gone`."""
    found = Experiment.objects.filter(pk__in=tokens).defer("text", "results")
    own = [row for row in found if row.is_owner(tokens[row.pk])]
    for row in own:
        Experiment.give_up_on_the_silent(row.pk)
    fresh = Experiment.objects.filter(pk__in=[row.pk for row in own]).defer("text", "results")
    return {
        "experiments": [
            {
                "id": row.pk,
                "url": reverse("experiments:experiment", args=[row.pk]),
                "title": row.title,
                "state": row.state,
                "over": row.over,
                "words": words(row),
                "created_at": row.created_at.isoformat(),
            }
            for row in fresh[:LISTED_MOST]
        ],
        "gone": sorted(set(tokens) - {row.pk for row in own}),
    }
