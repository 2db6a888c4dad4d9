"""The site itself: settings from the environment, checks, headers, static files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.checks import run_checks

ROOT = Path(__file__).resolve().parents[2]


def run_manage(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    given = {
        name: value
        for name, value in os.environ.items()
        if name not in ("DATABASE_URL", "REDIS_URL", "SECRET_KEY", "ALLOWED_HOSTS", "DEBUG")
    }
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env={**given, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def settings_with(tmp_path: Path, names: list[str], **environment: str) -> dict:
    code = (
        f"import json; from django.conf import settings; print(json.dumps({{name: getattr(settings, name) "
        f"for name in {names!r}}}, default=str))"
    )
    done = run_manage("shell", "--no-imports", "-c", code, FAILOVER_LAB_DATA=str(tmp_path), **environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_defaults_work_on_a_single_machine(tmp_path):
    found = settings_with(tmp_path, ["DATABASES", "CHANNEL_LAYERS", "SECRET_KEY", "ALLOWED_HOSTS", "DEBUG"])
    database = found["DATABASES"]["default"]
    assert database["ENGINE"].endswith("sqlite3") and database["OPTIONS"]["transaction_mode"] == "IMMEDIATE"
    assert database["OPTIONS"]["timeout"] == 5 and "WAL" in database["OPTIONS"]["init_command"]
    assert "InMemory" in found["CHANNEL_LAYERS"]["default"]["BACKEND"]
    assert found["DEBUG"] is False and found["ALLOWED_HOSTS"] == ["localhost", "127.0.0.1", "[::1]"]
    key = tmp_path / "secret-key"
    assert key.read_text() == found["SECRET_KEY"] and len(found["SECRET_KEY"]) >= 32
    assert key.stat().st_mode & 0o077 == 0
    assert settings_with(tmp_path, ["SECRET_KEY"])["SECRET_KEY"] == found["SECRET_KEY"], (
        "the next start keeps the key"
    )


def test_the_environment_sets_what_a_deployment_needs(tmp_path):
    found = settings_with(
        tmp_path,
        ["DATABASES", "CHANNEL_LAYERS", "SECRET_KEY", "ALLOWED_HOSTS"],
        DATABASE_URL="postgres://lab:secret@db.example/lab",
        REDIS_URL="redis://cache.example/1",
        SECRET_KEY="k" * 50,
        ALLOWED_HOSTS="lab.example.org, www.lab.example.org",
    )
    assert found["DATABASES"]["default"]["ENGINE"].endswith("postgresql") and "transaction_mode" not in str(
        found["DATABASES"]
    )
    assert found["CHANNEL_LAYERS"]["default"]["CONFIG"]["hosts"] == ["redis://cache.example/1"]
    assert found["SECRET_KEY"] == "k" * 50
    assert found["ALLOWED_HOSTS"] == ["lab.example.org", "www.lab.example.org"]


def test_wrong_values_are_all_reported_at_the_start(tmp_path):
    done = run_manage(
        "check",
        FAILOVER_LAB_DATA=str(tmp_path),
        DATABASE_URL="oracle://x",
        REDIS_URL="localhost",
        SECRET_KEY="short",
        DEBUG="maybe",
        TRUSTED_ORIGINS="lab.example.org",
    )
    assert done.returncode != 0
    for text in (
        "DATABASE_URL",
        "REDIS_URL",
        "SECRET_KEY has 5 characters",
        "DEBUG",
        "lab.example.org",
        "HINT",
    ):
        assert text in done.stderr


def test_the_current_settings_pass_their_checks():
    assert run_checks() == []


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/", "/labs/nosuchlab/", "/static/js/pages/lab.js", "/nowhere"])
def test_every_response_has_the_security_headers(client, path):
    headers = client.get(path).headers
    policy = headers["Content-Security-Policy"]
    assert "default-src 'self'" in policy and "script-src" not in policy and "http" not in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "same-origin"


@pytest.mark.parametrize("path", ["/static/js/pages/lab.js", "/static/plotly/plotly-basic.min.js"])
def test_static_files_are_served_without_another_server(client, path):
    answer = client.get(path)
    assert answer.status_code == 200 and "javascript" in answer.headers["Content-Type"]
    again = client.get(path, headers={"if-none-match": answer.headers["ETag"]})
    assert again.status_code == 304


@pytest.mark.parametrize(
    "path", ["/static/../manage.py", "/static/%2e%2e/manage.py", "/static/js/../../manage.py"]
)
def test_static_files_outside_their_folder_are_404(client, path):
    assert client.get(path).status_code == 404


def test_sqlite_waits_for_other_writers(tmp_path):
    code = (
        "from django.db import connection; c = connection.cursor(); print([c.execute(f'PRAGMA "
        "{p}').fetchone()[0] for p in ('journal_mode', 'busy_timeout')])"
    )
    done = run_manage("shell", "--no-imports", "-c", code, FAILOVER_LAB_DATA=str(tmp_path))
    assert "['wal', 5000]" in done.stdout, done.stderr
