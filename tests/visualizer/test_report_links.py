"""The replay link of a downloaded report: an address of the site that made it, or a command line."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
import subprocess
import sys
from html import unescape
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from asgiref.sync import sync_to_async
from django.test import AsyncClient, Client

from simulator import World, load_scenario_text
from spark_reports.html.sections import replay
from tests.visualizer.pages import PATIENCE_S, SCENARIO, Page, saved
from visualizer.labs.definitions import copy_of, new_lab
from visualizer.labs.hub import current_hub
from visualizer.models import Lab
from visualizer.tasks.models import Report
from visualizer.tasks.requests import ask_for_report

ROOT = Path(__file__).resolve().parents[2]


def run_of(commands: list[dict], until_us: int = 1_000_000) -> dict:
    world = World.replay(load_scenario_text(SCENARIO), 7, commands, until_us)
    return {
        "run": 3,
        "commands": commands,
        "engine_version": "1",
        "scenario": "two-towns",
        "seed": 7,
        "until_us": until_us,
        "rows": len(world.trace),
        "trace_sha256": world.digest(),
        "scenario_text": SCENARIO,
    }


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("headers", "site"),
    [
        ({"host": "lab.example.org"}, "http://lab.example.org"),
        ({"host": "lab.example.org:8443", "x-forwarded-proto": "https"}, "https://lab.example.org:8443"),
    ],
)
def test_a_report_stores_the_site_that_made_it(settings, monkeypatch, headers, site):
    settings.ALLOWED_HOSTS, settings.SECURE_PROXY_SSL_HEADER = (
        ["lab.example.org"],
        ("HTTP_X_FORWARDED_PROTO", "https"),
    )
    monkeypatch.setattr(Report, "enqueue", lambda report: None)
    made = new_lab({"yaml": SCENARIO})
    answer = Client().post(
        f"/labs/{made.lab.pk}/reports/",
        json.dumps({"token": made.token}),
        content_type="application/json",
        headers=headers,
    )
    assert answer.status_code == 201
    report = Report.objects.get(pk=answer.json()["id"])
    assert report.site == site
    from labsite.spark_worker import replay_url_of

    url = urlsplit(replay_url_of(report))
    assert (f"{url.scheme}://{url.netloc}", url.path) == (site, f"/reports/{report.pk}/replay/")
    report.site = ""
    assert replay_url_of(report) is None, "a report of before: its page gives the command line"


def test_the_page_links_to_the_site_that_made_it_and_says_how_to_replay_without_it():
    text = replay({**run_of([]), "replay_url": "https://lab.example.org/reports/x/replay/"})
    assert 'href="https://lab.example.org/reports/x/replay/"' in text
    assert "in the lab on lab.example.org</a>" in text
    without = text.split("<dt>replay without lab.example.org</dt>")[1]
    assert "python manage.py simulate scenario.yaml" in without.split("</dd>")[0]


async def report_on(lab_id: str, branch: int, **body: int) -> Report:
    """A report requested by the lab's owner once the lab is stored on this branch."""
    await saved(lab_id)
    async with asyncio.timeout(PATIENCE_S):
        while (await Lab.objects.aget(pk=lab_id)).branch != branch:
            await asyncio.sleep(0.02)
    return await sync_to_async(
        lambda: ask_for_report(Lab.objects.get(pk=lab_id), body, "http://testserver")
    )()


async def digest_of_replay(report: Report, at_us: int) -> str:
    """Digest of the lab of a report's replay link up to its furthest instant, which must be `at_us`."""
    client = AsyncClient(headers={"host": "testserver"})
    assert (
        f"up to {at_us / 1e6:.3f} s" in (await client.get(f"/reports/{report.pk}/replay/")).content.decode()
    )
    answer = await client.post(f"/reports/{report.pk}/replay/")
    lab_id, token = answer.headers["Location"].removeprefix("/labs/").split("/#token=")
    page = Page(lab_id, token)
    await page.open()
    frame = await page.frame()
    assert (frame["at_us"], [branch["furthest_us"] for branch in frame["branches"]]) == (0, [at_us])
    await page.seek(at_us)
    digest = json.loads(await current_hub().ask(lab_id, "inputs"))["digest"]
    await page.close()
    return digest


async def test_a_report_is_replayed_unchanged_whatever_its_lab_did_since(made, monkeypatch):
    """Reports about three branches of one lab: each link leads to the run of its own report."""
    monkeypatch.setattr(Report, "enqueue", lambda report: None)
    monkeypatch.setattr("visualizer.tasks.requests.WAITING_OF_LAB", 4)
    page, lab_id = Page(made.lab.pk, made.token), made.lab.pk
    await page.open()
    plain = await report_on(lab_id, 0, until_us=2_500_000)
    await page.seek(2_000_000)
    assert (await page.command(do="cluster.crash", cluster="b"))["ok"]
    crashed = await report_on(lab_id, 0, until_us=3_000_000)
    await page.seek(1_000_000)
    assert (await page.command(do="link.cut", link="a <-> b"))["ok"]
    cut = await report_on(lab_id, 1, until_us=1_500_000)
    await page.send({"type": "branch", "number": 0})
    await page.frame(lambda frame: frame["branch"] == 0)
    again = await report_on(lab_id, 0, until_us=3_000_000)
    await page.close()
    assert [[entry["do"] for entry in report.commands] for report in (plain, crashed, cut, again)] == [
        [],
        ["cluster.crash"],
        ["link.cut"],
        ["cluster.crash"],
    ]
    for report in (plain, crashed, cut):
        scenario = load_scenario_text(report.scenario_text, seed=report.seed)
        assert (
            await digest_of_replay(report, report.until_us)
            == World.replay(scenario, report.seed, report.commands, report.until_us).digest()
        )


@pytest.mark.django_db
def test_a_copy_has_the_commands_of_its_labs_branch(monkeypatch):
    monkeypatch.setattr(Report, "enqueue", lambda report: None)
    commands = [{"number": 1, "at_us": 500_000, "do": "cluster.crash", "cluster": "b"}]
    lab = new_lab({"yaml": SCENARIO}).lab
    Lab.objects.filter(pk=lab.pk).update(command_log=commands)
    lab.refresh_from_db()
    copy = Lab.objects.get(pk=copy_of(lab).lab.pk)
    assert ask_for_report(copy, {}, "http://testserver").commands == commands


@pytest.mark.django_db
def test_a_replay_link_of_a_deleted_report_or_from_another_site_creates_nothing():
    assert Client().get("/reports/nosuchreport/replay/").status_code == 404
    lab = new_lab({"yaml": SCENARIO}).lab
    report = Report.objects.create(
        lab=lab, title=lab.title, scenario_text=lab.scenario_text, seed=lab.seed, until_us=0
    )
    assert (
        Client()
        .post(f"/reports/{report.pk}/replay/", headers={"origin": "https://elsewhere.example.org"})
        .status_code
        == 403
    )
    assert Client().post(f"/reports/{report.pk}/replay/?at_us=soon").status_code == 400
    assert Lab.objects.count() == 1


@pytest.mark.parametrize(
    "commands",
    [[], [{"number": 1, "at_us": 500_000, "do": "cluster.crash", "cluster": "b"}]],
    ids=["no live commands", "one live command"],
)
def test_without_a_site_the_page_has_a_command_line_that_replays_the_run(tmp_path, commands):
    run = run_of(commands)
    text = replay(run)
    assert "href" not in text
    line = unescape(re.search("<code>(.*?)</code>", text, re.DOTALL)[1])
    (tmp_path / "scenario.yaml").write_text(run["scenario_text"])
    (tmp_path / "report.json").write_text(json.dumps({"runs": [{"run": 1}, run]}))
    words = shlex.split(line)
    assert words[0] == "python"
    environment = {"PYTHONPATH": str(ROOT), "PATH": "", "FAILOVER_LAB_DATA": str(tmp_path)}
    told = subprocess.run(
        [
            sys.executable,
            *(str(ROOT / word) if word == "manage.py" else word for word in words[1:]),
            *([] if commands else ["--json"]),
        ],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert run["trace_sha256"] in told
