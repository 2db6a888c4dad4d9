"""The page that opens a shared run, and a lab's run, scenario and trace as files.

Rules: GET never makes anything. A run's document travels in the fragment of a link, which browsers send to no
server, and then in the body of the POST that makes the lab.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_safe

from simulator import ENGINE_VERSION, ScenarioError
from simulator.headless import trace_files
from visualizer.labs.hub import current_hub
from visualizer.live.sockets import require_own_origin
from visualizer.live.wire import Refused, json_object
from visualizer.models import Lab
from visualizer.pages.views import problems_of
from visualizer.questions.answers import answers, json_answer, refusal
from visualizer.questions.question import ROWS_LIMIT
from visualizer.sharing.run_document import document_of, lab_of

TRACE_ROWS_MAX = 1_000_000
"""Most rows of a downloaded trace, about 150 MB as JSON lines; `simulate --trace` writes longer ones."""


@csrf_exempt  # no cookie is used here; the origin is checked instead
@require_http_methods(["GET", "HEAD", "POST"])
async def shared_run(request: HttpRequest) -> HttpResponse:
    """GET: the page that opens the run of its fragment. POST: a run's document → 201 {id, token, url}."""
    if request.method != "POST":
        return render(request, "visualizer/run.html", {"engine_version": ENGINE_VERSION})
    try:
        require_own_origin(request)
        given = json_object(request.body, '{"format": 1, "scenario": "two-regions", "commands": []}')
        made = await sync_to_async(lab_of)(given)
    except Refused as refused:
        return refusal(refused)
    except ScenarioError as error:
        return JsonResponse(problems_of(error), status=400)
    url = reverse("visualizer:lab", args=[made.lab.pk])
    return JsonResponse({"id": made.lab.pk, "token": made.token, "url": url}, status=201)


@answers
async def run_document(request: HttpRequest, lab_id: str) -> HttpResponse:
    """The run's document, up to the instant shown."""
    return json_answer(json.dumps(await document_of(lab_id), ensure_ascii=False))


@require_safe
def scenario_file(request: HttpRequest, lab_id: str) -> HttpResponse:
    """The lab's scenario as YAML, with the lab's seed."""
    lab = Lab.objects.filter(pk=lab_id).first()
    if lab is None:
        return render(request, "visualizer/no_such_lab.html", status=404)
    return HttpResponse(
        lab.scenario_text,
        content_type="application/yaml; charset=utf-8",
        headers=_download(f"{lab.scenario_name}.yaml"),
    )


@answers
async def trace_file(request: HttpRequest, lab_id: str, kind: str) -> HttpResponseBase:
    """Every row up to the instant shown, as `simulate --trace run.jsonl` or `run.parquet` writes it."""
    parts_of, content_type = TRACE_KINDS[kind]
    head = json.loads(await current_hub().ask(lab_id, "trace-head"))
    if head["rows"] > TRACE_ROWS_MAX:
        raise Refused(
            "too-large",
            f"The run has {head['rows']:,} rows; a download has at most {TRACE_ROWS_MAX:,}.",
            f"Seek to an earlier instant, or write it with: python manage.py simulate … --trace run.{kind}",
        )
    lab = await Lab.objects.aget(pk=lab_id)
    return StreamingHttpResponse(
        await parts_of(lab_id, head),
        content_type=content_type,
        headers=_download(f"{lab.scenario_name}.{kind}"),
    )


async def _json_lines(lab_id: str, head: dict[str, Any]) -> AsyncIterator[bytes]:
    async def lines() -> AsyncIterator[bytes]:
        yield _line({"failover-lab": head})
        async for rows in _rows(lab_id, head):
            yield b"".join(map(_line, rows))

    return lines()


def _line(value: Any) -> bytes:
    return (json.dumps(value, separators=(",", ":")) + "\n").encode()


async def _parquet(lab_id: str, head: dict[str, Any]) -> AsyncIterator[bytes]:
    """Raises Refused while pyarrow, which is installed later than the site's own packages, is missing."""
    try:
        parts = (await asyncio.to_thread(trace_files)).ParquetParts(head)
    except ImportError:
        raise Refused(
            "not-installed",
            "pyarrow, which writes Parquet files, is not installed yet.",
            "Wait until script/server has installed Spark, or download the trace as JSON lines.",
        ) from None

    async def blocks() -> AsyncIterator[bytes]:
        async for rows in _rows(lab_id, head):
            if made := await asyncio.to_thread(parts.add, rows):
                yield made
        yield await asyncio.to_thread(parts.end)

    return blocks()


TRACE_KINDS: dict[str, tuple[Callable[[str, dict[str, Any]], Awaitable[AsyncIterator[bytes]]], str]] = {
    "jsonl": (_json_lines, "application/x-ndjson"),
    "parquet": (_parquet, "application/vnd.apache.parquet"),
}
"""The kinds of trace files by their ending: what makes their parts, and their content type."""


async def _rows(lab_id: str, head: dict[str, Any]) -> AsyncIterator[list[dict[str, Any]]]:
    """All rows of the trace in parts, as long as the lab stays at its instant."""
    first = 0
    while first < head["rows"]:
        last = min(first + ROWS_LIMIT, head["rows"])
        part = json.loads(
            await current_hub().ask(lab_id, "rows", first=first, last=last, control=False, limit=ROWS_LIMIT)
        )
        if part["branch"] != head["branch"] or len(part["rows"]) != last - first:
            # the connection breaks: a browser reports an incomplete download
            raise ConnectionAbortedError(f"lab {lab_id} left the instant whose trace is being downloaded")
        yield part["rows"]
        first = last


def _download(name: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
