"""Tests of `script/check`.

Every check runs and is named when it fails; the page's tools detect what they are meant to detect.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from script.support import environment, page_tools, run_checks, run_tests, system
from script.support.processes import Supervisor
from script.support.run_checks import CHECKS, Check, Outcome

ROOT = Path(__file__).resolve().parents[1]
PASSES, FAILS = (sys.executable, "-c", "pass"), (sys.executable, "-c", "raise SystemExit(3)")


def test_every_check_runs_and_the_failed_ones_are_named_at_the_end(capsys):
    checks = [Check("spelling", FAILS, remedy="fix-spelling ."), Check("length", PASSES)]
    with Supervisor() as supervisor:
        outcomes = run_checks.run_checks(supervisor, checks, has_page_tools=True)
    assert outcomes == {"spelling": Outcome.FAILED, "length": Outcome.PASSED}
    *_before, named, last = capsys.readouterr().err.splitlines()
    assert "spelling: FAILED" in named and "fix-spelling ." in named
    assert last == "1 of 2 checks passed."


def test_a_check_without_its_tools_is_not_run_and_does_not_pass(monkeypatch, capsys):
    monkeypatch.setattr(run_checks, "CHECKS", (Check("page", PASSES, needs_page_tools=True),))
    with Supervisor() as supervisor:
        outcomes = run_checks.run_checks(supervisor, run_checks.CHECKS, has_page_tools=False)
    assert outcomes == {"page": Outcome.NOT_RUN}
    assert "0 of 1 checks passed." in capsys.readouterr().err


def test_the_table_contains_formatter_and_linters_of_both_languages_in_order():
    assert [check.name for check in CHECKS][:2] == ["ruff check", "ruff format"]
    assert [check.name for check in CHECKS if check.needs_page_tools] == ["eslint", "tsc"]


class Recorder:
    """Replaces the supervisor: records the commands; a command that contains `broken` fails."""

    def __init__(self, broken: str = "") -> None:
        self.broken, self.commands = broken, []

    def run(self, command, environment=None) -> int:
        self.commands.append(" ".join(command))
        return 1 if self.broken and self.broken in self.commands[-1] else 0


@pytest.fixture
def set_up(monkeypatch):
    """Everything is installed, as far as the commands can detect."""
    monkeypatch.setattr(run_tests, "ensure_environment", lambda *_arguments: False)
    monkeypatch.setattr(page_tools, "ensure", lambda _supervisor: True)
    monkeypatch.setattr(system, "ensure", lambda _supervisor, _thing: True)


@pytest.mark.usefixtures("set_up")
def test_the_whole_suite_starts_with_the_checks():
    recorder = Recorder()
    assert run_tests.run_tests(recorder, []) == 0
    assert ["ruff" in command for command in recorder.commands][:2] == [True, True]
    assert [command for command in recorder.commands if "-m pytest" in command] == recorder.commands[-1:]


@pytest.mark.usefixtures("set_up")
def test_no_test_runs_when_a_check_fails(capsys):
    recorder = Recorder(broken="eslint")
    assert run_tests.run_tests(recorder, []) == 1
    assert not any("pytest" in command for command in recorder.commands)
    assert capsys.readouterr().err.endswith("No test was run. script/check runs these checks alone.\n")


PASSES_ALONE = """
import pathlib

def test_passes():
    pass

def test_fails_once(pytestconfig):
    ran = pathlib.Path(pytestconfig.rootpath, "ran")
    before = ran.exists()
    ran.touch()
    assert before
"""
ALWAYS_FAILS = """
def test_fails():
    assert False
"""


@pytest.fixture
def suite(set_up, monkeypatch, tmp_path):
    """A function that runs `script/test` on a suite of one file with the given text."""
    monkeypatch.setattr(run_tests, "run_checks", lambda _supervisor, has_page_tools: {})
    monkeypatch.setattr(run_tests, "WHOLE_SUITE", ("-p", "xdist", "-n", "2"))
    monkeypatch.setattr(run_tests, "LAST_FAILED", tmp_path / ".pytest_cache/v/cache/lastfailed")
    monkeypatch.setattr(run_tests, "PYTHON", sys.executable)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DJANGO_SETTINGS_MODULE", raising=False)  # the suite has no site
    (tmp_path / "pytest.ini").write_text("[pytest]\n")

    def run_suite(text: str) -> int:
        (tmp_path / "test_suite.py").write_text(text)
        with Supervisor() as supervisor:
            return run_tests.run_tests(supervisor, [])

    return run_suite


def test_a_test_that_passes_alone_is_named_as_flaky_and_is_no_failure(suite, capfd):
    assert suite(PASSES_ALONE) == 0
    last = capfd.readouterr().err.splitlines()[-1]
    assert last.startswith("flaky: test_suite.py::test_fails_once")


def test_a_test_that_fails_again_fails_the_suite_beside_a_flaky_one(suite, capfd):
    assert suite(PASSES_ALONE + ALWAYS_FAILS) == 1
    printed = capfd.readouterr().err
    assert (
        "flaky: test_suite.py::test_fails_once" in printed
        and "flaky: test_suite.py::test_fails " not in printed
    )


def test_many_failed_tests_are_not_repeated(suite, capfd):
    many = "\n".join(f"def test_{number}(): assert False" for number in range(run_tests.MOST_REPEATED + 1))
    assert suite(many) == 1
    assert "Repeating" not in capfd.readouterr().err


def test_a_suite_that_cannot_be_collected_fails_without_a_repeat(suite, capfd):
    assert suite("import no_such_module") not in (0, 5)
    assert "flaky" not in capfd.readouterr().err


@pytest.mark.usefixtures("set_up")
def test_chosen_tests_run_without_the_checks():
    recorder = Recorder(broken="eslint")
    assert run_tests.run_tests(recorder, ["tests/test_script.py"]) == 0
    assert len(recorder.commands) == 1


def test_page_tools_are_installed_once_for_each_lock_file(monkeypatch, tmp_path):
    (tmp_path / "package-lock.json").write_text("{}")
    monkeypatch.setattr(page_tools, "FOLDER", tmp_path)
    monkeypatch.setattr(page_tools, "STAMP", tmp_path / "stamp")
    monkeypatch.setattr(system, "ensure", lambda _supervisor, _thing: True)
    recorder = Recorder()
    assert page_tools.ensure(recorder) and page_tools.ensure(recorder)
    assert len(recorder.commands) == 1 and recorder.commands[0].startswith("npm ci")
    (tmp_path / "package-lock.json").write_text('{"lockfileVersion": 3}')
    assert not page_tools.is_current()
    assert not page_tools.ensure(Recorder(broken="npm ci")), "a failed installation leaves no stamp"
    assert not page_tools.is_current()


def test_versions_of_the_page_tools_are_exact_and_name_no_registry():
    wanted = json.loads((page_tools.FOLDER / "package.json").read_text())["devDependencies"]
    locked = json.loads((page_tools.FOLDER / "package-lock.json").read_text())["packages"]
    assert {name: locked[f"node_modules/{name}"]["version"] for name in wanted} == wanted
    assert [name for name, package in locked.items() if "resolved" in package] == []


def run(command, text=None):
    """Runs one of the page's tools; it must be installed."""
    assert page_tools.is_current(), (
        "script/check installs eslint and TypeScript with npm, in script/page-tools/"
    )
    assert shutil.which("node"), system.HOW_TO_INSTALL["node"]
    return subprocess.run(command, cwd=ROOT, input=text, capture_output=True, text=True, check=False)


def test_eslint_finds_a_long_function_an_unused_name_and_an_unknown_global():
    lines = "\n".join(f"  given.n{number} = {number};" for number in range(59))
    source = f"export function longest(given) {{\n{lines}\n}}\nconst unused = nowhere;\n"
    command = [
        *page_tools.ESLINT,
        "--stdin",
        "--stdin-filename",
        "static/js/model/example.js",
        "--format=json",
    ]
    answer = run(command, source)
    found = {message["ruleId"] for message in json.loads(answer.stdout)[0]["messages"]}
    assert found == {"max-lines-per-function", "no-unused-vars", "no-undef"}, answer.stderr


def test_types_in_comments_are_checked(tmp_path):
    (tmp_path / "wrong.js").write_text(
        "/** @param {number} at_us */\nconst half = (at_us) => at_us / 2;\nhalf('1');\n"
    )
    settings = {"extends": str(page_tools.FOLDER / "tsconfig.json"), "include": ["*.js"]}
    (tmp_path / "tsconfig.json").write_text(json.dumps(settings))
    answer = run([*page_tools.TSC, "--project", str(tmp_path)])
    assert answer.returncode != 0
    assert "wrong.js(3,6): error TS2345" in answer.stdout, answer.stdout


WRONG_IMPORTS = {
    "simulator/kernel/clock.py": ("import simulator.log.cursors", "Imports inside the simulator point down"),
    "simulator/protocols/emqx/events.py": (
        "import simulator.kernel.clock",
        "Declarations of protocols import no engine",
    ),
    "simulator/protocols/emqx/storage.py": (
        "import simulator.protocols.pulsar.ranks",
        "Protocols do not know each other",
    ),
    "spark_reports/protocols/emqx/groups.py": (
        "import spark_reports.protocols.pulsar.curves",
        "Parts of reports do not know each other",
    ),
    "visualizer/models.py": (
        "import simulator.world",
        "The simulator is imported through its Python API and its vocabularies",
    ),
    "simulator/tours.py": ("import django", "The simulator knows neither site nor Spark"),
    "spark_reports/read.py": ("import labsite", "Reports do not know the site"),
    "visualizer/routing.py": ("import spark_reports.read", "The site's pages know neither reports nor Spark"),
    "labsite/turns.py": ("import pyspark", "Of the site only its workers know Spark"),
}
"""A file, an import that it must not have, and the contract that forbids it."""


def test_each_contract_about_imports_finds_a_wrong_one(tmp_path):
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    assert {contract for _line, contract in WRONG_IMPORTS.values()} == {
        one["name"] for one in config["contracts"]
    }
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for room in config["root_packages"]:
        shutil.copytree(ROOT / room, tmp_path / room, ignore=lambda _folder, names: _no_sources(names))
    for name, (line, _contract) in WRONG_IMPORTS.items():
        with (tmp_path / name).open("a") as file:
            file.write(f"\n{line}\n")
    command = [str(environment.ENVIRONMENT / "bin" / "lint-imports"), "--no-cache", "--no-logo"]
    answer = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    kept = [line for line in answer.stdout.splitlines() if " KEPT" in line]
    assert kept == [] and "0 kept" in answer.stdout, answer.stdout + answer.stderr


def _no_sources(names):
    return [name for name in names if "." in name and not name.endswith(".py") or name == "page-tools"]
