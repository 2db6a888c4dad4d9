"""Pages and answers about reports.

Rules: GET never makes anything. A POST comes from a page of this site or from a script and has the owner's
token. Refusals are {code, error, hint} with a matching status.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import FileResponse, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from visualizer.labs.definitions import read_scenario, run_again
from visualizer.live.origin import may_post
from visualizer.live.wire import Refused
from visualizer.models import Lab
from visualizer.pages.views import instant_of, to_page
from visualizer.questions.questions import refusal
from visualizer.reports.files import DOWNLOADS, PAGE_POLICY, path_of
from visualizer.reports.models import UNTAKEN_FOR_S, Report, ask_to_cancel, give_up_on_the_silent, requeue
from visualizer.reports.requests import ask_for_report, body_of, check_owner, queue
from visualizer.reports.tools import missing_tools

HEADLINE_FIGURES = ("duplicates", "redeliveries", "stranded", "lost")
STATUS = {"not-owner": 403, "foreign-origin": 403, "not-found": 404, "too-many": 429, "not-over": 409}


def _posts(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Decorates a view for a POST from this site or a script, whose refusals are answered with the reason."""

    @csrf_exempt  # no cookie is used here; the origin and the owner's token are checked instead
    @require_POST
    @wraps(view)
    def posting(request: HttpRequest, **arguments: Any) -> HttpResponse:
        try:
            if not may_post(request):
                raise Refused(
                    "foreign-origin",
                    "This page belongs to another site.",
                    "Open the lab from its own gallery.",
                )
            return view(request, **arguments)
        except Refused as refused:
            body = {"code": refused.code, "error": refused.error, "hint": refused.hint}
            return JsonResponse(body, status=STATUS.get(refused.code, 400))

    return posting


@_posts
def create(request: HttpRequest, lab_id: str) -> HttpResponse:
    """Request a report about the lab's run: {token} → 201 {id, url}."""
    lab = Lab.objects.filter(pk=lab_id).first()
    if lab is None:
        raise Refused("not-found", "There is no such lab.", "Open a scenario from the gallery.")
    body = body_of(request)
    check_owner(lab, request, body)
    report = ask_for_report(lab, body, f"{request.scheme}://{request.get_host()}"[:300])
    return JsonResponse({"id": report.pk, "url": reverse("reports:report", args=[report.pk])}, status=201)


@_posts
def cancel(request: HttpRequest, report_id: str) -> HttpResponse:
    """Ask the worker to stop, and return the status."""
    report = _owned(request, report_id)
    ask_to_cancel(report)
    return JsonResponse(_status(report_id))


@_posts
def again(request: HttpRequest, report_id: str) -> HttpResponse:
    """Queue a failed or cancelled report again, and return the status."""
    report = _owned(request, report_id)
    give_up_on_the_silent(report_id)
    if not requeue(report):
        raise Refused("not-over", "This report is not over.", "Cancel it first, or wait.")
    queue(report)
    return JsonResponse(_status(report_id))


def _owned(request: HttpRequest, report_id: str) -> Report:
    report = Report.objects.select_related("lab").filter(pk=report_id).first()
    if report is None:
        raise Refused("not-found", "There is no such report.", "Ask for one on the lab's page.")
    check_owner(report.lab, request, body_of(request))
    return report


@require_safe
def report_page(request: HttpRequest, report_id: str) -> HttpResponse:
    """The report's page: progress while it is made, then the report and its downloads."""
    if not Report.objects.filter(pk=report_id).exists():
        return render(request, "reports/no_such_report.html", status=404)
    status = _status(report_id)
    report = Report.objects.select_related("lab").get(pk=report_id)
    return render(
        request,
        "reports/report.html",
        {
            "report": report,
            "status": status,
            "downloads": DOWNLOADS if report.state == Report.State.DONE else (),
        },
    )


@require_safe
def status(request: HttpRequest, report_id: str) -> HttpResponse:
    """The report's state. The page polls it until the report has ended."""
    if not Report.objects.filter(pk=report_id).exists():
        return JsonResponse(
            {
                "code": "not-found",
                "error": "There is no such report.",
                "hint": "Ask for one on the lab's page.",
            },
            status=404,
        )
    return JsonResponse(_status(report_id), headers={"Cache-Control": "no-store"})


def _status(report_id: str) -> dict[str, Any]:
    give_up_on_the_silent(report_id)
    report = Report.objects.get(pk=report_id)
    waited_s = (timezone.now() - report.queued_at).total_seconds()
    untaken = report.state == Report.State.QUEUED and waited_s > UNTAKEN_FOR_S
    note = (
        (
            "No worker has taken it yet. `script/server` runs one; by itself it is `python manage.py "
            "db_worker`. It may also be at work on another report."
        )
        if untaken
        else ""
    )
    state_words = words(report)
    missing = missing_tools() if report.state == Report.State.QUEUED else None
    if missing is not None:
        state_words, note = missing
    return {
        "id": report.pk,
        "state": report.state,
        "over": report.over,
        "cancel_wanted": report.cancel_wanted,
        "step_number": report.step_number,
        "step_count": report.step_count,
        "step_name": report.step_name,
        "tasks_done": report.tasks_done,
        "tasks_count": report.tasks_count,
        "error": report.error,
        "hint": report.hint,
        "note": note,
        "figures": report.figures,
        "simulator_figures": [] if report.over else [_headline(one) for one in report.simulator_figures],
        "words": state_words,
    }


def _headline(figures: dict[str, Any]) -> dict[str, Any]:
    """One line of the simulator's own figures: its subject as text, and numbers of messages."""
    if "group" in figures:
        subject = f"Group {figures['group']}"
    else:
        subject = "{subscription}, {from} to {to}".format(**figures) + f", {figures['at_us'] / 1e6:.3f} s"
    return {"subject": subject, **{name: figures.get(name) for name in HEADLINE_FIGURES}}


def words(report: Report) -> str:
    """The state as a sentence."""
    if report.state == Report.State.QUEUED:
        return "Queued."
    if report.state == Report.State.RUNNING:
        if report.cancel_wanted:
            return "Being cancelled."
        if not report.step_number:
            doing = report.step_name or "starting"
            return f"{doing[0].upper()}{doing[1:]}."
        stage = (
            f" {report.tasks_done} of {report.tasks_count} tasks of the running stage are done."
            if report.tasks_count
            else ""
        )
        return f"Step {report.step_number} of {report.step_count}: {report.step_name}.{stage}"
    return {"done": "Done.", "failed": report.error or "It failed.", "cancelled": "It was cancelled."}[
        report.state
    ]


@require_safe
def document(request: HttpRequest, report_id: str) -> HttpResponse:
    """The report as the page shows it, under its own content security policy."""
    return _file(report_id, "html", {"Content-Security-Policy": PAGE_POLICY}, attached=False)


@require_safe
def download(request: HttpRequest, report_id: str, kind: str) -> HttpResponse:
    """One of the report's files as a download."""
    return _file(report_id, kind, {}, attached=True)


def _file(report_id: str, kind: str, headers: dict[str, str], attached: bool) -> HttpResponse:
    report = Report.objects.filter(pk=report_id, state=Report.State.DONE).first()
    known = next((entry for entry in DOWNLOADS if entry.kind == kind), None)
    path = path_of(report, known) if report and known else None
    if path is None or known is None:
        return HttpResponse(
            "There is no such file. The report may not be done, or its files were deleted.",
            status=404,
            content_type="text/plain; charset=utf-8",
        )
    name = f"failover-{report_id}-{known.place}"
    return FileResponse(
        path.open("rb"),
        as_attachment=attached,
        filename=name,
        content_type=known.content_type,
        headers=headers,
    )


@csrf_exempt  # no cookie is used here; the origin is checked instead
@require_http_methods(["GET", "HEAD", "POST"])
def replay(request: HttpRequest, report_id: str) -> HttpResponse:
    """The replay link of a report's page.

    GET asks for confirmation. POST makes a lab of the report's run, whatever its own lab has done since.
    """
    report = Report.objects.filter(pk=report_id).first()
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
