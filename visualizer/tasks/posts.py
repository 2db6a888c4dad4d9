"""The decorator of every POST about a task: its origin, its body, and how a refusal is answered."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from visualizer.live.origin import may_post
from visualizer.live.wire import Refused, json_object
from visualizer.questions.questions import refusal

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
