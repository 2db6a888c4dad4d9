"""Tests of the commands' shared code.

Child processes are always ended, the environment's stamp, requirements of the system.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from script.support import environment, system
from script.support.processes import Stopped, Supervisor
from script.support.run_tests import REAL_BROKERS_TEST, WHOLE_SUITE, selection

ROOT = Path(__file__).resolve().parents[1]

PATIENCE_S = 120
STUBBORN = "import pathlib, signal, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); [pathlib.Path(name).touch() for name in sys.argv[1:]]; print('ready', flush=True); time.sleep(600)"
"""Ignores the request to end, and reports when it starts to do so: in a file of the given name, and as
text.
"""

WITH_CHILD = (
    f"import subprocess, sys, time; print(subprocess.Popen([sys.executable, '-c', {STUBBORN!r}]).pid, "
    f"flush=True); time.sleep(600)"
)


def is_running(pid: int) -> bool:
    """Whether the process exists and is more than a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_run_returns_the_exit_code():
    with Supervisor() as supervisor:
        assert supervisor.run([sys.executable, "-c", "raise SystemExit(7)"]) == 7


def wait_for(what):
    end = time.monotonic() + PATIENCE_S
    while not what():
        assert time.monotonic() < end, "it did not come to this"
        time.sleep(0.02)


def test_leaving_ends_child_processes_that_ignore_the_request(monkeypatch, tmp_path):
    monkeypatch.setattr("script.support.processes.GRACE_SECONDS", 0.2)
    with Supervisor() as supervisor:
        child = supervisor.start([sys.executable, "-c", STUBBORN, str(tmp_path / "stubborn")])
        wait_for((tmp_path / "stubborn").exists)
    assert not is_running(child.pid)


def test_a_signal_ends_children_and_grandchildren():
    """End to end: a supervising process gets SIGTERM while its child's child ignores the request."""
    program = (
        "import sys\nfrom script.support import processes\nfrom script.support.environment import "
        "run_command\n"
        f"processes.GRACE_SECONDS = 0.3\nsys.exit(run_command(lambda supervisor: "
        f"supervisor.run([sys.executable, '-c', {WITH_CHILD!r}])))"
    )
    outer = subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    lines = [outer.stdout.readline().strip(), outer.stdout.readline().strip()]
    grandchild = int(next(line for line in lines if line.isdigit()))
    outer.send_signal(signal.SIGTERM)
    assert outer.wait(timeout=PATIENCE_S) == 128 + signal.SIGTERM
    outer.stdout.close()
    assert not is_running(grandchild)


def test_a_wait_is_interrupted_by_the_signal():
    with Supervisor() as supervisor:
        os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(Stopped):
            supervisor.sleep(PATIENCE_S)


def test_a_stage_is_current_only_with_a_stamp_and_a_working_python(monkeypatch, tmp_path):
    monkeypatch.setattr(environment, "ENVIRONMENT", tmp_path)
    monkeypatch.setattr(environment, "PYTHON", Path(sys.executable))
    assert not environment.is_current(environment.SITE)
    environment.SITE.stamp.write_text(environment.SITE.wanted_stamp())
    assert environment.is_current(environment.SITE) and not environment.is_current(
        environment.SITE, environment.REPORTS
    )
    monkeypatch.setattr(environment, "PYTHON", tmp_path / "python")
    assert not environment.is_current(environment.SITE)


@pytest.mark.parametrize(
    ("said", "enough"),
    [
        ('openjdk version "17.0.15" 2025', True),
        ('openjdk version "11.0.2" 2019', False),
        ('java version "1.8.0_201"', False),
        ("nonsense", False),
    ],
)
def test_java_is_judged_by_its_version(monkeypatch, tmp_path, said, enough):
    program = tmp_path / "bin" / "java"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{said}\nEND\n")
    program.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert system.has("java") is enough


def test_a_package_that_cannot_be_installed_is_reported_without_an_exception(monkeypatch, capsys):
    monkeypatch.setattr(system, "has", lambda _thing: False)
    monkeypatch.setattr(system, "install_debian_package", lambda _supervisor, _package: False)
    with Supervisor() as supervisor:
        assert system.ensure(supervisor, "java") is False
    assert "openjdk-17-jre-headless" in capsys.readouterr().err


def test_an_interrupting_supervisor_ends_a_wait_elsewhere():
    with pytest.raises(Stopped), Supervisor(interrupting=True):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(PATIENCE_S)


def test_a_killed_supervisor_ends_its_children():
    program = (
        "import sys\nfrom script.support.processes import Supervisor\n"
        "with Supervisor() as supervisor:\n"
        "    print(supervisor.start([sys.executable, '-c', 'import time; time.sleep(600)']).pid, "
        "flush=True)\n"
        "    supervisor.sleep(600)"
    )
    outer = subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    child = int(outer.stdout.readline())
    outer.kill()
    outer.wait()
    outer.stdout.close()
    wait_for(lambda: not is_running(child))


COMMANDS = {
    path.name: found[1]
    for path in sorted((ROOT / "script").iterdir())
    if path.is_file() and (found := re.search(r'exec "\$PYTHON" -m (\S+)', path.read_text()))
}
"""The modules behind the commands in `script/`."""


def test_every_command_starts_with_python_alone():
    """The system's Python runs them before anything is installed: `-S` leaves installed packages out."""
    assert {"server", "test", "bench", "screenshot", "screenshots"} <= set(COMMANDS)
    program = "import importlib, sys\nfor name in sys.argv[1:]: importlib.import_module(name)"
    told = subprocess.run(
        [sys.executable, "-S", "-c", program, *COMMANDS.values()],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 0, told.stderr


@pytest.mark.parametrize("name", ["screenshot", "screenshots", "server"])
def test_help_needs_nothing_installed(name):
    told = subprocess.run(
        [sys.executable, "-S", "-m", COMMANDS[name], "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (told.returncode, told.stdout.startswith(f"usage: script/{name}")) == (0, True), told.stderr


def test_the_test_against_real_brokers_runs_on_request_only():
    assert selection([]) == list(WHOLE_SUITE)
    assert selection(["--real-brokers", "-x"]) == [REAL_BROKERS_TEST, "-x"]
    assert (ROOT / REAL_BROKERS_TEST).exists()
    assert not Path(REAL_BROKERS_TEST).name.startswith("test_"), "pytest would collect it in every run"
