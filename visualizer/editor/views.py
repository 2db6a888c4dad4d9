"""The editor's page, a text to start from, the schema for completion, and the check of a text.

Rules: nothing is stored. The simulator's loader alone decides what is valid, and its problems are passed on
as they are.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from functools import lru_cache
from typing import Any

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import condition, require_POST, require_safe

from simulator import ENGINE_VERSION, Scenario, ScenarioError, load_scenario_text
from simulator.scenarios.editing import scenario_schema
from visualizer.editor.allowance import Allowance
from visualizer.editor.starts import FIRST, start_of, starts
from visualizer.labs.definitions import YAML_LIMIT
from visualizer.live.origin import may_post
from visualizer.live.wire import Refused, json_object
from visualizer.pages.scenario_reading import read_soon
from visualizer.pages.views import foreign_origin, problems_of
from visualizer.questions.questions import NO_STORE, answers, refusal

ALLOWANCE = Allowance()


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
    if not may_post(request):
        return foreign_origin()
    try:
        text = json_object(request.body, '{"yaml": "format: 1…"}').get("yaml")
        if not isinstance(text, str):
            raise Refused("bad-field", "yaml is not a text.", 'Send {"yaml": "format: 1…"}.')
        if len(text) > YAML_LIMIT:
            raise Refused(
                "bad-field", f"The text has {len(text):,} characters.", f"At most {YAML_LIMIT:,} are taken."
            )
        ALLOWANCE.take(len(text))
        found = await read_soon(load_scenario_text, text)
    except ScenarioError as error:
        answer = {"problems": problems_of(error)["problems"], "count": error.count, "scenario": None}
    except Refused as refused:
        return refusal(refused)
    else:
        answer = {"problems": [], "count": 0, "scenario": _facts(found)}
    return JsonResponse(answer, headers=NO_STORE)


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
