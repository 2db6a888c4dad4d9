"""The data of "when did it become inevitable".

Rules: GET starts the re-runs and returns their progress, POST cancels them.
"""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from simulator import Wrong, inevitable
from simulator.inevitable import Asked, Draws
from visualizer.comparisons.inevitable import answer_of, id_of
from visualizer.comparisons.views import run_of
from visualizer.labs.hub import current_hub
from visualizer.live.sockets import may_post
from visualizer.live.wire import Refused
from visualizer.questions.questions import answers, json_answer, refusal, whole_number

PERCENT = 10_000
"""Millionths of a percent, in which the address gives the spread."""


@answers
async def curve(request: HttpRequest, lab_id: str) -> HttpResponse:
    """The curve of a branch: `?branch=&until_us=&failure=&instants=&reruns=&periods=&spread=&arrivals=`.

    `?more_than=` is the number of duplicates. With `?id=` of an earlier answer, the request is refused when
    the run has changed since.
    """
    more_than = whole_number(request, "more_than", None, inevitable.MORE_THAN_MAX)
    branch, asked = await _asked(request, lab_id)
    if request.GET.get("id", "") not in ("", id_of(asked)):
        raise Refused(
            "other-branch", "This run has changed since the re-runs began.", "Run it again from its instants."
        )
    study = current_hub().inevitables.of(asked)
    answer = await sync_to_async(partial(answer_of, study, branch, more_than), thread_sensitive=False)()
    return json_answer(json.dumps(answer, separators=(",", ":")))


@csrf_exempt
@require_POST
async def cancel(request: HttpRequest, lab_id: str) -> HttpResponse:
    """Cancel the re-runs that the same query began: {"cancelled": whether any were running}."""
    if not may_post(request):
        return HttpResponse("This page belongs to another site.", status=403, content_type="text/plain")
    try:
        cancelled = current_hub().inevitables.cancel((await _asked(request, lab_id))[1])
    except Refused as refused:
        return refusal(refused)
    return json_answer(json.dumps({"cancelled": cancelled}))


async def _asked(request: HttpRequest, lab_id: str) -> tuple[int, Asked]:
    """The branch and the question of an address. Raises Refused."""
    numbers: dict[str, Any] = {
        name: whole_number(request, name, default, most)
        for name, default, most in (
            ("failure", 0, inevitable.LARGEST_INTEGER),
            ("instants", inevitable.INSTANTS, inevitable.INSTANTS_MAX),
            ("reruns", inevitable.RERUNS, inevitable.RERUNS_MAX),
            ("periods", inevitable.PERIODS, inevitable.PERIODS_MAX),
        )
    }
    spread = whole_number(request, "spread", inevitable.SPREAD_MILLIONTHS // PERCENT, 90) or 0
    arrivals = request.GET.get("arrivals") or inevitable.POISSON
    _lab, scenario, inputs = await run_of(lab_id, "branches")
    branch = whole_number(request, "branch", inputs["branch"])
    shown = next((one for one in inputs["branches"] if one["number"] == branch), None)
    if shown is None:
        branches = ", ".join(str(one["number"]) for one in inputs["branches"])
        raise Refused("not-found", f"This lab has no branch {branch}.", f"Branches: {branches}.")
    furthest_us = whole_number(request, "until_us", shown["furthest_us"]) or 0
    until_us = max(scenario.until_us, min(furthest_us, shown["furthest_us"]))
    try:
        draws = Draws(spread * PERCENT, arrivals)
        asked = Asked(scenario, scenario.seed, shown["commands"], until_us, **numbers, draws=draws)
    except Wrong as wrong:
        raise Refused("bad-argument", f"{wrong.what}.", str(wrong.right)) from wrong
    return shown["number"], asked
