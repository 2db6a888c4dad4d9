"""JSON answers of the site: refusals with their status, and the addresses of questions about a lab.

Rules: the viewing link is enough. A request that cannot be answered gets {code, error, hint} with a matching
status. The browser may cache only a tile that can never change.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import path, register_converter
from django.views.decorators.http import require_safe

from visualizer.labs.hub import current_hub
from visualizer.live.wire import LATEST_US, Refused
from visualizer.questions.question import DIGITS, QUESTIONS, Question, number_in

STATUS = {
    "not-owner": 403,
    "foreign-origin": 403,
    "not-found": 404,
    "other-branch": 409,
    "not-over": 409,
    "too-large": 413,
    "wrong-codes": 429,
    "engine-bug": 500,
    "internal-error": 500,
    "busy": 503,
    "too-many": 503,
    "memory": 503,
    "no-answer": 503,
    "no-redis": 503,
    "moved": 503,
    "no-database": 503,
    "not-saved": 503,
    "not-installed": 503,
}
"""HTTP status of a refusal's code. The others have 400."""

NO_STORE = {"Cache-Control": "no-store"}

KEPT_FOR_EVER = "public, max-age=31536000, immutable"


class WholeNumber:
    """Path converter of whole numbers; `visualizer.questions.question` checks their range."""

    regex = f"[0-9]{{1,{DIGITS}}}"
    to_python, to_url = int, str


register_converter(WholeNumber, "whole")

View = Callable[..., Awaitable[HttpResponse]]


RETRY_AFTER_S = 5
"""When a request may be sent again that was answered 503."""


def status_of(refused: Refused) -> int:
    return STATUS.get(refused.code, 400)


def refusal(refused: Refused) -> HttpResponse:
    """The answer to a refused request, with the status of its code."""
    body = {"code": refused.code, "error": refused.error, "hint": refused.hint}
    answer = json_answer(json.dumps(body), status=status_of(refused))
    if answer.status_code == 503:
        answer.headers["Retry-After"] = str(RETRY_AFTER_S)
    return answer


def json_answer(text: str, status: int = 200) -> HttpResponse:
    return HttpResponse(text, status=status, content_type="application/json", headers=NO_STORE)


def answers(view: View) -> View:
    """Decorates a view for GET, whose refusals are answered with the reason."""

    @require_safe
    @wraps(view)
    async def answering(request: HttpRequest, **arguments: Any) -> HttpResponse:
        try:
            return await view(request, **arguments)
        except Refused as refused:
            return refusal(refused)

    return answering


def whole_number(
    request: HttpRequest, name: str, default: int | None, highest: int = LATEST_US
) -> int | None:
    """A number of the query string, or the default."""
    text = request.GET.get(name, "")
    if not text:
        return default
    number = number_in(text, name)
    if number > highest:
        raise Refused("bad-argument", f"{name} is {number}.", f"Give a whole number from 0 to {highest}.")
    return number


def view_of(asked: Question) -> View:
    """The view of a question: reads its arguments and asks the lab."""

    @answers
    async def view(request: HttpRequest, lab_id: str, **in_path: Any) -> HttpResponse:
        text = await current_hub().ask(lab_id, asked.name, **asked.read(request.GET, in_path))
        response = json_answer(text)
        if asked.full and asked.full in text:
            response.headers["Cache-Control"] = KEPT_FOR_EVER
        return response

    return view


PATHS = [
    path(f"labs/<slug:lab_id>/{asked.path}", view_of(asked), name=asked.name)
    for asked in QUESTIONS.values()
    if asked.path
]
"""The addresses of every question."""
