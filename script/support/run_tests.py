"""`script/test`: sets the checkout up, tools of the operating system included, and runs every test.

Rules: the whole suite begins with the checks of `script/check`, and no test runs when one of them fails.
Tools that cannot be set up are reported here, and the tests that need them fail; none is skipped. Two
processes share the work, and the tests of one Spark session or one browser stay together
(`tests/conftest.py`). Pytest's exit code is this command's. When at most `MOST_REPEATED` tests of the whole
suite fail, they run once more after it, alone. A test that passes then is printed last as flaky and is no
failure; it gets a line in `tests/flaky.md` and is repaired. Arguments replace the default ones
(`script/test tests/engine -k seek`); the checks do not run then, and nothing is repeated.
`--real-brokers` stands for the test against real Pulsar brokers, which is not part of the suite and installs
them with Maven on first use.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping

from script.support import page_tools, system
from script.support.environment import PYTHON, REPORTS, ROOT, SITE, TESTS, ensure_environment, run_command
from script.support.processes import Supervisor, say
from script.support.run_checks import Outcome, run_checks

WHOLE_SUITE = ("-n", "2", "--durations=40")
"""Two processes; the slowest tests are printed at the end."""

LAST_FAILED = ROOT / ".pytest_cache" / "v" / "cache" / "lastfailed"
"""Where pytest keeps the names of the tests whose last run failed, as keys of a JSON object."""

MOST_REPEATED = 5
"""Most failed tests that are repeated: more are a defect, not a busy machine."""

TESTS_FAILED = 1
"""Pytest's exit code when it ran everything and tests failed."""

REAL_BROKERS, REAL_BROKERS_TEST = "--real-brokers", "tests/real_brokers/on_request.py"


def main() -> int:
    return run_command(lambda supervisor: run_tests(supervisor, sys.argv[1:]))


def run_tests(supervisor: Supervisor, arguments: list[str]) -> int:
    ensure_environment(supervisor, SITE, REPORTS, TESTS)
    has_page_tools = page_tools.ensure(supervisor)
    if not arguments:
        outcomes = run_checks(supervisor, has_page_tools=has_page_tools)
        if Outcome.FAILED in outcomes.values():
            say("No test was run. script/check runs these checks alone.")
            return 1
    for thing in ("java", "chromium", "postgres"):
        system.ensure(supervisor, thing)
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    command = [str(PYTHON), "-m", "pytest"]
    if arguments:
        return supervisor.run([*command, *selection(arguments)], environment)
    LAST_FAILED.unlink(missing_ok=True)  # tests that failed before this run
    code = supervisor.run([*command, *WHOLE_SUITE], environment)
    return repeat_failed(supervisor, command, environment) if code == TESTS_FAILED else code


def repeat_failed(supervisor: Supervisor, command: list[str], environment: Mapping[str, str]) -> int:
    """Run the failed tests once more, in one process with nothing beside them.

    Returns the exit code of the whole suite.
    """
    failed = last_failed()
    if not 0 < len(failed) <= MOST_REPEATED:
        return TESTS_FAILED
    say(f"Repeating {len(failed)} failed tests alone.")
    code = supervisor.run([*command, "--last-failed", "--last-failed-no-failures", "none"], environment)
    failed_again = last_failed()  # a test that did not run again is still listed
    for name in failed:
        if name not in failed_again:
            say(f"flaky: {name} failed in the whole suite and passed alone. List it in tests/flaky.md.")
    return code or (TESTS_FAILED if failed_again else 0)


def last_failed() -> list[str]:
    """The names of the tests whose last run failed."""
    return list(json.loads(LAST_FAILED.read_text())) if LAST_FAILED.is_file() else []


def selection(arguments: list[str]) -> list[str]:
    """Pytest's arguments: the whole suite without any, and the file that `--real-brokers` stands for."""
    if not arguments:
        return list(WHOLE_SUITE)
    return [REAL_BROKERS_TEST if one == REAL_BROKERS else one for one in arguments]


if __name__ == "__main__":
    raise SystemExit(main())
