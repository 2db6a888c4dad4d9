"""A site with a rule of one's own: what its labs offer, what a shared site refuses, whose error a failing rule is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from script.support import serve
from script.support.environment import SetUpFailed
from script.support.processes import Supervisor
from simulator import load_rules
from simulator.scenarios.builtin import builtin_text
from simulator.scenarios.settings import RULE
from tests.visualizer.site import Site
from visualizer.tasks.experiments import offered

ROOT = Path(__file__).resolve().parents[2]
LISTED = ROOT / "docs" / "rules" / "listed_acks.py"
FAILS = """from simulator.protocols.pulsar.snapshots.rules import Rule


class Fails(Rule):
    def update_due(self, subscription, usable):
        return subscription.no_such_fact
"""


def site_with(monkeypatch: pytest.MonkeyPatch, data: Path, path: Path) -> Site:
    monkeypatch.setenv(serve.RULES, str(path))
    return Site(data).wait()


def asked(site: Site, path: str, given: dict[str, Any] | None = None) -> dict[str, Any]:
    """The answer to a GET or a POST, also of a refusal."""
    body = None if given is None else json.dumps(given).encode()
    headers = {} if given is None else {"Content-Type": "application/json"}
    request = urllib.request.Request(f"http://127.0.0.1:{site.port}{path}", body, headers)
    try:
        with urllib.request.urlopen(request) as answer:
            return json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return json.loads(error.read())


def lab_of(site: Site, **given: Any) -> str:
    return asked(site, "/run/", {"format": 1, "until_us": 10_000_000, "commands": [], **given})["url"]


def test_labs_of_a_site_with_a_rule_run_beside_it_and_its_digest_opens_only_there(monkeypatch, tmp_path):
    site = site_with(monkeypatch, tmp_path, LISTED)
    try:
        lab = lab_of(site, scenario="ack-hole-delayed-message")
        beside = f"{lab}beside.json?left=branch-0&right=variant-rule-listed_acks"
        while (found := asked(site, beside)).get("state") == "running":
            pass
        assert [cases[0]["duplicates"] for cases in found["cases"]] == [48, 14]
        text = found["right"]["run"]["yaml"]
        assert 'replicatedSubscriptionsRule: "listed_acks@' in text
    finally:
        site.stop()
    monkeypatch.delenv(serve.RULES)
    site = Site(tmp_path).wait()
    try:
        refused = asked(site, "/run/", {"format": 1, "until_us": 1, "commands": [], "yaml": text})
        assert "start with --rules listed_acks.py" in json.dumps(refused)
    finally:
        site.stop()


def test_a_failing_rule_stops_its_own_lab_with_file_and_line(monkeypatch, tmp_path):
    path = tmp_path / "fails.py"
    path.write_text(FAILS)
    site = site_with(monkeypatch, tmp_path, path)
    try:
        lab = lab_of(site, scenario="ack-hole-delayed-message")
        while not (answer := asked(site, f"{lab}what-if.json")).get("done") and not answer.get("words"):
            pass
        assert f"{path}, line 6: update_due failed: AttributeError" in json.dumps(answer)
        assert "nternal error" not in json.dumps(answer)
        assert asked(site, f"{lab}summary.json")["failovers"][0]["duplicates"] == 48, "the lab itself goes on"
        own = asked(site, f"{lab}beside.json?left=branch-0&right=variant-rule-fails")["right"]["run"]
        stopped = asked(site, "/run/", own)
        assert f"{path}, line 6" in json.dumps(asked(site, f"{stopped['url']}summary.json"))
    finally:
        site.stop()


def test_experiments_offer_the_loaded_rule():
    text = builtin_text("two-regions")

    def rules(text: str) -> list[tuple[str, ...]]:
        return [one.parameter.values for one in offered(text) if RULE in one.path]

    assert rules(text) == []
    load_rules(LISTED)
    assert rules(f"{text}\n# read again\n") == [("built-in", "listed_acks")]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SECURE", "1"),
        ("SHARED_ADDRESS", "http://192.168.1.20:8000"),
        ("REDIS_URL", "redis://127.0.0.1:6399/0"),
        ("TRUSTED_PROXIES", "10.0.0.1"),
        ("ALLOWED_HOSTS", "localhost,lab.example.org"),
    ],
)
def test_a_shared_site_has_no_rule_and_its_check_says_so(tmp_path, name, value):
    program = "import django; django.setup(); from django.conf import settings; from simulator import loaded_rules\n"
    program += "from django.core.management import call_command\nprint(settings.RULES, loaded_rules())\n"
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "labsite.settings",
        "FAILOVER_LAB_DATA": str(tmp_path),
        serve.RULES: str(LISTED),
    }

    def ran(*words: str, **more: str) -> subprocess.CompletedProcess[str]:
        given = [sys.executable, *words]
        return subprocess.run(
            given, cwd=ROOT, env={**environment, **more}, capture_output=True, text=True, check=False
        )

    assert ran("-c", program).stdout.startswith("listed_acks@")
    assert ran("-c", program, **{name: value}).stdout == "None None\n"
    checked = ran("manage.py", "check", **{name: value})
    assert checked.returncode != 0 and f"to a site that others can reach ({name})" in checked.stderr


@pytest.mark.parametrize("words", [["--lan"], ["--host", "0.0.0.0"], ["--host", "192.168.1.20"]])
def test_the_server_command_refuses_a_rule_beyond_this_machine(monkeypatch, words):
    monkeypatch.setattr(sys, "argv", ["script/server", "--rules", str(LISTED), *words])
    monkeypatch.setattr(serve, "run_command", lambda work: work(Supervisor()))
    with pytest.raises(SetUpFailed, match="a site that others can reach takes none"):
        serve.main()
