"""Pages and answers about reports, experiments and audits.

Rules: GET never makes anything. A POST comes from a page of this site or from a script; what changes a task
has its owner's token. Refusals are {code, error, hint} with a matching status.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_safe

from simulator import ScenarioError
from visualizer.labs.definitions import new_lab, read_scenario, run_again
from visualizer.live.sockets import require_own_origin
from visualizer.live.wire import Refused, problems_counted
from visualizer.models import Lab
from visualizer.pages.views import instant_of, to_page
from visualizer.questions.answers import NO_STORE, refusal
from visualizer.tasks import uploads
from visualizer.tasks.experiments import (
    RUNS_MOST,
    Reading,
    checked,
    choices,
    experiment_of,
    is_small,
    read_text,
    run_number,
    scenario_of_run,
)
from visualizer.tasks.files import EXPERIMENT_TEXT, FileInParts, file_response
from visualizer.tasks.models import Experiment, QueuedTask, Report
from visualizer.tasks.requests import (
    ask_for_recount,
    ask_for_report,
    check_quotas,
    delete_owned,
    existing,
    listed,
    new_audit,
    new_experiment,
    owned,
    posts,
    queue_again,
    status_of,
)

Kind = type[QueuedTask]


def _site(request: HttpRequest) -> str:
    return f"{request.scheme}://{request.get_host()}"[:300]


# --- what every kind has


@require_safe
def task_page(request: HttpRequest, kind: Kind, pk: str) -> HttpResponse:
    """The task's page: progress while it is made, then the result and its downloads."""
    try:
        shown = {"status": status_of(kind, pk)}
    except Refused:
        return _no_such_task(request, kind)
    return render(request, f"tasks/{kind.NOUN}.html", {kind.NOUN: existing(kind, pk), **shown})


def _no_such_task(request: HttpRequest, kind: Kind) -> HttpResponse:
    return render(request, "tasks/no_such_task.html", {"noun": kind.NOUN}, status=404)


@require_safe
def status(request: HttpRequest, kind: Kind, pk: str) -> HttpResponse:
    """The task's state. The page polls it until the task has ended.

    Results of an experiment are sent only if more is finished than the `?have=` of the page. `have` in the
    answer counts the finished runs, and the changed ones of what would have helped.
    """
    try:
        found = status_of(kind, pk)
    except Refused as refused:
        return refusal(refused)
    results = found.get("results")
    if results is not None:
        have = request.GET.get("have", "")
        found["have"] = results.get("runs", 0) + results.get("what_if", {}).get("finished", 0)
        if results and have.isascii() and have.isdigit() and len(have) < 10 and int(have) == found["have"]:
            del found["results"]
    return JsonResponse(found, headers=NO_STORE)


@posts('{"token": "…"}')
def cancel(request: HttpRequest, given: dict[str, Any], kind: Kind, pk: str) -> HttpResponse:
    """Ask the worker to stop, and return the status."""
    owned(kind, pk, given).ask_to_cancel()
    return JsonResponse(status_of(kind, pk))


@posts('{"token": "…"}')
def again(request: HttpRequest, given: dict[str, Any], kind: Kind, pk: str) -> HttpResponse:
    """Queue a failed or cancelled task again, and return the status."""
    queue_again(kind, pk, given)
    return JsonResponse(status_of(kind, pk))


@posts('{"token": "…"}')
def delete(request: HttpRequest, given: dict[str, Any], kind: Kind, pk: str) -> HttpResponse:
    """Delete a task that has ended, with its files: {token} → {}."""
    delete_owned(kind, pk, given)
    return JsonResponse({})


@posts('{"experiments": [{"id": "…", "token": "…"}]}, or audits')
def mine(request: HttpRequest, given: dict[str, Any], kind: Kind) -> HttpResponse:
    """List the visitor's own tasks: {experiments or audits: [{id, token}]} → {tasks, gone}."""
    return JsonResponse(listed(kind, given), headers=NO_STORE)


@require_safe
def document(request: HttpRequest, kind: Kind, pk: str) -> HttpResponse:
    """The result as the page shows it, under its own content security policy."""
    row = kind.objects.filter(pk=pk).first()
    return file_response(row and row.results_folder, kind.FILES, "html")


@require_safe
def download(request: HttpRequest, kind: Kind, pk: str, file: str) -> HttpResponse:
    """One of the task's files as a download; `yaml` is an experiment's own text."""
    row = kind.objects.filter(pk=pk).first()
    if isinstance(row, Experiment) and file == "yaml":
        attached = {"Content-Disposition": f'attachment; filename="{EXPERIMENT_TEXT}"'}
        return HttpResponse(row.text, content_type="application/yaml; charset=utf-8", headers=attached)
    return file_response(row and row.results_folder, kind.FILES, file, f"{kind.FILE_PREFIX}-{pk}")


def _made(row: QueuedTask, token: str) -> HttpResponse:
    return JsonResponse({"id": row.pk, "token": token, "url": row.url}, status=201)


# --- a run as a lab of one's own: GET asks for confirmation, POST makes it


def _confirmed(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    @csrf_exempt  # no cookie is used here; the origin is checked instead
    @require_http_methods(["GET", "HEAD", "POST"])
    @wraps(view)
    def confirming(request: HttpRequest, **arguments: Any) -> HttpResponse:
        try:
            if request.method == "POST":
                require_own_origin(request)
            return view(request, **arguments)
        except Refused as refused:
            return refusal(refused)

    return confirming


@_confirmed
def replay(request: HttpRequest, pk: str) -> HttpResponse:
    """The replay link of a report's page: its run, whatever its own lab has done since."""
    report = Report.objects.filter(pk=pk, experiment=None).first()
    if report is None:
        return _no_such_task(request, Report)
    at_us = instant_of(request.GET.get("at_us", "0"))
    scenario = read_scenario(report.scenario_text, report.seed)
    until_us = report.until_us or scenario.until_us
    commands = [entry for entry in report.commands if entry["at_us"] <= until_us]
    if request.method == "POST":
        return to_page(run_again(report.title, scenario, commands, until_us, at_us))
    shown = {
        "report": report,
        "commands": len(commands),
        "until": f"{until_us / 1e6:.3f}",
        "at": f"{at_us / 1e6:.3f}" if at_us else "",
    }
    return render(request, "tasks/replay.html", shown)


@_confirmed
def run(request: HttpRequest, pk: str, number: str) -> HttpResponse:
    """One run of an experiment, at `?at_us=` or its first fault."""
    row = Experiment.objects.filter(pk=pk).first()
    if row is None:
        return _no_such_task(request, Experiment)
    try:
        experiment = experiment_of(row.text)
        wanted = run_number(experiment, number)
        scenario, fault_us = scenario_of_run(experiment, wanted)
        at_us = instant_of(request.GET["at_us"]) if "at_us" in request.GET else fault_us
        if request.method == "POST":
            yaml = scenario.canonical_text
            return to_page(new_lab({"yaml": yaml, "at_us": min(at_us, scenario.until_us)}))
    except ScenarioError as error:
        words = f"The experiment cannot be read by this version: {error}"
        raise Refused("bad-experiment", words, "Run its YAML as a new experiment.") from error
    shown = {"experiment": row, "number": wanted, "scenario": scenario, "at": f"{at_us / 1e6:.3f}"}
    return render(request, "tasks/run.html", shown)


# --- what each kind is asked for


@posts('{"token": "…"}')
def create_report(request: HttpRequest, given: dict[str, Any], lab_id: str) -> HttpResponse:
    """Request a report about the lab's run: {token} → 201 {id, url}."""
    lab = Lab.objects.filter(pk=lab_id).first()
    if lab is None:
        raise Refused("not-found", "There is no such lab.", "Open a scenario from the gallery.")
    if not Report(lab=lab).is_owner(given.get("token")):
        raise Refused("not-owner", *Report.NOT_OWNER)
    report = ask_for_report(lab, given, _site(request))
    return JsonResponse({"id": report.pk, "url": report.url}, status=201)


@posts("{}")
def recount(request: HttpRequest, given: dict[str, Any], pk: str) -> HttpResponse:
    """Have Spark count the runs of an answer again: {} → the status of the report, with its `url`.

    Anybody with the answer may ask, since there is one recount of each.
    """
    report = ask_for_recount(existing(Experiment, pk), _site(request))
    return JsonResponse({**status_of(Report, report.pk), "url": report.url}, headers=NO_STORE)


@csrf_exempt  # a POST is checked by `create_experiment`
@require_http_methods(["GET", "HEAD", "POST"])
def experiments(request: HttpRequest) -> HttpResponse:
    """The page with the form and the visitor's experiments; a POST makes an experiment."""
    if request.method == "POST":
        return create_experiment(request)
    begun = Experiment.objects.filter(pk=request.GET.get("from", "")).first()
    text = "" if begun is None else begun.text
    shown = {"bases": choices(), "text": text, "runs_most": RUNS_MOST}
    return render(request, "tasks/experiments.html", shown)


@posts('{"yaml": "format: 1…"}')
def create_experiment(request: HttpRequest, given: dict[str, Any]) -> HttpResponse:
    """Make an experiment: {yaml} → 201 {id, token, url}, or 400 with every problem."""
    text = given.get("yaml")
    if not isinstance(text, str):
        raise Refused("bad-field", "yaml is not a text.", 'Send {"yaml": "format: 1…"}.')
    check_quotas(Experiment, Experiment.objects.filter(set_up=False))
    reading = read_text(text)
    experiment = reading.experiment
    if experiment is None:
        return _problems(reading)
    row, token = new_experiment(
        _site(request),
        title=experiment.title[:200],
        text=text,
        core_s=reading.cost.core_s,
        engine=is_small(reading.cost),
        runs=experiment.runs,
    )
    return _made(row, token)


def _problems(reading: Reading) -> HttpResponse:
    answer = {
        "code": "bad-experiment",
        "error": f"The experiment cannot be used: {problems_counted(len(reading.problems))}.",
        "hint": "Fix every place named and try again.",
        "problems": reading.problems,
    }
    return JsonResponse(answer, status=400)


@posts('{"way": "parameter", "base": {"kind": "set-up"}}')
def check_experiment(request: HttpRequest, given: dict[str, Any]) -> HttpResponse:
    """Read the form: its text as YAML, every problem, the number of runs and the estimated time."""
    return JsonResponse(checked(given), headers=NO_STORE)


@csrf_exempt  # a POST is checked by `create_audit`
@require_http_methods(["GET", "HEAD", "POST"])
def audits(request: HttpRequest) -> HttpResponse:
    """The page with the form and the visitor's audits; a POST makes an audit."""
    if request.method == "POST":
        return create_audit(request)
    shown = {
        "formats": uploads.FORMATS,
        "ready": uploads.READY,
        "compressions": uploads.COMPRESSIONS,
        "limits": uploads,
        "rows_most": f"{uploads.ROWS_MOST:,}",
        "example": uploads.EXAMPLE.name,
        "first_rows": uploads.first_rows(),
    }
    return render(request, "tasks/audits.html", shown)


@posts('a form with files, or {"example": true}')
def create_audit(request: HttpRequest, given: dict[str, Any]) -> HttpResponse:
    """Make an audit of uploaded files: a form with files, format and mapping → 201 {id, token, url}."""
    if given.get("example") is True:
        return _made(*new_audit(uploads.example(), uploads.format_of(None), "", _site(request)))
    files = uploads.uploaded(uploads.files_of(request))
    chosen = uploads.format_of(request.POST.get("format"))
    mapping = uploads.mapping_of(request.POST.get("mapping"))
    return _made(*new_audit(files, chosen, mapping, _site(request)))


@require_safe
def example_log(request: HttpRequest) -> HttpResponse:
    """The example as a download."""
    return FileInParts(
        uploads.EXAMPLE.open("rb"),
        as_attachment=True,
        filename=uploads.EXAMPLE.name,
        content_type="application/gzip",
    )
