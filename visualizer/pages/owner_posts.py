"""The decorator of POSTs about a lab, and the check of its owner's token.

Rules: tokens travel in bodies, never in addresses. A refusal is answered with its reason.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from visualizer.live.origin import may_post
from visualizer.live.wire import Refused, json_object
from visualizer.models import Lab
from visualizer.questions.questions import refusal

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
            if not may_post(request):
                return JsonResponse(
                    {
                        "code": "foreign-origin",
                        "error": "This page belongs to another site.",
                        "hint": "Do it from the lab's own pages.",
                    },
                    status=403,
                )
            try:
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
