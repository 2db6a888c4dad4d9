"""The editor's page, a text to start from, the schema, the check of a text, and its outcome.

Rules: nothing is stored. The simulator's loader alone decides what is valid, and its problems are passed on
as they are. A text is run for its outcome with bounded rows and time.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import time
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import condition, require_POST, require_safe

from simulator import ENGINE_VERSION, Scenario, ScenarioError, World, load_scenario_text
from simulator.scenarios.editing import scenario_schema
from visualizer.editor.starts import FIRST, start_of, starts
from visualizer.labs.clients import Bound, client
from visualizer.labs.definitions import YAML_LIMIT
from visualizer.live.sockets import require_own_origin
from visualizer.live.wire import Refused, json_object
from visualizer.pages.pictures import OUTCOME, ROWS
from visualizer.pages.scenario_reading import let_text_go_first, read_soon, run_soon
from visualizer.pages.views import problems_of
from visualizer.questions.answers import NO_STORE, answers, refusal

CHECKS_PER_MINUTE = 1_200
"""Checks of one address in a minute: a class of 60 in one building, each every three seconds."""

CHARACTERS_PER_CHECK = 4_096
"""Each further 4,096 characters of a text count as another check. Most scenarios have fewer."""

ADDRESSES_KEPT = 10_000
"""Addresses whose allowance is kept in one process, about 100 bytes each."""


class Allowance:
    """A bucket of checks for each address; the least recently used one is dropped when they are too many.

    Rules: the allowance refills evenly. The clock is passed in, so tests use their own. Addresses whose
    allowance is full again are forgotten.
    """

    def __init__(
        self,
        most: int = CHECKS_PER_MINUTE,
        clock_s: Callable[[], float] = time.monotonic,
        kept: int = ADDRESSES_KEPT,
        what: str = "checks",
    ) -> None:
        self._most, self._clock_s, self._kept, self._what = most, clock_s, kept, what
        self._bounds: dict[str, Bound] = {}

    def take(self, characters: int) -> None:
        """Count one check of a text for the current address. Raises Refused when none is left."""
        name = client.get()
        if not name:
            return
        now_s = self._clock_s()
        bound = self._bounds.pop(name, None) or Bound(self._most, self._most / 60, now_s)
        self._bounds[name] = bound  # behind those used before
        if len(self._bounds) > self._kept:
            del self._bounds[next(iter(self._bounds))]
        if not bound.take(now_s, 1 + characters // CHARACTERS_PER_CHECK):
            raise Refused(
                "too-many",
                f"{self._most:,} {self._what} of scenarios were requested from your address within a minute.",
                "Wait a few seconds; the text is not lost.",
            )

    def __len__(self) -> int:
        return len(self._bounds)


ALLOWANCE = Allowance()

OUTCOMES_PER_MINUTE = 120
"""Outcomes of one address in a minute, each about `RUN_S` at most; they let texts go first."""

OUTCOME_ALLOWANCE = Allowance(OUTCOMES_PER_MINUTE, what="outcomes")

RUN_S = 3.0
"""The longest time that a text is run for its outcome. Every built-in scenario takes less, most 0.3 s."""

RUN_EVENTS = 500
"""Events of a run in a part, after which a waiting text is read: some ms, and a count of 60 ms at its end."""


@require_safe
def editor_page(request: HttpRequest) -> HttpResponse:
    """The page with the text of `?start=`; without scripts it is a form with a plain text field."""
    name = request.GET.get("start", "")
    try:
        start = start_of(name or FIRST)
    except Refused as refused:
        return render(request, "visualizer/no_such_start.html", {"refused": refused}, status=404)
    content = {
        "start": start,
        "asked": bool(name),
        "groups": starts(),
        "limit": YAML_LIMIT,
        "engine_version": ENGINE_VERSION,
    }
    return render(request, "visualizer/editor.html", content)


@answers
async def start_text(request: HttpRequest) -> HttpResponse:
    """The text of a start: `?start=scenario/NAME` → {start, title, text}."""
    start = await sync_to_async(start_of)(request.GET.get("start", ""))
    return JsonResponse(start.as_json(), headers=NO_STORE)


@lru_cache(maxsize=1)
def _schema() -> tuple[bytes, str]:
    """The compressed schema, from which the editor completes, and its ETag."""
    body = json.dumps(scenario_schema(), separators=(",", ":"), ensure_ascii=False).encode()
    return gzip.compress(body, mtime=0), f'W/"{hashlib.sha256(body).hexdigest()[:32]}"'


@require_safe
@condition(etag_func=lambda _request: _schema()[1])
def schema(request: HttpRequest) -> HttpResponse:
    """The JSON Schema of scenarios with the editor's annotations."""
    compressed = "gzip" in request.headers.get("Accept-Encoding", "")
    response = HttpResponse(
        _schema()[0] if compressed else gzip.decompress(_schema()[0]),
        content_type="application/schema+json",
        headers={"Cache-Control": "no-cache", "Vary": "Accept-Encoding"},
    )
    if compressed:
        response.headers["Content-Encoding"] = "gzip"
    return response


@csrf_exempt  # changes nothing; a POST because a text is too long for an address
@require_POST
async def check(request: HttpRequest) -> HttpResponse:
    """Check a text: {yaml} → {problems, count, scenario}, where scenario is null when there are problems."""
    try:
        require_own_origin(request)
        found = await read_soon(load_scenario_text, _text_of(request, ALLOWANCE))
    except ScenarioError as error:
        answer = {"problems": problems_of(error)["problems"], "count": error.count, "scenario": None}
    except Refused as refused:
        return refusal(refused)
    else:
        answer = {"problems": [], "count": 0, "scenario": _facts(found)}
    return JsonResponse(answer, headers=NO_STORE)


@csrf_exempt
@require_POST
async def outcome(request: HttpRequest) -> HttpResponse:
    """Run a text: {yaml} → {picture, failovers, unavailable}, the picture and figures of its run.

    `unavailable` says why there are none. A text with problems is answered with status 400 and all of them.
    """
    try:
        require_own_origin(request)
        scenario = await read_soon(load_scenario_text, _text_of(request, OUTCOME_ALLOWANCE))
        answer = await run_soon(_outcome, scenario)
    except ScenarioError as error:
        return JsonResponse(problems_of(error), status=400)
    except Refused as refused:
        return refusal(refused)
    return JsonResponse(answer, headers=NO_STORE)


def _text_of(request: HttpRequest, allowance: Allowance) -> str:
    """The text of a request's body, taken from the allowance. Raises Refused."""
    text = json_object(request.body, '{"yaml": "format: 1…"}').get("yaml")
    if not isinstance(text, str):
        raise Refused("bad-field", "yaml is not a text.", 'Send {"yaml": "format: 1…"}.')
    if len(text) > YAML_LIMIT:
        raise Refused(
            "bad-field", f"The text has {len(text):,} characters.", f"At most {YAML_LIMIT:,} are taken."
        )
    allowance.take(len(text))
    return text


class _Run(World):
    """A run that lets the texts of other visitors go first, and knows how long it took without them."""

    took_s = 0.0

    def advance(
        self, until_us: int, events: int = RUN_EVENTS, pause: Callable[[], bool] | None = None
    ) -> bool:
        let_text_go_first()
        begin_s = time.monotonic()
        more = super().advance(until_us, min(events, RUN_EVENTS), pause)
        self.took_s += time.monotonic() - begin_s
        return more


def _outcome(scenario: Scenario) -> dict[str, Any]:
    world = _Run(scenario, rows_max=ROWS)
    while world.advance(scenario.until_us):
        if world.took_s > RUN_S:
            return {"unavailable": f"The run takes more than {RUN_S:.0f} s."}
    if world.limit_reached:
        return {"unavailable": f"The run has more than {ROWS:,} events."}
    failovers = [{name: one[name] for name in OUTCOME} for one in world.failovers()]
    drawn = _Run(scenario, rows_max=ROWS)
    return {"picture": drawn.protocol.pictures.telling(drawn), "failovers": failovers}


def _facts(scenario: Scenario) -> dict[str, Any]:
    """What the page shows of a text without problems."""
    return {
        "name": scenario.name,
        "title": scenario.title,
        "family": scenario.family,
        "seed": scenario.seed,
        "until_us": scenario.until_us,
        "commands": len(scenario.commands),
    }
