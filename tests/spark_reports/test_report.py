"""A whole report, made as the site makes it.

Progress on its row, the files, and that the page is self-contained; and cancelling.
"""

from __future__ import annotations

import csv
import json
import re
import time
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import plotly.graph_objects
import pyarrow.parquet as parquet
import pytest
from django.test import Client

from labsite import spark_worker
from simulator.protocols.pulsar.verdicts.causes import MIGRATION_CAUSES
from simulator.protocols.pulsar.verdicts.shares import DECIDING
from spark_reports.html.page import page
from spark_reports.progress import Cancelled, NullProgress, Watch
from spark_reports.protocols.pulsar.html.words import CAUSES, DEFINITIONS
from visualizer.labs.definitions import new_lab
from visualizer.tasks.models import Report

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

PAGE_BYTES_MOST = 1_500_000
"""A report is sent by e-mail. 1.2 MB of it are Plotly."""


@pytest.fixture
def done(
    spark: Any, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[Report, list[tuple[str, int]]]:
    """A finished report on a lab in which region-down ran to its end, and the steps of its row."""
    settings.DATA_DIR, settings.ALLOWED_HOSTS = tmp_path, ["testserver"]
    lab = new_lab({"scenario": "region-down"}).lab
    report = Report.objects.create(
        lab=lab,
        title=lab.title,
        scenario_text=lab.scenario_text,
        seed=lab.seed,
        until_us=0,
        site="https://lab.example.org",
    )
    told: list[tuple[str, int]] = []
    step = spark_worker.ReportAttempt.step

    def noted(row: Any, number: int, of: int, name: str) -> None:
        told.append((name, of))
        step(row, number, of, name)

    monkeypatch.setattr(spark_worker.ReportAttempt, "step", noted)
    monkeypatch.setattr(spark_worker, "open_session", lambda **_: spark)
    assert spark_worker.ReportAttempt.run(report.pk, 1) == "done"
    report.refresh_from_db()
    return report, told


class Addresses(HTMLParser):
    """Every address that a browser would fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [
            value or ""
            for name, value in attrs
            if name in ("src", "srcset") or (tag == "link" and name == "href")
        ]


def test_a_report_from_the_queue_to_the_downloads(done: tuple[Report, list[tuple[str, int]]]) -> None:
    report, steps = done
    assert len(steps) == steps[0][1] and len({name for name, _ in steps}) == len(steps)
    assert (report.step_number, report.step_count) == (len(steps), len(steps))
    told = json.loads((report.folder / "report.json").read_text())
    run = told["runs"][0]
    failover = run["failovers"][0]
    assert failover["duplicates"] == sum(failover["by_cause"].values()) == report.figures[0]["duplicates"] > 0
    check_contents(report, run, failover)
    check_files(report, failover)
    check_page(report, failover)
    check_that_user_given_names_are_escaped(told)
    client = Client()
    shown = client.get(f"/reports/{report.pk}/").content.decode()
    assert f"/reports/{report.pk}/document/" in shown
    document = client.get(f"/reports/{report.pk}/document/")
    assert (
        "sandbox" in document.headers["Content-Security-Policy"]
        and "default-src 'none'" in document.headers["Content-Security-Policy"]
    )
    assert all(
        client.get(f"/reports/{report.pk}/download/{kind}/").status_code == 200
        for kind in ("html", "csv", "json", "parquet", "trace")
    )


def check_contents(report: Report, run: dict[str, Any], failover: dict[str, Any]) -> None:
    assert run["replay_url"] == f"https://lab.example.org/reports/{report.pk}/replay/"
    assert run["what_if"]["same_bytes"] is True
    assert [entry["name"] for entry in run["what_if"]["variants"]][0] == "as it was"
    assert len(run["what_if"]["variants"]) >= 4
    as_it_was = run["what_if"]["variants"][0]["cases"][0]["figures"]
    assert all(count == failover[name] for name, count in as_it_was.items() if name != "markers")
    assert set(failover["forecast"]) == {"duplicates", "lost", "stranded"}
    assert {name for name, count in failover["by_cause"].items() if count} == set(failover["examples"])
    assert {name: sum(counts.values()) for name, counts in failover["by_origin"].items()} == {
        name: count for name, count in failover["by_cause"].items() if count
    }
    assert all(
        example["evidence"]["seq"] == example["evidence_seq"]
        for example in failover["examples"].values()
        if example["evidence_seq"] is not None
    )
    story = failover["stories"][0]
    of_message = [row for row in story["rows"] if "producer" in row]
    assert of_message[0]["type"] == "message.published" and story["rows"][-1]["seq"] == story["seq"]
    drawn = failover["series"]["deliveries"]
    assert (
        sum(entry["deliveries"] for entry in drawn if entry["kind"] == "duplicate") == failover["duplicates"]
    )
    assert failover["series"]["remaining"][-1][1] == 0
    assert set(failover["series"]["positions"]) == set(run["clusters"])
    assert failover["consumers"] and failover["snapshots"] and run["markers"]
    assert sum(entry["duplicates"] for entry in failover["consumers"]) == failover["duplicates"]


def check_files(report: Report, failover: dict[str, Any]) -> None:
    with (report.folder / "figures.csv").open() as file:
        line = next(csv.DictReader(file))
    assert int(line["duplicates"]) == failover["duplicates"]
    rows = parquet.read_table(report.folder / "deliveries.parquet").to_pylist()
    twice = [row for row in rows if row["verdict"] == "duplicate"]
    assert len(twice) == failover["duplicates"] and all(row["cause"] for row in twice)
    assert {row["cause"] for row in rows if row["verdict"] != "duplicate"} == {None}


def check_page(report: Report, failover: dict[str, Any]) -> None:
    text = (report.folder / "report.html").read_text()
    seen = Addresses()
    seen.feed(text)
    assert seen.found == [], "the page fetches nothing"
    charts = re.findall(r'<script type="application/json" id="[^"]+">(.*?)</script>', text, re.DOTALL)
    assert charts and all(plotly.graph_objects.Figure(json.loads(chart)) for chart in charts)
    assert "Plotly.react(place" in text and "plotly.js (basic - minified) v" in text
    assert len(text.encode()) < PAGE_BYTES_MOST
    for says in (
        "Causes of the duplicates",
        "What would have helped",
        "Deliveries around the failover",
        "Cursor and end of the log",
        "Sync lag",
        "Forecast and actual",
        "Snapshots requested by",
        "Per consumer",
        "Keys with the most duplicates",
        "Single messages, publish to duplicate",
        "Per subscription, cluster and partition",
        "Cost of markers",
        "Run this again",
        "Definitions",
        "Method",
    ):
        assert says in text, says
    assert re.search(rf"{failover['duplicates']} messages? twice", text)


def check_that_user_given_names_are_escaped(told: dict[str, Any]) -> None:
    failover = told["runs"][0]["failovers"][0]
    told["runs"][0]["title"] = failover["subscription"] = "</script><script>alert(1)</script>"
    failover["series"]["positions"] = {"</script><b>": next(iter(failover["series"]["positions"].values()))}
    assert "<script>alert(1)" not in page(told) and "</script><b>" not in page(told)


def test_every_counted_figure_has_a_text() -> None:
    assert list(CAUSES)[: len(DECIDING)] == list(DECIDING) == [cause.name for cause in MIGRATION_CAUSES]
    assert all(term and says.endswith(".") for term, says in DEFINITIONS)


class Wanting(NullProgress):
    """Requests a cancel as soon as four tasks are reported as running."""

    def __init__(self) -> None:
        self.since: float | None = None

    def tasks(self, done: int, of: int) -> None:
        if self.since is None and (done, of) == (0, 4):
            self.since = time.monotonic()

    def cancel_wanted(self) -> bool:
        return self.since is not None


def cancelled_after_s(spark: Any) -> float:
    """How long a job that would run for hours continues after its cancellation."""
    wanting = Wanting()
    steps = [
        ("for ever", lambda: spark.range(0, 10**13, 1, 4).selectExpr("sum(id % 7)").collect()),
        ("never", lambda: pytest.fail("a step after the cancel")),
    ]
    with pytest.raises(Cancelled), Watch(spark, wanting, "a-report") as watch:
        watch.run(steps)
    return time.monotonic() - wanting.since


def test_a_cancel_ends_the_running_spark_job_within_two_seconds(spark: Any) -> None:
    assert any(cancelled_after_s(spark) < 2 for _ in range(5)), "a busy machine may hold one up, not each"
    assert spark.range(3).count() == 3, "the session goes on"
