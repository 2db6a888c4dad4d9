"""What the page of a queued task says.

Rules: while a task waits or runs its page shows how long its present work has lasted, so that it changes
every second, whatever Spark counts. A running task's time ends with its worker's last sign of life.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.conf import settings

from visualizer.tasks.models import ENGINE_UNTAKEN_FOR_S, UNTAKEN_FOR_S, QueuedTask, TaskState

STATUS_NAME = "report-tools.json"


def missing_tools() -> tuple[str, str] | None:
    """The text for a waiting report, as (words, note); None when no tool is known to be missing.

    Rules: `script/support/report_tools.py` writes the status file. Without a readable one nothing is shown:
    the tools are installed, or managed elsewhere.
    """
    try:
        status = json.loads((Path(settings.DATA_DIR) / STATUS_NAME).read_text())
        state, doing = status["state"], status["words"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if state == "failed":
        return "Spark could not be installed, so this waits in the queue.", (
            "Start script/server again to retry; the terminal has the reason. The lab works without reports."
        )
    return (
        f"Installing Spark: {doing}.",
        "It starts automatically when that is done. The lab can be used meanwhile.",
    )


UNTAKEN = (
    "No worker has taken it yet. `script/server` runs one; by itself it is `python manage.py db_worker`. "
    "It may also be at work on something else."
)


UNTAKEN_ENGINE = (
    "No worker has taken it yet. `script/server` runs one; by itself it is "
    "`python manage.py db_worker --queue-name engine`, which needs neither Spark nor Java."
)


def common_status(task: QueuedTask, words: str) -> dict[str, Any]:
    """What the status of every kind of task contains; `words` are its state as a sentence."""
    state_words, note = _words_and_note(task, words)
    return {
        "id": task.pk,
        "state": task.state,
        "over": task.over,
        "cancel_wanted": task.cancel_wanted,
        "words": state_words,
        "note": note,
        "lasting": _lasting(task),
        "error": task.error,
        "hint": task.hint,
    }


def words_of_steps(task: Any, done: str) -> str:
    """The state of a task that counts steps and Spark's tasks, as a sentence; `done` is that of its end."""
    if task.state == TaskState.QUEUED:
        return "Queued."
    if task.state == TaskState.RUNNING:
        if task.cancel_wanted:
            return "Being cancelled."
        if not task.step_number:
            doing = task.step_name or "starting"
            return f"{doing[0].upper()}{doing[1:]}."
        tasks = f" {task.tasks_done} of {task.tasks_count} Spark tasks are done." if task.tasks_count else ""
        return f"Step {task.step_number} of {task.step_count}: {task.step_name}.{tasks}"
    if task.state == TaskState.DONE:
        return done
    return task.error or "It failed." if task.state == TaskState.FAILED else "It was cancelled."


def _lasting(task: QueuedTask) -> str:
    """How long the present work has lasted, to the second; empty in the first second and at the end."""
    whole_s = int(task.lasting_s or 0)
    minutes, seconds = divmod(whole_s, 60)
    return f"{f'{minutes} min ' if minutes else ''}{seconds} s so far" if whole_s else ""


def _words_and_note(task: QueuedTask, words: str) -> tuple[str, str]:
    """The state in words, and a note. Only a queued task has other words than the given ones."""
    if task.state != TaskState.QUEUED:
        return words, ""
    if task.needs_spark and (missing := missing_tools()) is not None:
        return missing
    before = type(task).objects.filter(state=TaskState.QUEUED, queued_at__lt=task.queued_at).count()
    after_s, untaken = (
        (UNTAKEN_FOR_S, UNTAKEN) if task.needs_spark else (ENGINE_UNTAKEN_FOR_S, UNTAKEN_ENGINE)
    )
    note = untaken if task.waited_s > after_s and not (before and not task.needs_spark) else ""
    return words + (f" {before} queued before it." if before else ""), note
