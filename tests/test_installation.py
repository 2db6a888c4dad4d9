"""The environment is installed in stages.

The content of each, repeating an interrupted one, taking turns, progress, failure. pip is replaced here by a
script in place of the environment's Python that records what it should install.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from script.support import environment, report_tools, serve
from script.support.environment import REPORTS, SITE, TESTS, SetUpFailed, step_of
from script.support.processes import Supervisor

ROOT = Path(__file__).resolve().parents[1]
PATIENCE_S = 120

PIP = """\
#!/bin/sh
case "$1" in -c) exit 0;; esac
echo "$*" >> "$CALLS"
echo "Collecting pyspark==4.3.0"
while [ -e "$HOLD" ]; do sleep 0.05; done
echo "Installing collected packages: py4j, pyspark"
if [ -e "$BREAK" ]; then echo "ERROR: No space left on device" >&2; exit 1; fi
"""

PROGRAM = """\
import sys
from pathlib import Path
from script.support import environment, report_tools
root = Path(sys.argv[1])
environment.ENVIRONMENT, environment.PYTHON = root / ".venv", root / ".venv" / "bin" / "python"
environment.REQUIREMENTS, environment.TEST_REQUIREMENTS = root / "requirements.txt", root / "tests.txt"
sys.exit(environment.run_command(lambda supervisor: report_tools.install(supervisor, may_ask_apt=False)))
"""


class Checkout:
    """A folder with requirements and a replacement for pip."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root = root
        self.calls, self.hold, self.broken = root / "calls", root / "hold", root / "break"
        self.status = root / "data" / report_tools.STATUS_NAME
        python = root / ".venv" / "bin" / "python"
        python.parent.mkdir(parents=True)
        python.write_text(PIP)
        python.chmod(0o755)
        (root / "requirements.txt").write_text("# pins\nDjango==1\n# reports\npyspark==2\n")
        (root / "tests.txt").write_text("pytest==3\n")
        for name, value in {
            "CALLS": self.calls,
            "HOLD": self.hold,
            "BREAK": self.broken,
            "FAILOVER_LAB_DATA": root / "data",
        }.items():
            monkeypatch.setenv(name, str(value))
        monkeypatch.setattr(environment, "ENVIRONMENT", root / ".venv")
        monkeypatch.setattr(environment, "PYTHON", python)
        monkeypatch.setattr(environment, "REQUIREMENTS", root / "requirements.txt")
        monkeypatch.setattr(environment, "TEST_REQUIREMENTS", root / "tests.txt")

    def installed(self) -> list[str]:
        """The pins of each call of pip, in order."""
        lines = self.calls.read_text().splitlines() if self.calls.exists() else []
        return [" ".join(word for word in line.split() if "==" in word) for line in lines]

    def start_tools(self) -> subprocess.Popen[str]:
        """Installs the reports' stage in a separate process."""
        return subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(self.root)], cwd=ROOT, stderr=subprocess.PIPE, text=True
        )

    def reported(self) -> dict[str, str]:
        return json.loads(self.status.read_text()) if self.status.exists() else {}


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    return Checkout(tmp_path, monkeypatch)


def wait_for(what):
    end = time.monotonic() + PATIENCE_S
    while not what():
        assert time.monotonic() < end, "it did not come to this"
        time.sleep(0.02)


def test_every_pin_belongs_to_one_stage_and_spark_and_tests_not_to_the_sites():
    names = {
        stage.name: {pin.split("==")[0] for pin in stage.requirements()} for stage in (SITE, REPORTS, TESTS)
    }
    assert {"Django", "channels", "uvicorn", "whitenoise"} <= names["site"]
    assert {"pyspark", "pyarrow"} <= names["reports"]
    assert {"pytest", "playwright", "duckdb"} <= names["tests"]
    assert not names["site"] & names["reports"] and not (names["site"] | names["reports"]) & names["tests"]
    whole = [
        line for line in (ROOT / "requirements.txt").read_text().splitlines() if not line.startswith("#")
    ]
    assert whole == SITE.requirements() + REPORTS.requirements(), (
        "pip install -r requirements.txt installs both"
    )


def test_the_site_runs_with_its_own_stage_only(tmp_path):
    """Pages of all kinds are made, and the worker of small experiments is loaded, in a process in which the
    other stages' modules cannot be imported.
    """
    program = """
import sys
class Refusing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"pyarrow", "pyspark", "pandas", "grpc", "grpc_status", "zstandard", "jinja2", "markupsafe", "jsonschema", "pytest", "playwright", "duckdb", "daphne", "simpy", "hypothesis"}:
            raise ImportError(f"{name} is not installed")
sys.meta_path.insert(0, Refusing())
import labsite.asgi
from django.core.management import call_command
from django.test import Client
call_command("migrate", verbosity=0)
client = Client(headers={"host": "localhost"})
made = client.post("/labs/", {"scenario": "two-regions"}, content_type="application/json").json()
for path in ("/", "/my-set-up/", "/editor/", "/editor/schema.json", "/experiments/", "/audits/", "/fidelity/", "/glossary/", "/compare/strategies-between-snapshots/", "/api/openapi.json", "/scenarios/pictures.json", "/my-labs/", made["url"].split("#")[0], "/static/js/pages/lab.js", "/static/plotly/plotly-basic.min.js"):
    print(path, client.get(path).status_code)
import labsite.management.commands.db_worker
import labsite.engine_worker
import io
from simulator.headless import simulate
print("run", simulate("two-regions", io.StringIO(), io.StringIO(), until="1s"))
complaint = io.StringIO()
print("run-with-trace", simulate("two-regions", io.StringIO(), complaint, until="1s", trace_path="run.parquet"))
assert "script/server" in complaint.getvalue(), complaint.getvalue()
"""
    environ = {
        **os.environ,
        "FAILOVER_LAB_DATA": str(tmp_path),
        "DJANGO_SETTINGS_MODULE": "labsite.settings",
        "DATABASE_URL": "",
        "REDIS_URL": "",
    }
    answer = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env=environ,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    statuses = dict(line.rsplit(" ", 1) for line in answer.stdout.splitlines())
    assert (statuses.pop("run"), statuses.pop("run-with-trace")) == ("0", "2"), (
        "only a trace file needs the reports' packages"
    )
    assert len(statuses) == 15 and statuses.pop("/my-labs/") in ("200", "404"), statuses
    assert set(statuses.values()) == {"200"}, statuses


def test_each_stage_is_installed_once_and_again_when_its_own_pins_change(checkout):
    with Supervisor() as supervisor:
        assert environment.ensure_environment(supervisor, SITE)
        assert environment.ensure_environment(supervisor, SITE, REPORTS, TESTS)
        assert not environment.ensure_environment(supervisor, SITE, REPORTS, TESTS)
        assert checkout.installed() == ["Django==1", "pyspark==2", "pytest==3"]
        (checkout.root / "requirements.txt").write_text("# pins\nDjango==1\n# reports\npyspark==4\n")
        environment.ensure_environment(supervisor, SITE, REPORTS, TESTS)
    assert checkout.installed()[3:] == ["pyspark==4"]


def test_a_failed_stage_has_no_stamp_and_is_repeated(checkout):
    checkout.broken.touch()
    with Supervisor() as supervisor:
        with pytest.raises(SetUpFailed, match="what the site needs"):
            environment.ensure_environment(supervisor, SITE, REPORTS)
        assert not SITE.is_current() and not REPORTS.is_current()
        checkout.broken.unlink()
        environment.ensure_environment(supervisor, SITE, REPORTS)
    assert checkout.installed() == ["Django==1", "Django==1", "pyspark==2"]


def test_a_new_environment_has_a_working_pip_without_installing_it(tmp_path, monkeypatch):
    """Python's own wheel of pip is unpacked.

    ensurepip, which takes seconds, is used only where there is no such wheel.
    """
    monkeypatch.setattr(environment, "ENVIRONMENT", tmp_path / ".venv")
    monkeypatch.setattr(environment, "PYTHON", tmp_path / ".venv" / "bin" / "python")
    asked = []

    class Recording(Supervisor):
        def run(self, command, environment=None):
            asked.append(command[1:3])
            return super().run(command, environment) if command[2] == "venv" else 0

    with Recording() as supervisor:
        environment._make(supervisor)
        assert environment._works(environment.PYTHON) and asked == [["-m", "venv"]]
        listed = subprocess.run(
            [str(environment.PYTHON), "-m", "pip", "list", "--disable-pip-version-check"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        assert [line.split()[0] for line in listed.splitlines()[2:]] == ["pip"], (
            "it knows that it is installed"
        )
        monkeypatch.setattr(environment, "_unpack_pip", lambda: None)
        environment._make(supervisor)
    assert asked[1:] == [["-m", "venv"], ["-m", "ensurepip"]]


def test_progress_is_reported_and_removed_at_the_end(checkout):
    checkout.hold.touch()
    tools = checkout.start_tools()
    wait_for(lambda: checkout.reported() == {"state": "installing", "words": "fetching pyspark"})
    checkout.hold.unlink()
    assert tools.wait(timeout=PATIENCE_S) == 0
    tools.stderr.close()
    assert checkout.reported() == {} and REPORTS.is_current()


def test_an_interrupted_installation_leaves_no_stamp_and_the_next_one_finishes(checkout):
    checkout.hold.touch()
    tools = checkout.start_tools()
    wait_for(lambda: checkout.reported().get("words") == "fetching pyspark")
    tools.send_signal(signal.SIGINT)
    assert tools.wait(timeout=PATIENCE_S) == 128 + signal.SIGINT
    tools.stderr.close()
    assert not REPORTS.is_current() and checkout.reported() == {}
    checkout.hold.unlink()
    again = checkout.start_tools()
    assert again.wait(timeout=PATIENCE_S) == 0
    again.stderr.close()
    assert REPORTS.is_current() and checkout.installed() == ["pyspark==2", "pyspark==2"]


def test_a_failure_is_reported_in_the_terminal_and_on_the_page(checkout):
    checkout.broken.touch()
    tools = checkout.start_tools()
    _, errors = tools.communicate(timeout=PATIENCE_S)
    assert tools.returncode == 2
    assert "No space left on device" in errors and "pip could not install Spark" in errors
    assert checkout.reported() == {"state": "failed", "words": "pip ended with an error"}


def test_two_commands_take_turns(checkout):
    with (checkout.root / "requirements.txt").open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        tools = checkout.start_tools()
        assert "Another command is setting up" in tools.stderr.readline()
        assert checkout.installed() == [] and checkout.reported()["words"] == "waiting for its turn"
        fcntl.flock(lock, fcntl.LOCK_UN)
    assert tools.wait(timeout=PATIENCE_S) == 0
    tools.stderr.close()
    assert checkout.installed() == ["pyspark==2"]


def test_the_step_of_pip_is_read_from_its_latest_line():
    assert step_of("") == ""
    assert (
        step_of("Collecting pyspark==4.3.0\n  Downloading pyspark-4.3.0.tar.gz (434 MB)\n")
        == "fetching pyspark"
    )
    assert (
        step_of("Collecting py4j<0.11\nInstalling collected packages: py4j, pyspark, numpy\n")
        == "unpacking 3 packages"
    )


class Arguments:
    no_worker = False
    no_install = True


@pytest.mark.parametrize(("code", "comes"), [(0, True), (2, False)])
def test_the_worker_starts_when_spark_is_installed_and_a_failure_does_not_end_the_site(
    monkeypatch, capsys, tmp_path, code, comes
):
    work = tmp_path / "work"
    monkeypatch.setattr(
        serve, "tools_command", lambda _no_install: [sys.executable, "-c", f"raise SystemExit({code})"]
    )
    monkeypatch.setattr(
        serve,
        "worker_command",
        lambda: [
            sys.executable,
            "-c",
            f"import pathlib, time; pathlib.Path({str(work)!r}).touch(); time.sleep(600)",
        ],
    )
    with Supervisor() as supervisor:
        reports = serve.Reports(supervisor, Arguments(), dict(os.environ), has_spark=False)
        reports.look_after()
        assert not work.exists()

        def over() -> bool:
            reports.look_after()
            return reports._installing is None

        wait_for(over)
        if comes:
            wait_for(work.exists)
        reports.look_after()
    assert work.exists() is comes
    assert ("Spark could not be installed" in capsys.readouterr().err) is not comes
