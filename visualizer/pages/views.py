"""The pages of a lab, of a replay and of a visitor's labs, and the POST that makes a lab.

Rules: GET never makes anything. A POST comes from a page of this site or from a script. The owner's token is
shown once, in the answer that makes the lab, and afterwards only travels in a URL's fragment.
"""

from __future__ import annotations

import json
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from simulator import ScenarioError
from visualizer.comparisons.compared import RERUN, run_named
from visualizer.labs.definitions import NewLab, copy_of, new_lab, read_scenario, run_again, variant_of
from visualizer.labs.hub import current_hub
from visualizer.live.sockets import require_own_origin
from visualizer.live.wire import LATEST_US, Refused, json_object, problems_counted
from visualizer.models import Lab
from visualizer.pages.my_labs import LABS_REQUESTED_MAX
from visualizer.pages.scenario_reading import problem_of
from visualizer.questions.answers import refusal
from visualizer.questions.question import number_in


@csrf_exempt  # no cookie is used here; the origin is checked instead
@require_http_methods(["GET", "HEAD", "POST"])
def labs(request: HttpRequest) -> HttpResponse:
    """The page of a visitor's labs. A POST makes a lab.

    Only the browser has the list of its labs, since it holds their tokens.
    """
    return (
        create_lab(request)
        if request.method == "POST"
        else render(request, "visualizer/labs.html", {"asked": LABS_REQUESTED_MAX})
    )


def create_lab(request: HttpRequest) -> HttpResponse:
    """Make a lab: {scenario, yaml or recording, seed} → 201 {id, token, url}.

    A text with errors is answered with status 400 and every problem.
    """
    try:
        require_own_origin(request)
        made = new_lab(_given(request))
    except Refused as refused:
        return refusal(refused)
    except ScenarioError as error:
        return JsonResponse(problems_of(error), status=400)
    if "json" in request.content_type:
        return JsonResponse(
            {"id": made.lab.pk, "token": made.token, "url": reverse("visualizer:lab", args=[made.lab.pk])},
            status=201,
        )
    return to_page(made)


def _given(request: HttpRequest) -> dict[str, Any]:
    """The request's body: a JSON object, or the gallery's plain form when scripts are off."""
    if "json" not in request.content_type:
        given: dict[str, Any] = {
            name: value for name in ("scenario", "yaml", "recording") if (value := request.POST.get(name))
        }
        seed = request.POST.get("seed", "")
        return {**given, "seed": number_in(seed, "seed")} if seed.isascii() and seed.isdigit() else given
    return json_object(request.body, '{"scenario": "two-regions"}')


def problems_of(error: ScenarioError) -> dict[str, Any]:
    """Every problem of a scenario's text, as JSON."""
    return {
        "code": "bad-scenario",
        "error": f"The scenario cannot be used: {problems_counted(error.count)}.\n{error}",
        "hint": "Fix every place named and try again.",
        "problems": [problem_of(problem) for problem in error.problems],
    }


def to_page(made: NewLab) -> HttpResponse:
    """Redirect to a new lab's page, with the owner's token in the fragment."""
    return HttpResponseRedirect(f"{reverse('visualizer:lab', args=[made.lab.pk])}#token={made.token}")


@require_safe
def lab_page(request: HttpRequest, lab_id: str) -> HttpResponse:
    lab = Lab.objects.filter(pk=lab_id).first()
    if lab is None:
        return _no_such_lab(request)
    shown = {
        "id": lab.pk,
        "title": lab.title,
        "scenario": lab.scenario_name,
        "seed": lab.seed,
        "failure": lab.failure,
    }
    api = reverse("visualizer:lab", args=[lab.pk])
    embedded = _is_on(request, "embed")
    parts = [name for name in ("controls", "panel") if embedded and _is_on(request, name)]
    page = render(
        request,
        "visualizer/lab.html",
        {"lab": shown, "socket_path": f"/ws/labs/{lab.pk}/", "api_base": api}
        | {"shared_address": settings.SHARED_ADDRESS}
        | {"embedded": embedded, "frame_parts": "".join(f" with-{name}" for name in parts)},
    )
    # A page of any site may show it (`labsite.middleware`). It has no controls, or those of a copy of its
    # reader (`static/js/pages/share.js`), so that nobody can be made to click on something of value.
    page.embeddable = embedded
    return page


def _is_on(request: HttpRequest, name: str) -> bool:
    return request.GET.get(name, "") not in ("", "0")


@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
def replay(request: HttpRequest, lab_id: str) -> HttpResponse:
    """The link that shows a run again.

    GET shows a page that asks for confirmation. POST makes a new lab with the same scenario, seed and
    commands. With `?at_us=` the lab shows that instant.
    """
    lab = Lab.objects.filter(pk=lab_id).first()
    if lab is None:
        return _no_such_lab(request)
    try:
        if request.method == "POST":
            require_own_origin(request)
        at_us = instant_of(request.GET.get("at_us", "0"))
        if request.method != "POST":
            return render(
                request,
                "visualizer/replay.html",
                {"lab": lab, "commands": lab.commands.count(), "at": f"{at_us / 1e6:.3f}" if at_us else ""},
            )
        return to_page(copy_of(lab, at_us))
    except Refused as refused:
        return refusal(refused)


@csrf_exempt
@require_POST
async def open_variant(request: HttpRequest, lab_id: str) -> HttpResponse:
    """Make a lab with one change, or a re-run, at an instant: {key, at_us} of a plain form → its page."""
    try:
        require_own_origin(request)
        at_us, key = instant_of(request.POST.get("at_us", "0")), request.POST.get("key", "")
        rerun = key.startswith(RERUN)
        inputs = json.loads(await current_hub().ask(lab_id, "branches" if rerun else "inputs"))
        lab = await Lab.objects.aget(pk=lab_id)
        if rerun:
            return to_page(await sync_to_async(_lab_of_rerun)(lab, inputs, key, at_us))
        return to_page(await sync_to_async(variant_of)(lab, inputs["commands"], key, at_us))
    except Refused as refused:
        return refusal(refused)


def _lab_of_rerun(lab: Lab, inputs: dict[str, Any], key: str, at_us: int) -> NewLab:
    """A lab of a re-run with fresh draws. Raises Refused."""
    chosen = run_named(key, read_scenario(lab.scenario_text, lab.seed), inputs)
    return run_again(f"{lab.title}: {chosen.name}", chosen.scenario, chosen.commands, at_us, at_us)


def instant_of(text: str) -> int:
    """An instant in microseconds from an address or a form. Raises Refused."""
    at_us = number_in(text, "at_us")
    if at_us > LATEST_US:
        raise Refused("bad-argument", f"at_us is {at_us}.", f"Give a whole number from 0 to {LATEST_US}.")
    return at_us


def _no_such_lab(request: HttpRequest) -> HttpResponse:
    return render(request, "visualizer/no_such_lab.html", status=404)
