"""Requests about tasks: owners, quotas, queueing, the status, and the list of the own ones.

Rules: there are no accounts. A task is the visitor's own when the browser holds its token, a report when it
holds its lab's. Any holder of the link may read it. While a task waits or runs its status says how long its
present work has lasted, so that the page changes every second, whatever Spark counts; the time of a running
one ends with its worker's last sign of life.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

from asgiref.sync import async_to_sync
from django.conf import settings
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from simulator import ENGINE_VERSION
from simulator.experiments import FINISHED
from visualizer.labs.background import CHANGED
from visualizer.labs.clients import client_key
from visualizer.labs.definitions import read_scenario
from visualizer.labs.hub import current_hub
from visualizer.live.sockets import require_own_origin
from visualizer.live.wire import LATEST_US, Refused, json_object
from visualizer.models import Lab, hash_of, new_token
from visualizer.questions.answers import refusal
from visualizer.questions.stories import what_if_key
from visualizer.tasks.files import NO_ROOM
from visualizer.tasks.models import (
    ENGINE_UNTAKEN_FOR_S,
    SPARK_QUEUE,
    UNTAKEN_FOR_S,
    WAITING,
    Audit,
    Experiment,
    QueuedTask,
    Report,
    TaskState,
)
from visualizer.tasks.uploads import store

# --- the decorator of every POST about a task: its origin, its body, and how a refusal is answered


View = Callable[..., HttpResponse]


def posts(example: str) -> Callable[[View], View]:
    """Decorates a view `view(request, given, …)` for a POST of this site's pages or of a script.

    `given` is the JSON object of the body, empty without a body or with a form; `example` is shown where it
    cannot be read. The owner's token may also be in the header X-Lab-Token.
    """

    def wrapped(view: View) -> View:
        @csrf_exempt  # no cookie is used here; the origin and the owner's token are checked instead
        @require_POST
        @wraps(view)
        def posting(request: HttpRequest, **arguments: Any) -> HttpResponse:
            try:
                require_own_origin(request)
                return view(request, _given(request, example), **arguments)
            except Refused as refused:
                return refusal(refused)

        return posting

    return wrapped


def _given(request: HttpRequest, example: str) -> dict[str, Any]:
    if request.content_type == "multipart/form-data":
        return {}
    given = json_object(request.body, example) if request.body else {}
    token = request.headers.get("X-Lab-Token")
    return {**given, "token": token} if token else given


# --- owner, quotas, and the list of the own tasks


LISTED_MOST = 100
"""Most tasks in a visitor's list, the newest ones."""

ASKED_MOST = 500
"""Most tasks that a browser may ask about at once; an address keeps at most 200 of each kind."""

Task = TypeVar("Task", bound=QueuedTask)


def existing(kind: type[Task], pk: str) -> Task:
    """The task. Raises Refused."""
    row: Task | None = kind.objects.filter(pk=pk).first()
    if row is None:
        raise Refused("not-found", f"There is no such {kind.NOUN}.", kind.MISSING_HINT)
    return row


def owned(kind: type[Task], pk: str, given: dict[str, Any]) -> Task:
    """The task, if the request has its owner's token. Raises Refused."""
    row = existing(kind, pk)
    if not row.is_owner(given.get("token")):
        raise Refused("not-owner", *kind.NOT_OWNER)
    return row


def delete_owned(kind: type[QueuedTask], pk: str, given: dict[str, Any]) -> None:
    """Delete a task that has ended, with its files. Raises Refused."""
    row = owned(kind, pk, given)
    kind.give_up_on_the_silent(pk)
    row.refresh_from_db()
    if not row.over:
        raise Refused("not-over", f"This {kind.NOUN} is queued or running.", "Cancel it first.")
    row.delete()


def queue_again(kind: type[QueuedTask], pk: str, given: dict[str, Any]) -> None:
    """Queue a failed or cancelled task again. Raises Refused."""
    row = owned(kind, pk, given)
    if not row.may_retry:
        raise Refused("not-found", "The uploaded files are no longer there.", "Upload them again.")
    check_waiting(kind)
    kind.give_up_on_the_silent(pk)
    if not row.requeue():
        words = f"This {kind.NOUN} was neither cancelled nor did it fail."
        raise Refused("not-over", words, "Wait, or cancel it first.")
    row.enqueue()


def check_quotas(kind: type[QueuedTask], rows: QuerySet[Any] | None = None) -> None:
    """Raise Refused when the site or this client has too many tasks of this kind, or of these `rows`."""
    rows = kind.objects.all() if rows is None else rows
    if rows.count() >= kind.KEPT:
        raise Refused(
            "full",
            f"This site keeps {kind.KEPT:,} {kind.NOUN}s.",
            "Delete those that you no longer need; its operator may delete old ones.",
        )
    own = client_key()
    if own and rows.filter(client=own).count() >= kind.KEPT_OF_CLIENT:
        raise Refused(
            "full",
            f"{kind.KEPT_OF_CLIENT} {kind.NOUN}s from your address are kept.",
            "Delete those that you no longer need.",
        )
    check_waiting(kind, rows)


def check_waiting(kind: type[QueuedTask], rows: QuerySet[Any] | None = None, most: int | None = None) -> None:
    """Raise Refused when this client has too many tasks queued or running, of this kind or these `rows`."""
    rows = kind.objects.all() if rows is None else rows
    most = kind.WAITING_OF_CLIENT if most is None else most
    own = client_key()
    if own and rows.filter(client=own, state__in=WAITING).count() >= most:
        raise Refused(
            "too-many",
            f"{most} {kind.NOUN}s of your address are queued or running already.",
            "Wait for one of them, or cancel one.",
        )


def listed(kind: type[QueuedTask], given: dict[str, Any]) -> dict[str, Any]:
    """List the own tasks: {KINDs: [{id, token}]} → {tasks, gone}, newest first. Raises Refused.

    A task with a wrong token is listed in `gone`, as if it did not exist.
    """
    tokens = _tokens(given.get(f"{kind.NOUN}s"), kind.NOUN)
    found = kind.objects.filter(pk__in=tokens).defer(*kind.UNLISTED)
    own = [row for row in found if row.is_owner(tokens[row.pk])]
    for row in own:
        kind.give_up_on_the_silent(row.pk)
    fresh = kind.objects.filter(pk__in=[row.pk for row in own]).defer(*kind.UNLISTED)
    return {
        "tasks": [
            {
                "id": row.pk,
                "title": row.title,
                "state": row.state,
                "over": row.over,
                "created_at": row.created_at.isoformat(),
                "url": row.url,
                "words": row.words(),
            }
            for row in fresh[:LISTED_MOST]
        ],
        "gone": sorted(set(tokens) - {row.pk for row in own}),
    }


def _tokens(asked: Any, noun: str) -> dict[str, Any]:
    if (
        not isinstance(asked, list)
        or len(asked) > ASKED_MOST
        or not all(isinstance(one, dict) for one in asked)
    ):
        raise Refused(
            "bad-field",
            f"{noun}s is no list that can be taken.",
            f'Give at most {ASKED_MOST} of {{"id", "token"}}.',
        )
    return {str(one.get("id")): one.get("token") for one in asked}


# --- the status of a task


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


def status_of(kind: type[QueuedTask], pk: str) -> dict[str, Any]:
    """The state as JSON. A running task whose worker has died is marked as failed first. Raises Refused."""
    kind.give_up_on_the_silent(pk)
    task = existing(kind, pk)
    words, note = _words_and_note(task)
    return {
        "id": task.pk,
        "state": task.state,
        "over": task.over,
        "cancel_wanted": task.cancel_wanted,
        "words": words,
        "note": note,
        "lasting": _lasting(task),
        "error": task.error,
        "hint": task.hint,
        **task.progress(),
    }


def _lasting(task: QueuedTask) -> str:
    """How long the present work has lasted, to the second; empty in the first second and at the end."""
    whole_s = int(task.lasting_s or 0)
    minutes, seconds = divmod(whole_s, 60)
    return f"{f'{minutes} min ' if minutes else ''}{seconds} s so far" if whole_s else ""


def _words_and_note(task: QueuedTask) -> tuple[str, str]:
    """The state in words, and a note. A queued task says what it waits for."""
    words, spark = task.words(), task.queue == SPARK_QUEUE
    if task.state != TaskState.QUEUED:
        return words, ""
    if spark and (missing := missing_tools()) is not None:
        return missing
    before = type(task).objects.filter(state=TaskState.QUEUED, queued_at__lt=task.queued_at).count()
    after_s, untaken = (UNTAKEN_FOR_S, UNTAKEN) if spark else (ENGINE_UNTAKEN_FOR_S, UNTAKEN_ENGINE)
    note = untaken if task.waited_s > after_s and not (before and not spark) else ""
    return words + (f" {before} queued before it." if before else ""), note


# --- a report of a lab, and the recount of an answer


WAITING_OF_LAB = 3
"""Most reports of one lab that may be queued or running at once."""

RECOUNT_ROWS_MOST = 40_000_000
"""Most rows of all runs of an answer that are counted again: about 500 MB of traces, minutes of Spark."""


def ask_for_report(lab: Lab, body: dict[str, Any], site: str) -> Report:
    """Store and queue a report about the lab's run up to `until_us`, by default the scenario's end.

    Raises Refused. `site` is the address that the page links to, from wherever it is opened. What would have
    helped is taken from the lab's page if it has computed it.
    """
    until_us = body.get("until_us")
    if until_us is not None and (type(until_us) is not int or not 0 < until_us <= LATEST_US):
        raise Refused(
            "bad-argument",
            "until_us is not an instant.",
            "Give microseconds from the start of the run, or leave it out.",
        )
    waiting = lab.reports.filter(state__in=WAITING).count()
    if waiting >= WAITING_OF_LAB:
        raise Refused(
            "too-many",
            f"{waiting} reports of this lab are being made already.",
            "Wait for one of them, or cancel one.",
        )
    check_waiting(Report)
    until_us = until_us or read_scenario(lab.scenario_text, lab.seed).until_us
    report = Report.objects.create(
        client=client_key(),
        lab=lab,
        title=lab.title,
        scenario_text=lab.scenario_text,
        seed=lab.seed,
        commands=lab.command_log,
        until_us=until_us,
        site=site,
        reruns=async_to_sync(_finished_reruns)(lab.pk, lab.command_log, until_us),
    )
    report.enqueue()
    return report


def ask_for_recount(experiment: Experiment, site: str) -> Report:
    """The recount of an answer's runs by Spark: the one that waits, runs or is done, else a new one.

    Raises Refused.
    """
    if not experiment.set_up or experiment.state != TaskState.DONE:
        raise Refused("not-done", "This is no finished answer of My set-up.", "Wait for its last run.")
    if experiment.engine_version != ENGINE_VERSION:
        raise Refused(
            "other-version", "Another version computed this answer.", "Ask again; the runs are then new."
        )
    kept = Report.objects.filter(experiment=experiment, state__in=(*WAITING, TaskState.DONE)).first()
    if kept is not None:
        Report.give_up_on_the_silent(kept.pk)
        kept.refresh_from_db()
        if kept.state != TaskState.FAILED:
            return kept
    runs = [row for row in experiment.results.get("rows", []) if row["point"] == 0]
    rows = sum(row["rows"] for row in runs)
    if rows > RECOUNT_ROWS_MOST:
        words = f"The runs have {rows:,} rows together; at most {RECOUNT_ROWS_MOST:,} are counted again."
        raise Refused("too-large", words, "Open a run as a lab and request its report.")
    check_waiting(Report)
    report = Report.objects.create(
        client=client_key(),
        experiment=experiment,
        title=experiment.title,
        scenario_text=experiment.text,
        seed=0,
        until_us=0,
        site=site,
        reruns=sorted((row for row in runs if row["status"] == FINISHED), key=lambda row: row["run"]),
    )
    report.enqueue()
    return report


async def _finished_reruns(
    lab_id: str, commands: list[dict[str, Any]], until_us: int
) -> list[dict[str, Any]]:
    """The complete outcomes of what would have helped, if this process runs the lab; on its event loop."""
    study = current_hub().background.find(CHANGED, what_if_key(commands, until_us), lab_id)
    return study.runs.outcomes if study is not None and study.state == "done" else []


# --- an experiment, and an audit


def new_experiment(site: str, **columns: Any) -> tuple[Experiment, str]:
    """Store and queue an experiment; returns it with its owner's token."""
    token = new_token()
    row = Experiment.objects.create(client=client_key(), token_hash=hash_of(token), site=site, **columns)
    row.enqueue()
    return row, token


def new_audit(
    files: Iterable[tuple[str, Iterable[bytes]]], format: str, mapping: str, site: str
) -> tuple[Audit, str]:
    """Store the files and queue their audit; returns it with its owner's token. Raises Refused."""
    check_quotas(Audit)
    token = new_token()
    row = Audit(client=client_key(), token_hash=hash_of(token), site=site, format=format, mapping=mapping)
    try:
        row.files = store(row, files)
        row.title = _title([one["name"] for one in row.files])
        row.save(force_insert=True)
    except OSError as error:
        row.remove_files()
        if error.errno not in NO_ROOM:
            raise
        raise Refused(
            "no-room", "There is no room left for the files.", "Tell the site's operator; nothing was stored."
        ) from error
    except BaseException:
        row.remove_files()
        raise
    row.enqueue()
    return row, token


def _title(names: list[str]) -> str:
    if len(names) == 1:
        return names[0]
    return f"{names[0]} and {len(names) - 1} more {'file' if len(names) == 2 else 'files'}"
