"""The page of a comparison and its data: of a built-in scenario, a lab's run or a recorded run.

Rules: GET only. The page's address identifies the comparison, so nothing is stored.
"""

from __future__ import annotations

import json
from typing import Any

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST, require_safe

from simulator import recordings, scenario_names
from simulator.what_if import looks
from visualizer.comparisons.compared import (
    SIDES,
    STRATEGY_COLUMNS,
    Columns,
    Comparison,
    Pair,
    pair_of_set_ups,
    recorded_columns,
    run_named,
    set_up_of,
)
from visualizer.labs.background import COMPARED
from visualizer.labs.definitions import SEED_LIMIT, builtin_scenario, read_scenario, scenario_of
from visualizer.labs.hub import current_hub
from visualizer.live.wire import Refused, json_object
from visualizer.models import Lab
from visualizer.questions.answers import answers, json_answer, refusal, whole_number


@require_safe
def comparison_page(request: HttpRequest, name: str) -> HttpResponse:
    """The comparison page of a built-in scenario.

    `?seed=` is a seed other than the scenario's.
    """
    try:
        scenario = _builtin(name, whole_number(request, "seed", None, SEED_LIMIT))
    except Refused as refused:
        return refusal(refused)
    data = reverse("visualizer:comparison-data", args=[name])
    command = f"python manage.py simulate {name} --compare --seed {scenario.seed}"
    shown = _described(scenario.title, scenario, f"{data}?seed={scenario.seed}", STRATEGY_COLUMNS)
    return _page(request, {**shown, **_OF_STRATEGIES, "command": command})


@require_safe
def lab_comparison_page(request: HttpRequest, lab_id: str) -> HttpResponse:
    """The comparison page of a lab's run, with every command given by hand."""
    lab = Lab.objects.filter(pk=lab_id).first()
    if lab is None:
        return render(request, "visualizer/no_such_lab.html", status=404)
    scenario = read_scenario(lab.scenario_text, lab.seed)
    if scenario.recording:
        return refusal(_not_compared())
    data = reverse("visualizer:lab-comparison-data", args=[lab_id])
    shown = _described(lab.title, scenario, data, STRATEGY_COLUMNS)
    command = f"python manage.py simulate {scenario.name} --compare"
    opened = reverse("visualizer:lab", args=[lab_id])
    return _page(request, {**shown, **_OF_STRATEGIES, "command": command, "lab": opened})


@require_safe
def recorded_comparison_page(request: HttpRequest, digest: str) -> HttpResponse:
    """The page of a run on real brokers beside its simulated twin."""
    try:
        recorded = _recorded(digest)
        twin = recordings.simulated_twin(recorded)
    except Refused as refused:
        return refusal(refused)
    data = reverse("visualizer:recorded-comparison-data", args=[digest])
    shown = _described(twin.title, twin, data, recorded_columns(recorded))
    return _page(request, {**shown, **_OF_RECORDING})


_OF_STRATEGIES = {
    "kind": "three strategies",
    "heading": "The same run, under three strategies",
    "begins": "Running it three times…",
    "requests": True,
}
_OF_RECORDING = {
    "kind": "real and simulated",
    "heading": "The same run, on real brokers and simulated",
    "begins": "Playing the recording and simulating it…",
}


def _described(title: str, scenario: Any, data: str, columns: Columns) -> dict[str, Any]:
    """What every comparison's page shows."""
    return {
        "title": title,
        "watch": scenario.watch,
        "seed": scenario.seed,
        "data": data,
        "columns": columns,
    }


def _page(request: HttpRequest, shown: dict[str, Any]) -> HttpResponse:
    return render(request, "visualizer/comparison.html", shown)


@answers
async def comparison(request: HttpRequest, name: str) -> HttpResponse:
    """Start the runs at the first request and return their progress.

    When all runs are done, the answer contains the columns.
    """
    scenario = await sync_to_async(_builtin, thread_sensitive=False)(
        name, whole_number(request, "seed", None, SEED_LIMIT)
    )
    return await _answer(Comparison(scenario.title, scenario, scenario.seed, [], scenario.until_us))


@answers
async def lab_comparison(request: HttpRequest, lab_id: str) -> HttpResponse:
    lab, scenario, inputs = await run_of(lab_id, "inputs")
    return await _answer(
        Comparison(
            lab.title, scenario, scenario.seed, inputs["commands"], max(scenario.until_us, inputs["until_us"])
        )
    )


@require_safe
def pair_page(request: HttpRequest, lab_id: str) -> HttpResponse:
    """The page of two runs of a lab on one clock: `?left=branch-0&right=branch-1`."""
    lab = Lab.objects.filter(pk=lab_id).first()
    if lab is None:
        return render(request, "visualizer/no_such_lab.html", status=404)
    return render(request, "visualizer/pair.html", {"lab": lab})


@answers
async def pair(request: HttpRequest, lab_id: str) -> HttpResponse:
    """Two runs of a lab: their documents and progress; when both have run, figures and differences."""
    lab, scenario, inputs = await run_of(lab_id, "branches")
    names = [request.GET.get(side, "")[:100] for side in ("left", "right")]
    left, right = [
        await sync_to_async(run_named, thread_sensitive=False)(name, scenario, inputs) for name in names
    ]
    until_us = max(scenario.until_us, *(one["furthest_us"] for one in inputs["branches"]))
    return await _beside(Pair(lab.title, scenario.seed, until_us, left, right))


@require_safe
def set_ups_page(request: HttpRequest) -> HttpResponse:
    """The page of two set-ups on one clock; their texts are in the fragment of the address."""
    return render(request, "visualizer/pair.html")


@csrf_exempt  # changes nothing; a POST because texts are too long for an address
@require_POST
async def set_ups(request: HttpRequest) -> HttpResponse:
    """Two set-ups, {left, right}, each a scenario's text: as `pair`."""
    try:
        given = json_object(request.body, '{"left": "format: 1…", "right": "format: 1…"}')
        read = [
            await sync_to_async(set_up_of, thread_sensitive=False)(side, given.get(side)) for side in SIDES
        ]
        return await _beside(pair_of_set_ups(*read))
    except Refused as refused:
        return refusal(refused)


async def _beside(asked: Pair) -> HttpResponse:
    """Documents and progress of two runs; when both have run, figures and differences."""
    hub = current_hub()
    await hub.start()
    study = hub.background.of(COMPARED, asked.key, asked.work)
    table = looks(asked.left.scenario)
    answer = {**study.progress(), **asked.documents(), "until_us": asked.until_us, "table": table}
    if study.state == "done":
        first, second = study.runs.outcomes
        answer |= {
            "cases": [first["cases"], second["cases"]],
            "rows": [first["rows"], second["rows"]],
            "differences": second["differences"],
        }
    return json_answer(
        await sync_to_async(lambda: json.dumps(answer, separators=(",", ":")), thread_sensitive=False)()
    )


@answers
async def recorded_comparison(request: HttpRequest, digest: str) -> HttpResponse:
    """The columns of a recorded run and its twin, as `comparison`."""
    recorded = await sync_to_async(_recorded, thread_sensitive=False)(digest)
    twin = await sync_to_async(recordings.simulated_twin, thread_sensitive=False)(recorded)
    return await _answer(Comparison(twin.title, twin, twin.seed, [], twin.until_us, recorded))


async def run_of(lab_id: str, question: str) -> tuple[Lab, Any, dict[str, Any]]:
    """A lab, its scenario, and the inputs of its run as the answer to a question. Raises Refused."""
    inputs = json.loads(await current_hub().ask(lab_id, question))
    lab = await Lab.objects.aget(pk=lab_id)
    scenario = await scenario_of(lab.scenario_text, lab.seed)
    if scenario.recording:
        raise _not_compared()
    return lab, scenario, inputs


def _recorded(digest: str) -> recordings.RecordedFile:
    found = [one for one in recordings.listed() if getattr(one, "digest", None) == digest]
    if not found or not isinstance(found[0], recordings.RecordedFile):
        raise Refused(
            "not-found",
            f"The server has no recording {digest[:70]!r}.",
            "The gallery lists its recordings under Recorded on real brokers.",
        )
    return found[0]


def _not_compared() -> Refused:
    return Refused(
        "not-offered",
        "This run was recorded on real brokers: it cannot be run again under another strategy.",
        "Open the scenario itself and compare there.",
    )


async def _answer(comparison: Comparison) -> HttpResponse:
    hub = current_hub()
    await hub.start()
    study = hub.background.of(COMPARED, comparison.key, comparison.work)
    answer = study.progress()
    if study.state == "done":
        columns = comparison.columns
        answer["columns"] = [{**columns[found["strategy"]], **found} for found in study.runs.outcomes]
    return json_answer(
        await sync_to_async(lambda: json.dumps(answer, separators=(",", ":")), thread_sensitive=False)()
    )


def _builtin(name: str, seed: int | None) -> Any:
    if name not in scenario_names():
        raise Refused(
            "not-found",
            f"There is no built-in scenario {name[:60]!r}.",
            "The gallery's cards show the names.",
        )
    return builtin_scenario(name, seed)
