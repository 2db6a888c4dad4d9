"""Pages and answers about experiments.

Rules: GET never makes anything. A POST comes from a page of this site or from a script; what changes an
experiment has its owner's token. Refusals are {code, error, hint} with a matching status.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_safe

from simulator import ScenarioError
from visualizer.experiments.files import DOWNLOADS, TEXT
from visualizer.experiments.form import checked, choices
from visualizer.experiments.models import Experiment
from visualizer.experiments.reading import RUNS_MOST, experiment_of
from visualizer.experiments.requests import described, new_experiment, quotas, status_of
from visualizer.experiments.runs import run_number, scenario_of_run
from visualizer.labs.definitions import new_lab
from visualizer.live.sockets import may_post
from visualizer.live.wire import Refused, problems_counted
from visualizer.pages.views import instant_of, to_page
from visualizer.questions.questions import NO_STORE, refusal
from visualizer.tasks.files import download_of, page_of
from visualizer.tasks.owned import delete_owned, listed, owned, posts, queue_again


@csrf_exempt  # a POST is checked by `create`
@require_http_methods(["GET", "HEAD", "POST"])
def experiments(request: HttpRequest) -> HttpResponse:
    """The page with the form and the visitor's experiments; a POST makes an experiment."""
    if request.method == "POST":
        return create(request)
    begun = Experiment.objects.filter(pk=request.GET.get("from", "")).first()
    text = "" if begun is None else begun.text
    shown = {"bases": choices(), "text": text, "runs_most": RUNS_MOST}
    return render(request, "experiments/experiments.html", shown)


@posts('{"yaml": "format: 1…"}')
def create(request: HttpRequest, given: dict[str, Any]) -> HttpResponse:
    """Make an experiment: {yaml} → 201 {id, token, url}, or 400 with every problem."""
    text = given.get("yaml")
    if not isinstance(text, str):
        raise Refused("bad-field", "yaml is not a text.", 'Send {"yaml": "format: 1…"}.')
    made = new_experiment(text, f"{request.scheme}://{request.get_host()}"[:300])
    if made.row is None:
        problems = list(made.reading.problems)
        answer = {
            "code": "bad-experiment",
            "error": f"The experiment cannot be used: {problems_counted(len(problems))}.",
            "hint": "Fix every place named and try again.",
            "problems": problems,
        }
        return JsonResponse(answer, status=400)
    url = reverse("experiments:experiment", args=[made.row.pk])
    return JsonResponse({"id": made.row.pk, "token": made.token, "url": url}, status=201)


@posts('{"way": "parameter", "base": {"kind": "set-up"}}')
def check(request: HttpRequest, given: dict[str, Any]) -> HttpResponse:
    """Read the form: its text as YAML, every problem, the number of runs and the estimated time."""
    return JsonResponse(checked(given), headers=NO_STORE)


@posts('{"experiments": [{"id": "…", "token": "…"}]}')
def mine(request: HttpRequest, given: dict[str, Any]) -> HttpResponse:
    """List the visitor's own experiments: {experiments: [{id, token}]} → {tasks, gone}."""
    return JsonResponse(listed(Experiment, given, described, ("text", "results")), headers=NO_STORE)


@posts('{"token": "…"}')
def cancel(request: HttpRequest, given: dict[str, Any], experiment_id: str) -> HttpResponse:
    """Ask the worker to stop, and return the status."""
    owned(Experiment, experiment_id, given).ask_to_cancel()
    return JsonResponse(status_of(experiment_id))


@posts('{"token": "…"}')
def again(request: HttpRequest, given: dict[str, Any], experiment_id: str) -> HttpResponse:
    """Queue a failed or cancelled experiment again for its missing runs, and return the status."""
    queue_again(Experiment, experiment_id, given, quotas())
    return JsonResponse(status_of(experiment_id))


@posts('{"token": "…"}')
def delete(request: HttpRequest, given: dict[str, Any], experiment_id: str) -> HttpResponse:
    """Delete an experiment that has ended, with its files: {token} → {}."""
    delete_owned(Experiment, experiment_id, given)
    return JsonResponse({})


@require_safe
def experiment_page(request: HttpRequest, experiment_id: str) -> HttpResponse:
    """The experiment's page: progress, the results so far, and its files."""
    row = Experiment.objects.filter(pk=experiment_id).first()
    if row is None:
        return render(request, "experiments/no_such_experiment.html", status=404)
    status = status_of(experiment_id)
    shown = {"experiment": row, "status": status, "downloads": DOWNLOADS}
    return render(request, "experiments/experiment.html", shown)


@require_safe
def status(request: HttpRequest, experiment_id: str) -> HttpResponse:
    """The experiment's state; results only if more is finished than the `?have=` of the page.

    `have` in the answer counts the finished runs, and the changed ones of what would have helped.
    """
    if not Experiment.objects.filter(pk=experiment_id).exists():
        return refusal(Refused("not-found", "There is no such experiment.", "It may have been deleted."))
    have = request.GET.get("have", "")
    found = status_of(experiment_id)
    results = found["results"]
    found["have"] = results.get("runs", 0) + results.get("what_if", {}).get("finished", 0)
    if results and have.isascii() and have.isdigit() and len(have) < 10 and int(have) == found["have"]:
        del found["results"]
    return JsonResponse(found, headers=NO_STORE)


@csrf_exempt  # no cookie is used here; the origin is checked instead
@require_http_methods(["GET", "HEAD", "POST"])
def run(request: HttpRequest, experiment_id: str, number: str) -> HttpResponse:
    """One run: GET asks for confirmation, POST makes a lab of it at `?at_us=` or its first fault."""
    row = Experiment.objects.filter(pk=experiment_id).first()
    if row is None:
        return render(request, "experiments/no_such_experiment.html", status=404)
    if request.method == "POST" and not may_post(request):
        return HttpResponse("This page belongs to another site.", status=403, content_type="text/plain")
    try:
        experiment = experiment_of(row.text)
        wanted = run_number(experiment, number)
        scenario, fault_us = scenario_of_run(experiment, wanted)
        at_us = instant_of(request.GET["at_us"]) if "at_us" in request.GET else fault_us
        if request.method == "POST":
            yaml = scenario.canonical_text
            return to_page(new_lab({"yaml": yaml, "at_us": min(at_us, scenario.until_us)}))
        shown = {"experiment": row, "number": wanted, "scenario": scenario, "at": f"{at_us / 1e6:.3f}"}
        return render(request, "experiments/run.html", shown)
    except Refused as refused:
        return refusal(refused)
    except ScenarioError as error:
        words = f"The experiment cannot be read by this version: {error}"
        return refusal(Refused("bad-experiment", words, "Run its YAML as a new experiment."))


@require_safe
def document(request: HttpRequest, experiment_id: str) -> HttpResponse:
    """The report as the page shows it, under its own content security policy."""
    return page_of(_folder(experiment_id), DOWNLOADS)


@require_safe
def download(request: HttpRequest, experiment_id: str, kind: str) -> HttpResponse:
    """One of the experiment's files as a download; `yaml` is its own text."""
    row = Experiment.objects.filter(pk=experiment_id).first()
    if kind == "yaml" and row is not None:
        attached = {"Content-Disposition": f'attachment; filename="{TEXT}"'}
        return HttpResponse(row.text, content_type="application/yaml; charset=utf-8", headers=attached)
    return download_of(_folder(experiment_id), DOWNLOADS, kind, f"experiment-{experiment_id}")


def _folder(experiment_id: str) -> Path | None:
    row = Experiment.objects.filter(pk=experiment_id).first()
    return None if row is None else row.folder
