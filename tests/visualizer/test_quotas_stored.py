"""Quotas on what is stored for one address.

Labs created and kept, reports; and the order in which reports are made.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from labsite import spark_worker, tasks
from tests.visualizer.pages import SCENARIO
from visualizer.labs import clients
from visualizer.labs.definitions import copy_of, new_lab
from visualizer.live.wire import Refused
from visualizer.models import Lab
from visualizer.tasks.models import Report
from visualizer.tasks.requests import ask_for_report, queue_again

pytestmark = pytest.mark.django_db


@pytest.fixture
def comes_from():
    """Sets the address of the request."""
    yield clients.client.set
    clients.client.set("")


def test_labs_per_hour_and_kept_labs_are_bounded_for_each_address(comes_from, monkeypatch):
    monkeypatch.setattr(clients, "LABS_PER_HOUR", 2)
    monkeypatch.setattr(clients, "LABS_PER_CLIENT", 3)
    comes_from("203.0.113.9")
    first = new_lab({"yaml": SCENARIO}).lab
    copy_of(first)
    with pytest.raises(Refused, match="2 labs were made from your address within an hour"):
        new_lab({"yaml": SCENARIO})
    comes_from("198.51.100.7")
    new_lab({"yaml": SCENARIO})
    comes_from("203.0.113.9")
    Lab.objects.update(created_at=timezone.now() - timedelta(hours=2))
    new_lab({"yaml": SCENARIO})
    with pytest.raises(Refused, match="3 labs from your address are kept") as refused:
        new_lab({"yaml": SCENARIO})
    assert "My labs" in refused.value.hint and "Delete" in refused.value.hint
    first.delete()
    new_lab({"yaml": SCENARIO})
    assert "203.0.113" not in str(list(Lab.objects.values_list("client", flat=True)))


def test_reports_of_one_address_are_bounded(comes_from, monkeypatch):
    monkeypatch.setattr(Report, "WAITING_OF_CLIENT", 2)
    labs = [new_lab({"yaml": SCENARIO}).lab for _ in range(3)]
    comes_from("203.0.113.9")
    for lab in labs[:2]:
        ask_for_report(lab, {}, "http://testserver")
    with pytest.raises(Refused, match="2 reports"):
        ask_for_report(labs[2], {}, "http://testserver")
    comes_from("198.51.100.7")
    ask_for_report(labs[2], {}, "http://testserver")


def test_a_report_that_is_tried_again_counts_for_its_address(comes_from, monkeypatch):
    monkeypatch.setattr(Report, "WAITING_OF_CLIENT", 1)
    made = new_lab({"yaml": SCENARIO})
    comes_from("203.0.113.9")
    first = ask_for_report(made.lab, {}, "http://testserver")
    first.ask_to_cancel()
    second = ask_for_report(made.lab, {}, "http://testserver")
    with pytest.raises(Refused, match="1 reports of your address are queued or running already"):
        queue_again(Report, first.pk, {"token": made.token})
    second.ask_to_cancel()
    queue_again(Report, first.pk, {"token": made.token})
    assert Report.next_in_turn() == (first.pk, 2)


def test_thirty_reports_of_one_address_do_not_delay_anothers(monkeypatch):
    lab, made = new_lab({"yaml": SCENARIO}).lab, []

    def queued(client: str) -> Report:
        return Report.objects.create(
            lab=lab, client=client, title=client, scenario_text="", seed=1, until_us=1
        )

    def make(report_id: str, attempt: int) -> str:
        report = Report.objects.get(pk=report_id)
        Report.objects.filter(pk=report_id).update(state=Report.State.DONE, worker_seen_at=timezone.now())
        made.append(report.client)
        return "done"

    monkeypatch.setattr(spark_worker.ReportAttempt, "run", make)
    asked: list[Any] = [queued("one") for _ in range(30)] + [
        queued("other"),
        queued("other"),
        queued("third"),
    ]
    for _ in asked:
        assert tasks.make_next.call("reports", "default") == "done"
    assert made[:5] == ["one", "other", "third", "one", "other"] and made[5:] == ["one"] * 28
    assert tasks.make_next.call("reports", "default") == "nothing queued"
