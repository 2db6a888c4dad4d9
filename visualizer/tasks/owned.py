"""Tasks that belong to a visitor: the owner's check, quotas, deletion, and the list of the own ones.

Rules: there are no accounts. A task is the visitor's own when the browser holds its token. Any holder of the
link may read it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from visualizer.labs.clients import client_key
from visualizer.live.sockets import may_post
from visualizer.live.wire import Refused, json_object
from visualizer.questions.questions import refusal
from visualizer.tasks.models import WAITING, OwnedTask

# --- the decorator of every POST about a task: its origin, its body, and how a refusal is answered


View = Callable[..., HttpResponse]


def posts(example: str) -> Callable[[View], View]:
    """Decorates a view `view(request, given, …)` for a POST of this site's pages or of a script.

    `given` is the JSON object of the body, empty without a body or with a form; `example` is shown where it
    cannot be read.
    """

    def wrapped(view: View) -> View:
        @csrf_exempt  # no cookie is used here; the origin and the owner's token are checked instead
        @require_POST
        @wraps(view)
        def posting(request: HttpRequest, **arguments: Any) -> HttpResponse:
            try:
                check_origin(request)
                return view(request, _given(request, example), **arguments)
            except Refused as refused:
                return refusal(refused)

        return posting

    return wrapped


def check_origin(request: HttpRequest) -> None:
    """Raise Refused for a POST of another site's page."""
    if not may_post(request):
        raise Refused("foreign-origin", "This page belongs to another site.", "Use this site's own pages.")


def _given(request: HttpRequest, example: str) -> dict[str, Any]:
    if request.content_type == "multipart/form-data":
        return {}
    return json_object(request.body, example) if request.body else {}


LISTED_MOST = 100
"""Most tasks in a visitor's list, the newest ones."""

ASKED_MOST = 500
"""Most tasks that a browser may ask about at once; an address keeps at most 200 of each kind."""

Task = TypeVar("Task", bound=OwnedTask)


@dataclass(frozen=True, slots=True)
class Quotas:
    """Most rows of a kind of task: on the site, of one address, and of one address queued or running."""

    kept: int
    kept_of_client: int
    waiting_of_client: int


def owned(kind: type[Task], pk: str, given: dict[str, Any]) -> Task:
    """The task, if the request has its owner's token. Raises Refused."""
    row: Task | None = kind.objects.filter(pk=pk).first()
    if row is None:
        raise Refused("not-found", f"There is no such {kind.NOUN}.", "It may have been deleted.")
    if not row.is_owner(given.get("token")):
        raise Refused(
            "not-owner",
            f"Only who started this {kind.NOUN} can do that.",
            f"Start an {kind.NOUN} of your own.",
        )
    return row


def delete_owned(kind: type[OwnedTask], pk: str, given: dict[str, Any]) -> None:
    """Delete a task that has ended, with its files. Raises Refused."""
    row = owned(kind, pk, given)
    kind.give_up_on_the_silent(pk)
    row.refresh_from_db()
    if not row.over:
        raise Refused("not-over", f"This {kind.NOUN} is queued or running.", "Cancel it first.")
    row.delete()


def queue_again(kind: type[Task], pk: str, given: dict[str, Any], quotas: Quotas) -> None:
    """Queue a failed or cancelled task again. Raises Refused."""
    row = owned(kind, pk, given)
    check_waiting(kind, quotas)
    kind.give_up_on_the_silent(pk)
    if not row.requeue():
        words = f"This {kind.NOUN} was neither cancelled nor did it fail."
        raise Refused("not-over", words, "Wait, or cancel it first.")
    row.enqueue()


def check_quotas(kind: type[OwnedTask], quotas: Quotas, rows: QuerySet[Any] | None = None) -> None:
    """Raise Refused when the site or this client has too many tasks of this kind, or of these `rows`."""
    rows = kind.objects.all() if rows is None else rows
    if rows.count() >= quotas.kept:
        raise Refused(
            "full",
            f"This site keeps {quotas.kept:,} {kind.NOUN}s.",
            "Delete those that you no longer need; its operator may delete old ones.",
        )
    own = client_key()
    if own and rows.filter(client=own).count() >= quotas.kept_of_client:
        raise Refused(
            "full",
            f"{quotas.kept_of_client} {kind.NOUN}s from your address are kept.",
            "Delete those that you no longer need.",
        )
    check_waiting(kind, quotas, rows)


def check_waiting(kind: type[OwnedTask], quotas: Quotas, rows: QuerySet[Any] | None = None) -> None:
    """Raise Refused when this client has too many tasks queued or running."""
    rows = kind.objects.all() if rows is None else rows
    own = client_key()
    waiting = rows.filter(client=own, state__in=WAITING).count() if own else 0
    if waiting >= quotas.waiting_of_client:
        raise Refused(
            "too-many",
            f"{quotas.waiting_of_client} {kind.NOUN}s of your address are queued or running already.",
            "Wait for one of them, or cancel one.",
        )


def listed(
    kind: type[Task],
    given: dict[str, Any],
    described: Callable[[Task], dict[str, Any]],
    unneeded: tuple[str, ...],
) -> dict[str, Any]:
    """List the own tasks: {KINDs: [{id, token}]} → {tasks, gone}, newest first. Raises Refused.

    A task with a wrong token is listed in `gone`, as if it did not exist. Columns `unneeded` are not read.
    """
    tokens = _tokens(given.get(f"{kind.NOUN}s"), kind.NOUN)
    found = kind.objects.filter(pk__in=tokens).defer(*unneeded)
    own = [row for row in found if row.is_owner(tokens[row.pk])]
    for row in own:
        kind.give_up_on_the_silent(row.pk)
    fresh = kind.objects.filter(pk__in=[row.pk for row in own]).defer(*unneeded)
    return {
        "tasks": [
            {
                "id": row.pk,
                "title": row.title,
                "state": row.state,
                "over": row.over,
                "created_at": row.created_at.isoformat(),
                **described(row),
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
