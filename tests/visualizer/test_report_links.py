"""The replay link of a report that was downloaded: an address of the site that made it, or a command line."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from html import unescape
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.test import Client

from simulator import World, load_scenario_text
from spark_reports.html import sections
from tests.visualizer.pages import SCENARIO
from visualizer.definitions import new_lab
from visualizer.reports.models import Report

ROOT = Path(__file__).resolve().parents[2]


def run_of(commands: list[dict], until_us: int = 1_000_000) -> dict:
    world = World.replay(load_scenario_text(SCENARIO), 7, commands, until_us)
    return {"run": 3, "commands": commands, "engine_version": "1", "scenario": "two-towns", "seed": 7, "until_us": until_us, "rows": len(world.trace), "trace_sha256": world.digest(), "scenario_text": SCENARIO}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("headers", "site"), [({"host": "lab.example.org"}, "http://lab.example.org"), ({"host": "lab.example.org:8443", "x-forwarded-proto": "https"}, "https://lab.example.org:8443")])
def test_a_report_remembers_the_site_that_was_asked(settings, monkeypatch, headers, site):
    settings.ALLOWED_HOSTS, settings.SECURE_PROXY_SSL_HEADER = ["lab.example.org"], ("HTTP_X_FORWARDED_PROTO", "https")
    monkeypatch.setattr("visualizer.reports.views.queue", lambda report: None)
    monkeypatch.setattr("visualizer.reports.requests.queue", lambda report: None)
    made = new_lab({"yaml": SCENARIO})
    answer = Client().post(f"/labs/{made.lab.pk}/reports/", json.dumps({"token": made.token}), content_type="application/json", headers=headers)
    assert answer.status_code == 201
    report = Report.objects.get(pk=answer.json()["id"])
    assert report.site == site
    from labsite.report_worker import replay_url_of

    url = urlsplit(replay_url_of(report))
    assert (f"{url.scheme}://{url.netloc}", url.path) == (site, f"/labs/{made.lab.pk}/replay/")
    report.site = ""
    assert replay_url_of(report) is None, "a report of before: its page gives the command line"


def test_the_page_links_to_the_site_that_made_it():
    text = sections.replay({**run_of([]), "replay_url": "https://lab.example.org/labs/x/replay/"})
    assert 'href="https://lab.example.org/labs/x/replay/"' in text and "manage.py" not in text


@pytest.mark.parametrize("commands", [[], [{"number": 1, "at_us": 500_000, "do": "cluster.crash", "cluster": "b"}]], ids=["none by hand", "one by hand"])
def test_without_a_site_the_page_gives_a_command_line_that_replays_the_run(tmp_path, commands):
    run = run_of(commands)
    text = sections.replay(run)
    assert "href" not in text
    line = unescape(re.search("<code>(.*?)</code>", text, re.DOTALL)[1])
    (tmp_path / "scenario.yaml").write_text(run["scenario_text"])
    (tmp_path / "report.json").write_text(json.dumps({"runs": [{"run": 1}, run]}))
    words = shlex.split(line)
    assert words[0] == "python"
    environment = {"PYTHONPATH": str(ROOT), "PATH": "", "FAILOVER_LAB_DATA": str(tmp_path)}
    told = subprocess.run([sys.executable, *(str(ROOT / word) if word == "manage.py" else word for word in words[1:]), *([] if commands else ["--json"])], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True).stdout
    assert run["trace_sha256"] in told
