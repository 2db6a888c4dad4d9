"""Requests of the API that no page sends: scenarios, commands to a running lab, its instant.

Rules: commands take the way of those of a page, so they are checked, stored and refused in the same words.
Control needs the owner's token.
"""

from __future__ import annotations

import asyncio
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_safe

from visualizer.api.description import description
from visualizer.labs.definitions import builtin_scenarios
from visualizer.labs.hub import current_hub
from visualizer.live.wire import Refused, checked
from visualizer.pages.gallery import paragraphs
from visualizer.pages.my_labs import owned_lab, posted
from visualizer.questions.answers import NO_STORE

ANSWER_S = 30
"""How long a request waits for the lab, which may have to run to the instant first."""


@require_safe
def scenarios(request: HttpRequest) -> HttpResponse:
    """The built-in scenarios."""
    listed = [
        {
            "name": one.name,
            "title": one.title,
            "family": one.family,
            "about": paragraphs(one.about),
            "watch": one.watch,
            "until_us": one.until_us,
            "seed": one.seed,
        }
        for one in builtin_scenarios()
    ]
    return JsonResponse(listed, safe=False)


@require_safe
def openapi(request: HttpRequest) -> HttpResponse:
    """The description of the API (OpenAPI 3.1)."""
    return JsonResponse(description())


@posted('{"token": "…", "command": {"do": "cluster.crash", "cluster": "us-west"}}')
async def give_command(given: dict[str, Any], lab_id: str) -> HttpResponse:
    """Give a command to a lab: {token, command, at_us, apart} → {at_us, branch}."""
    return await _carried_out("command", given, lab_id)


@posted('{"token": "…", "at_us": 5600000}')
async def seek(given: dict[str, Any], lab_id: str) -> HttpResponse:
    """Run or go back to an instant: {token, at_us} or {token, seq} → {at_us, branch}."""
    return await _carried_out("seek", given, lab_id)


async def _carried_out(kind: str, given: dict[str, Any], lab_id: str) -> HttpResponse:
    await owned_lab(lab_id, given)
    fields = {name: value for name, value in given.items() if name not in ("token", "id")}
    message = {"type": kind, "id": "api", **checked(kind, fields)}
    answer = await _answer_of(lab_id, message)
    if answer["type"] == "error" or not answer["ok"]:
        raise Refused(answer["code"], answer["error"], answer["hint"])
    return JsonResponse({name: answer[name] for name in ("at_us", "branch")}, headers=NO_STORE)


async def _answer_of(lab_id: str, message: dict[str, Any]) -> dict[str, Any]:
    """The lab's answer to an owner's message, wherever the lab runs. Raises Refused."""
    room = await current_hub().room(lab_id)
    if room.failure is not None:
        raise Refused("engine-bug", room.failure["error"], room.failure["hint"])
    future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()

    def reply(answer: dict[str, Any]) -> None:
        if answer["type"] != "notice" and not future.done():  # a notice precedes the answer
            future.set_result(answer)

    room.part.handle(message, reply)
    try:
        async with asyncio.timeout(ANSWER_S):
            return await future
    except TimeoutError:
        raise Refused(
            "no-answer",
            f"The lab has not answered within {ANSWER_S} s.",
            "Read its run.json: the request may still be carried out.",
        ) from None
