"""The page of a visitor's own set-up, and the loader's result while it is being written.

Rules: the page is a plain GET form, so its address holds the set-up and it works without scripts. Nothing is
stored.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST, require_safe

from simulator.set_ups import FORMS, NAMES, form_of, grouped
from visualizer.live.wire import Refused, json_object
from visualizer.questions.answers import NO_STORE, refusal
from visualizer.setups.question import RUNS, ask, question_of, size_of
from visualizer.setups.reading import described, read_form, read_text, values_from
from visualizer.tasks.requests import posts


@require_safe
def set_up_page(request: HttpRequest) -> HttpResponse:
    values = values_from(request.GET.dict())
    try:
        lines, reading = read_form(values)
    except Refused as refused:
        return refusal(refused)
    form = form_of(values)
    content = {
        "forms": [{"title": one.title, "name": one.name, "chosen": one is form} for one in FORMS],
        "system": "" if form is FORMS[0] else form.name,
        "groups": grouped(form, values, reading.problems),
        "lines": [line.pieces for line in lines],
        "yaml": reading.text,
        "problems": reading.problems,
        "reading": described(reading),
        "runs": RUNS,
    }
    return render(request, "visualizer/set_up.html", content)


@require_safe
def scenario_of_form(request: HttpRequest) -> HttpResponse:
    """The text of the form at the same address: the field of each piece, and every problem at its field."""
    values = values_from(request.GET.dict())
    try:
        lines, reading = read_form(values)
    except Refused as refused:
        return refusal(refused)
    form = form_of(values)
    answer = {
        **described(reading),
        "yaml": reading.text,
        "lines": [line.pieces for line in lines],
        "names": form.names(values),
        "named": {one.name: values[one.name] for one in form.fields if one.choices is NAMES},
        "pairs": [
            {"name": field.name, "between": between, "value": values[field.name], "default": field.default}
            for field, between in form.pairs(values)
        ],
    }
    return JsonResponse(answer, headers=NO_STORE)


@csrf_exempt  # changes nothing; a POST because a text is too long for an address
@require_POST
def scenario_of_text(request: HttpRequest) -> HttpResponse:
    """Check a text: {yaml} → every problem with line and column, or the failure that it plans."""
    try:
        text = json_object(request.body, '{"yaml": "format: 1…"}').get("yaml")
        if not isinstance(text, str):
            raise Refused("bad-field", "yaml is not a text.", 'Send {"yaml": "format: 1…"}.')
        reading = read_text(text)
    except Refused as refused:
        return refusal(refused)
    return JsonResponse(described(reading), headers=NO_STORE)


@posts('{"yaml": "format: 1…"}')
def size_of_answer(request: HttpRequest, given: dict[str, Any]) -> HttpResponse:
    """What the answer takes: {query} or {yaml} → {size: {runs, rows, core_s, …}}, or {size: null, error}.

    A text that is being typed is no failed request, so a problem has the status 200.
    """
    try:
        size = {**size_of(question_of(given)), "cores": settings.ENGINE_PROCESSES}
    except Refused as refused:
        return JsonResponse({"size": None, "error": f"{refused.error} {refused.hint}"}, headers=NO_STORE)
    return JsonResponse({"size": size, "error": ""}, headers=NO_STORE)


@posts('{"yaml": "format: 1…"}')
def answer_of(request: HttpRequest, given: dict[str, Any]) -> HttpResponse:
    """Begin the runs that answer a set-up: {query} or {yaml} → 201 {id, token, url, asked, size}."""
    made = ask(question_of(given), f"{request.scheme}://{request.get_host()}"[:300])
    return JsonResponse(made, status=201, headers=NO_STORE)
