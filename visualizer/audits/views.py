"""Pages and answers about audits.

Rules: GET never makes anything. A POST comes from a page of this site or from a script; what changes an audit
has its owner's token. Refusals are {code, error, hint} with a matching status.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_safe

from visualizer.audits import limits
from visualizer.audits.limits import COMPRESSIONS, FORMATS, READY
from visualizer.audits.models import Audit
from visualizer.audits.requests import (
    DOWNLOADS,
    described,
    downloads_of,
    new_audit,
    quotas,
    set_up_link,
    status_of,
)
from visualizer.audits.upload import (
    EXAMPLE,
    example,
    files_of,
    first_rows,
    format_of,
    mapping_of,
    uploaded,
)
from visualizer.live.wire import Refused
from visualizer.questions.questions import NO_STORE, refusal
from visualizer.tasks.files import FileInParts, download_of, page_of
from visualizer.tasks.owned import delete_owned, listed, owned, posts, queue_again


@csrf_exempt  # a POST is checked by `create`
@require_http_methods(["GET", "HEAD", "POST"])
def audits(request: HttpRequest) -> HttpResponse:
    """The page with the form and the visitor's audits; a POST makes an audit."""
    if request.method == "POST":
        return create(request)
    shown = {
        "formats": FORMATS,
        "ready": READY,
        "compressions": COMPRESSIONS,
        "limits": limits,
        "rows_most": f"{limits.ROWS_MOST:,}",
        "example": EXAMPLE.name,
        "first_rows": first_rows(),
    }
    return render(request, "audits/audits.html", shown)


@posts('a form with files, or {"example": true}')
def create(request: HttpRequest, given: dict[str, Any]) -> HttpResponse:
    """Make an audit of uploaded files: a form with files, format and mapping → 201 {id, token, url}."""
    site = f"{request.scheme}://{request.get_host()}"[:300]
    if given.get("example") is True:
        row, token = new_audit(example(), format_of(None), "", site)
    else:
        files = uploaded(files_of(request))
        chosen, mapping = format_of(request.POST.get("format")), mapping_of(request.POST.get("mapping"))
        row, token = new_audit(files, chosen, mapping, site)
    url = reverse("audits:audit", args=[row.pk])
    return JsonResponse({"id": row.pk, "token": token, "url": url}, status=201)


@posts('{"audits": [{"id": "…", "token": "…"}]}')
def mine(request: HttpRequest, given: dict[str, Any]) -> HttpResponse:
    """List the visitor's own audits: {audits: [{id, token}]} → {tasks, gone}."""
    return JsonResponse(listed(Audit, given, described, ("mapping",)), headers=NO_STORE)


@posts('{"token": "…"}')
def cancel(request: HttpRequest, given: dict[str, Any], audit_id: str) -> HttpResponse:
    """Ask the worker to stop, and return the status."""
    owned(Audit, audit_id, given).ask_to_cancel()
    return JsonResponse(status_of(audit_id))


@posts('{"token": "…"}')
def again(request: HttpRequest, given: dict[str, Any], audit_id: str) -> HttpResponse:
    """Queue a failed or cancelled audit again, and return the status."""
    if not owned(Audit, audit_id, given).input.is_dir():
        raise Refused("not-found", "The uploaded files are no longer there.", "Upload them again.")
    queue_again(Audit, audit_id, given, quotas())
    return JsonResponse(status_of(audit_id))


@posts('{"token": "…"}')
def delete(request: HttpRequest, given: dict[str, Any], audit_id: str) -> HttpResponse:
    """Delete an audit that has ended, with its files: {token} → {}."""
    delete_owned(Audit, audit_id, given)
    return JsonResponse({})


@require_safe
def audit_page(request: HttpRequest, audit_id: str) -> HttpResponse:
    """The audit's page: progress while it is made, then the report and its downloads."""
    row = Audit.objects.filter(pk=audit_id).first()
    if row is None:
        return render(request, "audits/no_such_audit.html", status=404)
    status = status_of(audit_id)
    row.refresh_from_db()
    done = row.state == Audit.State.DONE
    shown = {
        "audit": row,
        "status": status,
        "formats": FORMATS,
        "downloads": downloads_of(row) if done else (),
        "set_up_link": set_up_link(row) if done else "",
    }
    return render(request, "audits/audit.html", shown)


@require_safe
def status(request: HttpRequest, audit_id: str) -> HttpResponse:
    """The audit's state. The page polls it until the audit has ended."""
    if not Audit.objects.filter(pk=audit_id).exists():
        return refusal(Refused("not-found", "There is no such audit.", "It may have been deleted."))
    return JsonResponse(status_of(audit_id), headers=NO_STORE)


@require_safe
def document(request: HttpRequest, audit_id: str) -> HttpResponse:
    """The report as the page shows it, under its own content security policy."""
    return page_of(_folder(audit_id), DOWNLOADS)


@require_safe
def download(request: HttpRequest, audit_id: str, kind: str) -> HttpResponse:
    """One of the audit's files as a download."""
    return download_of(_folder(audit_id), DOWNLOADS, kind, f"audit-{audit_id}")


@require_safe
def example_log(request: HttpRequest) -> HttpResponse:
    """The example as a download."""
    return FileInParts(
        EXAMPLE.open("rb"), as_attachment=True, filename=EXAMPLE.name, content_type="application/gzip"
    )


def _folder(audit_id: str) -> Path | None:
    """The folder of the results of an audit that is done."""
    row = Audit.objects.filter(pk=audit_id, state=Audit.State.DONE).first()
    return None if row is None else row.result
