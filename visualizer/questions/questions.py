"""JSON answers about a lab: each view checks its arguments and asks the lab, wherever it runs.

Rules: the viewing link is enough. A request that cannot be answered gets {code, error, hint} with a matching
status. The browser may cache only a tile that can never change.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from visualizer.labs.hub import current_hub
from visualizer.live.wire import LATEST_US, Refused
from visualizer.questions.arguments import number_in

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
    """A number of the query string, or the default.

    Its range for a lab is checked with the other arguments (`visualizer.questions.arguments`).
    """
    text = request.GET.get(name, "")
    if not text:
        return default
    number = number_in(text, name)
    if number > highest:
        raise Refused("bad-argument", f"{name} is {number}.", f"Give a whole number from 0 to {highest}.")
    return number


def window_of(request: HttpRequest) -> tuple[int, int]:
    """The window `?from_us=&to_us=`, by default the whole run."""
    from_us, to_us = whole_number(request, "from_us", 0) or 0, whole_number(request, "to_us", LATEST_US) or 0
    if to_us <= from_us:
        raise Refused(
            "bad-argument",
            f"The window ends at {to_us} and begins at {from_us}.",
            "to_us must be later than from_us.",
        )
    return from_us, to_us


@answers
async def rows(request: HttpRequest, lab_id: str) -> HttpResponse:
    return json_answer(
        await current_hub().ask(
            lab_id,
            "rows",
            first=whole_number(request, "first", 0),
            last=whole_number(request, "last", None),
            control=request.GET.get("control", "") not in ("", "0"),
            limit=whole_number(request, "limit", 500),
        )
    )


@answers
async def row(request: HttpRequest, lab_id: str, seq: int) -> HttpResponse:
    return json_answer(await current_hub().ask(lab_id, "row", seq=seq))


@answers
async def events(request: HttpRequest, lab_id: str) -> HttpResponse:
    """Control rows around the instant shown."""
    return json_answer(await current_hub().ask(lab_id, "events"))


@answers
async def cone(request: HttpRequest, lab_id: str) -> HttpResponse:
    """The cone of a row (`?seq=`), a message (`?producer=&number=`) or a marker (`?marker=`)."""
    producer = request.GET.get("producer") or None
    number, seq, one = (whole_number(request, name, None) for name in ("number", "seq", "marker"))
    if sum((seq is not None, one is not None, producer is not None and number is not None)) != 1:
        raise Refused(
            "bad-argument",
            "A cone is asked for without a row, message or marker, or with several.",
            "Give seq, or producer and number, or marker.",
        )
    return json_answer(
        await current_hub().ask(lab_id, "cone", seq=seq, producer=producer, number=number, marker=one)
    )


@answers
async def curve(request: HttpRequest, lab_id: str) -> HttpResponse:
    from_us, to_us = window_of(request)
    return json_answer(await current_hub().ask(lab_id, "curve", from_us=from_us, to_us=to_us))


@answers
async def passages(request: HttpRequest, lab_id: str) -> HttpResponse:
    from_us, to_us = window_of(request)
    return json_answer(await current_hub().ask(lab_id, "passages", from_us=from_us, to_us=to_us))


@answers
async def node_messages(request: HttpRequest, lab_id: str) -> HttpResponse:
    """Messages of `?group=`, and of the sessions in repeated `?client=` (none: all)."""
    clients = request.GET.getlist("client")
    from_us, to_us = window_of(request)
    return json_answer(
        await current_hub().ask(
            lab_id,
            "node-messages",
            group=request.GET.get("group", ""),
            clients=clients,
            from_us=from_us,
            to_us=to_us,
        )
    )


@answers
async def latest(request: HttpRequest, lab_id: str) -> HttpResponse:
    """The latest rows about `?group=&client=&stream=`, from row `?after=` on."""
    about = {name: request.GET.get(name, "") for name in ("group", "client", "stream")}
    return json_answer(
        await current_hub().ask(lab_id, "latest", **about, after=whole_number(request, "after", 0))
    )


@answers
async def landmarks(request: HttpRequest, lab_id: str) -> HttpResponse:
    return json_answer(await current_hub().ask(lab_id, "landmarks"))


@answers
async def marker(request: HttpRequest, lab_id: str, number: int) -> HttpResponse:
    return json_answer(await current_hub().ask(lab_id, "marker", number=number))


@answers
async def summary(request: HttpRequest, lab_id: str) -> HttpResponse:
    return json_answer(await current_hub().ask(lab_id, "summary"))


@answers
async def inputs(request: HttpRequest, lab_id: str) -> HttpResponse:
    return json_answer(await current_hub().ask(lab_id, "inputs"))


@answers
async def admin(request: HttpRequest, lab_id: str, tool: str, cluster: str, topic: str) -> HttpResponse:
    return json_answer(await current_hub().ask(lab_id, "admin", tool=tool, cluster=cluster, topic=topic))


@answers
async def tile(
    request: HttpRequest, lab_id: str, branch: int, cluster: str, topic: str, level: int, index: int
) -> HttpResponse:
    """A tile of a topic's log.

    `?version=` only distinguishes answers in the browser's cache: the page changes it while a tile is not
    full.
    """
    text = await current_hub().ask(
        lab_id, "tile", branch=branch, cluster=cluster, topic=topic, level=level, index=index
    )
    response = json_answer(text)
    if '"full":true' in text:  # names hold no quotes, so this is the field
        response.headers["Cache-Control"] = KEPT_FOR_EVER
    return response


@answers
async def why_duplicates(request: HttpRequest, lab_id: str) -> HttpResponse:
    return json_answer(await current_hub().ask(lab_id, "why-duplicates"))


@answers
async def messages(request: HttpRequest, lab_id: str, failover: int, kind: str) -> HttpResponse:
    """A page of a failover's messages: `?cause=&first=&limit=`."""
    first, limit = whole_number(request, "first", 0), whole_number(request, "limit", 50)
    return json_answer(
        await current_hub().ask(
            lab_id,
            "messages",
            failover=failover,
            kind=kind,
            cause=request.GET.get("cause", ""),
            first=first,
            limit=limit,
        )
    )


@answers
async def story(request: HttpRequest, lab_id: str, failover: int, kind: str) -> HttpResponse:
    """The story of the message at `?place=` of the list, or of `?producer=&number=`."""
    place, number, producer = (
        whole_number(request, "place", None),
        whole_number(request, "number", None),
        request.GET.get("producer") or None,
    )
    if (place is None) == (producer is None or number is None):
        raise Refused(
            "bad-argument",
            "A story is asked for without a message, or with two.",
            "Give place, or producer and number.",
        )
    return json_answer(
        await current_hub().ask(
            lab_id, "story", failover=failover, kind=kind, place=place, producer=producer, number=number
        )
    )


@answers
async def what_if(request: HttpRequest, lab_id: str) -> HttpResponse:
    """The state of "what would have helped".

    The first request starts the runs, and each returns their progress.
    """
    return json_answer(await current_hub().ask(lab_id, "what-if"))


@answers
async def tour(request: HttpRequest, lab_id: str) -> HttpResponse:
    """The lab's tour. The first request starts its run, and each returns its state."""
    return json_answer(await current_hub().ask(lab_id, "tour"))


@answers
async def creation(request: HttpRequest, lab_id: str) -> HttpResponse:
    """Creation of topics; `?of=us/eu/orders` adds the starts of the replicators us -> eu of orders so far."""
    return json_answer(await current_hub().ask(lab_id, "creation", of=request.GET.get("of") or None))


@answers
async def forecast(request: HttpRequest, lab_id: str, subscription: str, topic: str) -> HttpResponse:
    """The forecast and its curve. `?after_us=` omits the points that the page has."""
    return json_answer(
        await current_hub().ask(
            lab_id,
            "forecast",
            subscription=subscription,
            topic=topic,
            after_us=whole_number(request, "after_us", 0) or 0,
        )
    )


@answers
async def brokers(request: HttpRequest, lab_id: str) -> HttpResponse:
    """The load of the declared brokers so far."""
    return json_answer(await current_hub().ask(lab_id, "brokers"))
