"""Pages and answers about reports.

Rules: GET never makes anything. A POST comes from a page of this site or from a script and has the owner's
token. Refusals are {code, error, hint} with a matching status.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_safe

from visualizer.experiments.models import Experiment
from visualizer.labs.definitions import read_scenario, run_again
from visualizer.live.sockets import may_post
from visualizer.live.wire import Refused
from visualizer.models import Lab
from visualizer.pages.views import instant_of, to_page
from visualizer.questions.questions import NO_STORE, refusal
from visualizer.reports.models import Report
from visualizer.reports.requests import DOWNLOADS, ask_for_recount, ask_for_report, check_owner
from visualizer.tasks.files import download_of, page_of
from visualizer.tasks.owned import posts
from visualizer.tasks.waiting import common_status, words_of_steps

HEADLINE_FIGURES = ("duplicates", "redeliveries", "stranded", "lost")


@posts('{"token": "…"}')
def create(request: HttpRequest, given: dict[str, Any], lab_id: str) -> HttpResponse:
    """Request a report about the lab's run: {token} → 201 {id, url}."""
    lab = Lab.objects.filter(pk=lab_id).first()
    if lab is None:
        raise Refused("not-found", "There is no such lab.", "Open a scenario from the gallery.")
    check_owner(lab, request, given)
    report = ask_for_report(lab, given, f"{request.scheme}://{request.get_host()}"[:300])
    return JsonResponse({"id": report.pk, "url": reverse("reports:report", args=[report.pk])}, status=201)


@posts("{}")
def recount(request: HttpRequest, given: dict[str, Any], experiment_id: str) -> HttpResponse:
    """Have Spark count the runs of an answer again: {} → the status of the report, with its `url`.

    Anybody with the answer may ask, since there is one recount of each.
    """
    experiment = Experiment.objects.filter(pk=experiment_id).first()
    if experiment is None:
        raise Refused("not-found", "There is no such experiment.", "It may have been deleted.")
    report = ask_for_recount(experiment, f"{request.scheme}://{request.get_host()}"[:300])
    found = {**_status(report.pk), "url": reverse("reports:report", args=[report.pk])}
    return JsonResponse(found, headers=NO_STORE)


@posts('{"token": "…"}')
def cancel(request: HttpRequest, given: dict[str, Any], report_id: str) -> HttpResponse:
    """Ask the worker to stop, and return the status."""
    _owned(request, given, report_id).ask_to_cancel()
    return JsonResponse(_status(report_id))


@posts('{"token": "…"}')
def again(request: HttpRequest, given: dict[str, Any], report_id: str) -> HttpResponse:
    """Queue a failed or cancelled report again, and return the status."""
    report = _owned(request, given, report_id)
    Report.give_up_on_the_silent(report_id)
    if not report.requeue():
        raise Refused("not-over", "This report is not over.", "Cancel it first, or wait.")
    report.enqueue()
    return JsonResponse(_status(report_id))


def _no_such_report() -> Refused:
    return Refused("not-found", "There is no such report.", "Ask for one on the lab's page.")


def _owned(request: HttpRequest, given: dict[str, Any], report_id: str) -> Report:
    report = Report.objects.select_related("lab").filter(pk=report_id).first()
    if report is None:
        raise _no_such_report()
    check_owner(report.lab, request, given)
    return report


@require_safe
def report_page(request: HttpRequest, report_id: str) -> HttpResponse:
    """The report's page: progress while it is made, then the report and its downloads."""
    if not Report.objects.filter(pk=report_id).exists():
        return render(request, "reports/no_such_report.html", status=404)
    status = _status(report_id)
    report = Report.objects.select_related("lab").get(pk=report_id)
    downloads = [one for one in DOWNLOADS if one.kind != "trace" or report.lab_id]  # a recount keeps none
    return render(
        request,
        "reports/report.html",
        {
            "report": report,
            "status": status,
            "downloads": downloads if report.state == Report.State.DONE else (),
        },
    )


@require_safe
def status(request: HttpRequest, report_id: str) -> HttpResponse:
    """The report's state. The page polls it until the report has ended."""
    if not Report.objects.filter(pk=report_id).exists():
        return refusal(_no_such_report())
    return JsonResponse(_status(report_id), headers=NO_STORE)


def _status(report_id: str) -> dict[str, Any]:
    Report.give_up_on_the_silent(report_id)
    report = Report.objects.get(pk=report_id)
    return {
        **common_status(report, words_of_steps(report, "Done.")),
        "step_number": report.step_number,
        "step_count": report.step_count,
        "step_name": report.step_name,
        "tasks_done": report.tasks_done,
        "tasks_count": report.tasks_count,
        "figures": report.figures,
        "checks": report.checks,
        "simulator_figures": [] if report.over else [_headline(one) for one in report.simulator_figures],
    }


def _headline(figures: dict[str, Any]) -> dict[str, Any]:
    """One line of the simulator's own figures: its subject as text, and numbers of messages."""
    if "group" in figures:
        subject = f"Group {figures['group']}"
    else:
        subject = "{subscription}, {from} to {to}".format(**figures) + f", {figures['at_us'] / 1e6:.3f} s"
        if figures.get("pending_repeats"):
            subject += ", still delivering at the end: lower bounds"
    return {"subject": subject, **{name: figures.get(name) for name in HEADLINE_FIGURES}}


@require_safe
def document(request: HttpRequest, report_id: str) -> HttpResponse:
    """The report as the page shows it, under its own content security policy."""
    return page_of(_folder(report_id), DOWNLOADS)


@require_safe
def download(request: HttpRequest, report_id: str, kind: str) -> HttpResponse:
    """One of the report's files as a download."""
    return download_of(_folder(report_id), DOWNLOADS, kind, f"failover-{report_id}")


def _folder(report_id: str) -> Path | None:
    """The folder of a report that is done."""
    report = Report.objects.filter(pk=report_id, state=Report.State.DONE).first()
    return None if report is None else report.folder


@csrf_exempt  # no cookie is used here; the origin is checked instead
@require_http_methods(["GET", "HEAD", "POST"])
def replay(request: HttpRequest, report_id: str) -> HttpResponse:
    """The replay link of a report's page.

    GET asks for confirmation. POST makes a lab of the report's run, whatever its own lab has done since.
    """
    report = Report.objects.filter(pk=report_id, experiment=None).first()
    if report is None:
        return render(request, "reports/no_such_report.html", status=404)
    if request.method == "POST" and not may_post(request):
        return HttpResponse("This page belongs to another site.", status=403, content_type="text/plain")
    try:
        at_us = instant_of(request.GET.get("at_us", "0"))
        scenario = read_scenario(report.scenario_text, report.seed)
        until_us = report.until_us or scenario.until_us
        commands = [entry for entry in report.commands if entry["at_us"] <= until_us]
        if request.method != "POST":
            return render(
                request,
                "reports/replay.html",
                {
                    "report": report,
                    "commands": len(commands),
                    "until": f"{until_us / 1e6:.3f}",
                    "at": f"{at_us / 1e6:.3f}" if at_us else "",
                },
            )
        return to_page(run_again(report.title, scenario, commands, until_us, at_us))
    except Refused as refused:
        return refusal(refused)
