"""Requests for a report: its run, the owner's check, and the queued task.

Rules: only the lab's owner requests, cancels and retries a report. Any holder of the link may read it.
"""

from __future__ import annotations

from typing import Any

from asgiref.sync import async_to_sync
from django.http import HttpRequest

from visualizer.labs import clients
from visualizer.labs.clients import client_key
from visualizer.labs.definitions import read_scenario
from visualizer.labs.hub import current_hub
from visualizer.live.wire import LATEST_US, Refused
from visualizer.models import Lab
from visualizer.reports.models import Report
from visualizer.tasks.models import WAITING

WAITING_MOST = 3
"""Most reports of one lab that may be queued or running at once."""


def check_owner(lab: Lab, request: HttpRequest, body: dict[str, Any]) -> None:
    """Raise Refused unless the request has the owner's token, in the header X-Lab-Token or the body."""
    token = request.headers.get("X-Lab-Token") or body.get("token")
    if not lab.is_owner(token if isinstance(token, str) else None):
        raise Refused(
            "not-owner",
            "Only who opened this lab can ask for its reports.",
            "Open the scenario from the gallery to have a lab of your own.",
        )


def ask_for_report(lab: Lab, body: dict[str, Any], site: str) -> Report:
    """Store and queue a report about the lab's run up to `until_us`, by default the scenario's end.

    Raises Refused. `site` is the address that the page links to, from wherever it is opened. What would have
    helped is taken from the lab's page if it has computed it.
    """
    until_us = body.get("until_us")
    if until_us is not None and (type(until_us) is not int or not 0 < until_us <= LATEST_US):
        raise Refused(
            "bad-argument",
            "until_us is not an instant.",
            "Give microseconds from the start of the run, or leave it out.",
        )
    waiting = lab.reports.filter(state__in=WAITING).count()
    if waiting >= WAITING_MOST:
        raise Refused(
            "too-many",
            f"{waiting} reports of this lab are being made already.",
            "Wait for one of them, or cancel one.",
        )
    client = client_key()
    if (
        client
        and Report.objects.filter(client=client, state__in=WAITING).count() >= clients.REPORTS_PER_CLIENT
    ):
        raise Refused(
            "too-many",
            f"{clients.REPORTS_PER_CLIENT} reports are queued or made for your address already.",
            "Wait for one of them, or cancel one.",
        )
    until_us = until_us or read_scenario(lab.scenario_text, lab.seed).until_us
    report = Report.objects.create(
        client=client,
        lab=lab,
        title=lab.title,
        scenario_text=lab.scenario_text,
        seed=lab.seed,
        commands=lab.command_log,
        until_us=until_us,
        site=site,
        reruns=async_to_sync(_finished_reruns)(lab.pk, lab.command_log, until_us),
    )
    report.enqueue()
    return report


async def _finished_reruns(
    lab_id: str, commands: list[dict[str, Any]], until_us: int
) -> list[dict[str, Any]]:
    """The complete outcomes of what would have helped, if this process runs the lab; on its event loop."""
    return current_hub().finished_reruns(lab_id, commands, until_us)
