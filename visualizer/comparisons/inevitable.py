"""The data of "when did it become inevitable": re-runs of a lab's run with fresh draws.

Rules: GET starts the re-runs and returns their progress, POST cancels them. The number of duplicates that is
asked for is none of their inputs. Results are sent as they arrive.
"""

from __future__ import annotations

import hashlib
import json
from functools import partial
from typing import Any

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from simulator import ENGINE_VERSION, Wrong, inevitable
from simulator.inevitable import Asked, Draws, Reruns, decided, same_in_all, typical
from visualizer.comparisons.compared import rerun_name
from visualizer.comparisons.views import run_of
from visualizer.labs.background import INEVITABLE, Study
from visualizer.labs.hub import current_hub
from visualizer.live.sockets import require_own_origin
from visualizer.live.wire import Refused
from visualizer.questions.answers import answers, json_answer, refusal, whole_number

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
    study = begun(asked)
    answer = await sync_to_async(partial(answer_of, study, branch, more_than), thread_sensitive=False)()
    return json_answer(json.dumps(answer, separators=(",", ":")))


@csrf_exempt
@require_POST
async def cancel(request: HttpRequest, lab_id: str) -> HttpResponse:
    """Cancel the re-runs that the same query began: {"cancelled": whether any were running}."""
    try:
        require_own_origin(request)
        cancelled = current_hub().background.cancel(INEVITABLE, key_of((await _asked(request, lab_id))[1]))
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


def key_of(asked: Asked) -> str:
    """Identifies a question by its inputs."""
    numbers = [asked.until_us, asked.failure, asked.instants, asked.reruns, asked.periods]
    draws = [asked.draws.spread_millionths, asked.draws.arrivals]
    run = [asked.scenario.canonical_text, asked.seed, asked.commands]
    return json.dumps([ENGINE_VERSION, run, numbers, draws])


def id_of(asked: Asked) -> str:
    """A short name of a question, by which a page notices that the run has changed."""
    return hashlib.sha256(key_of(asked).encode()).hexdigest()[:16]


def begun(asked: Asked) -> Study:
    """The study of a question, started if it is new or was cancelled. Raises Refused."""
    reruns = Reruns(asked)
    return current_hub().background.of(INEVITABLE, key_of(asked), reruns.work, reruns)


def answer_of(study: Study, branch: int, more_than: int | None) -> dict[str, Any]:
    """Progress, and the curve of the re-runs so far; `more_than` None is their typical number.

    Each point has the `key` under which its worst re-run can be opened.
    """
    progress = study.progress()  # before the points, so that they are complete when it says so
    reruns: Reruns = study.found
    draws = reruns.asked.draws
    limit = typical(reruns.points, reruns.asked.reruns) if more_than is None else more_than
    found = inevitable.curve(reruns.points, limit)
    actual, done = reruns.actual, progress["state"] == "done"
    return {
        "id": id_of(reruns.asked),
        **progress,
        "reruns": reruns.asked.reruns,
        "failures": [{"at_us": one.at_us, "label": one.label} for one in reruns.failures],
        "actual": None if actual is None else {"duplicates": actual.duplicates, "lost": actual.lost},
        "more_than": limit,
        "points": [
            {**one, "key": rerun_name(branch, one["at_us"], one["worst"]["number"], draws)} for one in found
        ],
        "decided": {name: decided(found, name) for name in ("more", "loss")} if done else None,
        "same": done and same_in_all(reruns.points),
    }
