"""A visitor's own labs: listing, renaming and deleting them, and copying any lab.

Rules: there are no accounts and no list of labs. A lab is the visitor's own when the browser holds its token.
So the browser sends the ids of its labs with their tokens. Tokens travel in bodies, never in addresses. A
copy needs the viewing link only.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any

from asgiref.sync import sync_to_async
from django.db.models import Count
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from visualizer.labs.definitions import copy_of
from visualizer.labs.hub import current_hub
from visualizer.labs.jobs import FARTHEST_FACTOR, FARTHEST_US
from visualizer.live.sockets import require_own_origin
from visualizer.live.wire import Refused, json_object
from visualizer.models import Lab
from visualizer.questions.answers import NO_STORE, refusal

# --- the decorator of POSTs about a lab, and the check of its owner's token
#
# Rules: tokens travel in bodies, never in addresses. A refusal is answered with its reason.


View = Callable[..., Awaitable[HttpResponse]]


def posted(example: str) -> Callable[[View], Callable[..., Awaitable[HttpResponse]]]:
    """Decorates a view `view(given, …)` for a POST of this site's pages or of a script.

    Refusals are answered with the reason.
    """

    def wrapped(view: View) -> Callable[..., Awaitable[HttpResponse]]:
        @csrf_exempt  # no cookie is used here; the origin and the owner's token are checked instead
        @require_POST
        @wraps(view)
        async def answering(request: HttpRequest, **arguments: Any) -> HttpResponse:
            try:
                require_own_origin(request)
                return await view(json_object(request.body, example), **arguments)
            except Refused as refused:
                return refusal(refused)

        return answering

    return wrapped


def is_owner(lab: Lab, token: Any) -> bool:
    """Whether a request's token, which may be any JSON value, is the owner's."""
    return lab.is_owner(token if isinstance(token, str) else None)


async def owned_lab(lab_id: str, given: dict[str, Any]) -> Lab:
    """The lab, if the request's token is its owner's. Raises Refused."""
    lab = await stored_lab(lab_id)
    if not is_owner(lab, given.get("token")):
        raise Refused(
            "not-owner",
            "Only the lab's owner may do that.",
            "The owner's link holds the token; a copy of the lab is yours to change.",
        )
    return lab


async def stored_lab(lab_id: str) -> Lab:
    """The lab's row. Raises Refused when there is no such lab."""
    lab = await Lab.objects.filter(pk=lab_id).afirst()
    if lab is None:
        raise Refused("not-found", f"There is no lab {lab_id}.", "It may have been deleted.")
    return lab


LABS_REQUESTED_MAX, LABS_LISTED = 1_000, 200
"""Most labs in one request of a browser, and in the answer.

The answer has the most recently used ones, about 5 KB each with pictures.
"""

TITLE_LIMIT = 200
"""Most characters of a title, as in the database."""


@posted('{"labs": [{"id": "…", "token": "…"}]}')
async def listed(given: dict[str, Any]) -> HttpResponse:
    """List labs: {labs: [{id, token}]} → {labs: [fields of each], more, gone: [ids]}.

    A lab with a wrong token is listed in `gone`, as if it did not exist.
    """
    asked = given.get("labs")
    if (
        not isinstance(asked, list)
        or len(asked) > LABS_REQUESTED_MAX
        or not all(isinstance(one, dict) for one in asked)
    ):
        raise Refused(
            "bad-field",
            "labs is no list that can be taken.",
            f'Give at most {LABS_REQUESTED_MAX:,} of {{"id", "token"}}.',
        )
    tokens = {str(one.get("id")): one.get("token") for one in asked}
    await current_hub().keep_positions(tokens)  # so that the list shows each lab's current position
    found = {
        lab.pk: lab
        async for lab in Lab.objects.filter(pk__in=tokens).annotate(command_count=Count("commands"))
    }
    own = [lab for name, lab in found.items() if is_owner(lab, tokens[name])]
    own.sort(key=lambda lab: lab.used_at, reverse=True)
    return JsonResponse(
        {
            "labs": [_shown(lab) for lab in own[:LABS_LISTED]],
            "more": max(0, len(own) - LABS_LISTED),
            "gone": sorted(set(tokens) - {lab.pk for lab in own}),
        },
        headers=NO_STORE,
    )


def _shown(lab: Any) -> dict[str, Any]:
    return {
        "id": lab.pk,
        "url": reverse("visualizer:lab", args=[lab.pk]),
        "title": lab.title,
        "scenario": lab.scenario_name,
        "seed": lab.seed,
        "at_us": lab.position_us,
        "branch": lab.branch,
        "commands": lab.command_count,
        "created_at": lab.created_at.isoformat(),
        "used_at": lab.used_at.isoformat(),
        "failed": lab.state == Lab.State.FAILED,
        "picture": lab.picture,
    }


@posted('{"token": "…", "title": "…"}')
async def rename(given: dict[str, Any], lab_id: str) -> HttpResponse:
    """Rename a lab: {token, title} → {title}."""
    lab = await owned_lab(lab_id, given)
    title = given.get("title")
    title = " ".join(title.split()) if isinstance(title, str) else ""
    if not title or len(title) > TITLE_LIMIT:
        raise Refused("bad-field", "This is no title.", f"Write 1 to {TITLE_LIMIT} characters.")
    lab.title = title
    await lab.asave(update_fields=["title"])
    current_hub().renamed(lab)
    return JsonResponse({"title": title})


@posted('{"token": "…"}')
async def delete(given: dict[str, Any], lab_id: str) -> HttpResponse:
    """Delete the lab, its commands and its reports permanently: {token} → {}."""
    await current_hub().delete(await owned_lab(lab_id, given))
    return JsonResponse({})


@posted('{"at_us": 5600000}')
async def copy(given: dict[str, Any], lab_id: str) -> HttpResponse:
    """Copy a lab: {at_us} → 201 {id, token, url}.

    The copy is the visitor's own, at this instant of the same branch. The default of `at_us` is the last
    stored position.
    """
    await current_hub().keep_positions([lab_id])
    lab = await stored_lab(lab_id)
    at_us = given.get("at_us", lab.position_us)
    farthest_us = max(FARTHEST_US, FARTHEST_FACTOR * lab.furthest_us)
    if type(at_us) is not int or not 0 <= at_us <= farthest_us:
        raise Refused(
            "bad-field",
            "at_us is not an instant that a lab can be at.",
            f"Give a whole number from 0 to {farthest_us}.",
        )
    made = await sync_to_async(copy_of)(lab, at_us)
    return JsonResponse(
        {"id": made.lab.pk, "token": made.token, "url": reverse("visualizer:lab", args=[made.lab.pk])},
        status=201,
    )
