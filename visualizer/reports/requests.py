"""Requests for a report: its run, the owner's check, and the queued task.

Rules: only the lab's owner requests, cancels and retries a report. Any holder of the link may read it.
"""

from __future__ import annotations

from typing import Any

from asgiref.sync import async_to_sync
from django.http import HttpRequest

from simulator import ENGINE_VERSION
from simulator.experiments import FINISHED
from visualizer.experiments.models import Experiment
from visualizer.labs import clients
from visualizer.labs.background import CHANGED
from visualizer.labs.clients import client_key
from visualizer.labs.definitions import read_scenario
from visualizer.labs.hub import current_hub
from visualizer.live.wire import LATEST_US, Refused
from visualizer.models import Lab
from visualizer.questions.stories import what_if_key
from visualizer.reports.models import Report
from visualizer.tasks.files import Download
from visualizer.tasks.models import WAITING, TaskState

WAITING_MOST = 3
"""Most reports of one lab that may be queued or running at once."""

RECOUNT_ROWS_MOST = 40_000_000
"""Most rows of all runs of an answer that are counted again: about 500 MB of traces, minutes of Spark."""


def check_owner(lab: Lab | None, request: HttpRequest, body: dict[str, Any]) -> None:
    """Raise Refused unless the request has the owner's token, in the header X-Lab-Token or the body."""
    token = request.headers.get("X-Lab-Token") or body.get("token")
    if lab is None or not lab.is_owner(token if isinstance(token, str) else None):
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
    client = _client()
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


def ask_for_recount(experiment: Experiment, site: str) -> Report:
    """The recount of an answer's runs by Spark: the one that waits, runs or is done, else a new one.

    Raises Refused.
    """
    if not experiment.set_up or experiment.state != TaskState.DONE:
        raise Refused("not-done", "This is no finished answer of My set-up.", "Wait for its last run.")
    if experiment.engine_version != ENGINE_VERSION:
        raise Refused(
            "other-version", "Another version computed this answer.", "Ask again; the runs are then new."
        )
    kept = Report.objects.filter(experiment=experiment, state__in=(*WAITING, TaskState.DONE)).first()
    if kept is not None:
        Report.give_up_on_the_silent(kept.pk)
        kept.refresh_from_db()
        if kept.state != TaskState.FAILED:
            return kept
    runs = [row for row in experiment.results.get("rows", []) if row["point"] == 0]
    rows = sum(row["rows"] for row in runs)
    if rows > RECOUNT_ROWS_MOST:
        words = f"The runs have {rows:,} rows together; at most {RECOUNT_ROWS_MOST:,} are counted again."
        raise Refused("too-large", words, "Open a run as a lab and request its report.")
    report = Report.objects.create(
        client=_client(),
        experiment=experiment,
        title=experiment.title,
        scenario_text=experiment.text,
        seed=0,
        until_us=0,
        site=site,
        reruns=sorted((row for row in runs if row["status"] == FINISHED), key=lambda row: row["run"]),
    )
    report.enqueue()
    return report


def _client() -> str:
    """The client of this request. Raises Refused if too many of its reports wait."""
    client = client_key()
    waiting = Report.objects.filter(client=client, state__in=WAITING).count()
    if client and waiting >= clients.REPORTS_PER_CLIENT:
        raise Refused(
            "too-many",
            f"{clients.REPORTS_PER_CLIENT} reports are queued or made for your address already.",
            "Wait for one of them, or cancel one.",
        )
    return client


async def _finished_reruns(
    lab_id: str, commands: list[dict[str, Any]], until_us: int
) -> list[dict[str, Any]]:
    """The complete outcomes of what would have helped, if this process runs the lab; on its event loop."""
    study = current_hub().background.find(CHANGED, what_if_key(commands, until_us), lab_id)
    return study.runs.outcomes if study is not None and study.state == "done" else []


# --- the files of a finished report: their names and types


DOWNLOADS = (
    Download(
        "html", "report.html", "text/html; charset=utf-8", "the whole report as one page that opens offline"
    ),
    Download("csv", "figures.csv", "text/csv; charset=utf-8", "every figure, one line a failover"),
    Download(
        "parquet",
        "deliveries.parquet",
        "application/vnd.apache.parquet",
        "every delivery with its verdict and cause",
    ),
    Download("json", "report.json", "application/json", "everything the page was made from"),
    Download("trace", "trace.parquet", "application/vnd.apache.parquet", "the run's trace, row by row"),
)
