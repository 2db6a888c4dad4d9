"""A report takes over what would have helped from the lab's page, and makes none of these runs again."""

from __future__ import annotations

import json
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.test import AsyncClient

from labsite import spark_worker
from simulator.trace.files import read_meta
from spark_reports import what_if
from tests.visualizer.pages import FAIL_OVER, Page, saved
from visualizer.tasks.models import Report

pytestmark = pytest.mark.django_db(transaction=True)


async def asked_report(lab_id: str, token: str, **body: Any) -> Report:
    address = f"/labs/{lab_id}/reports/"
    answer = await AsyncClient().post(
        address, json.dumps({"token": token, **body}), content_type="application/json"
    )
    assert answer.status_code == 201, answer.content
    return await Report.objects.aget(pk=answer.json()["id"])


async def whole_what_if(lab_id: str) -> dict[str, Any]:
    """What would have helped in a lab, once every run is made."""
    while True:
        answer = json.loads((await AsyncClient().get(f"/labs/{lab_id}/what-if.json")).content)
        if answer["state"] != "running":
            return answer


def compared(report: Report, tmp_path: Any) -> dict[str, Any]:
    """What the report's worker compares, from its own trace; a run that is made again fails the test."""
    row = spark_worker.ReportAttempt(report)
    path = spark_worker._replayed(report, row, tmp_path / "trace.parquet")
    found, _ = what_if.compare(read_meta(path), lambda: None)
    return found


async def with_failover(made: Any) -> Page:
    """The page of a lab whose run has a failover at 3 s."""
    page = Page(made.lab.pk, made.token)
    await page.open()
    await page.seek(3_000_000)
    assert (await page.command(**FAIL_OVER))["ok"]
    await saved(made.lab.pk)
    return page


async def test_a_report_uses_the_runs_of_the_page(hub, made, tmp_path, monkeypatch):
    page = await with_failover(made)
    lab_id, token = made.lab.pk, made.token
    assert (await asked_report(lab_id, token)).reruns == [], "none is asked for on the page yet"
    shown = await whole_what_if(lab_id)
    assert shown["state"] == "done" and shown["of"] > 1, shown
    report = await asked_report(lab_id, token)
    assert len(report.reruns) == shown["of"]
    monkeypatch.setattr(what_if, "Runs", None)
    found = await sync_to_async(compared)(report, tmp_path)
    assert found["same_bytes"] is True and found["order"] == shown["order"]
    other = await asked_report(lab_id, token, until_us=report.until_us - 1)
    assert other.reruns == [], "of a run that ends elsewhere the page knows nothing"
    await page.close()


async def test_a_report_about_further_commands_does_not_use_them(hub, made):
    page = await with_failover(made)
    assert (await whole_what_if(made.lab.pk))["state"] == "done"
    await page.seek(5_000_000)
    assert (await page.command(do="cluster.crash", cluster="a"))["ok"]
    await saved(made.lab.pk)
    assert (await asked_report(made.lab.pk, made.token)).reruns == []
    await page.close()
