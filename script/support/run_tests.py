"""`script/test`: sets the checkout up, tools of the operating system included, and runs every test.

Rules: the whole suite begins with the checks of `script/check`, and no test runs when one of them fails.
Tools that cannot be set up are reported here, and the tests that need them fail; none is skipped. Two
processes share the work, and the tests of one Spark session or one browser stay together
(`tests/conftest.py`). Pytest's summary is printed last, and its exit code is this command's. Arguments
replace the default ones (`script/test tests/engine -k seek`); the checks do not run then.
`--real-brokers` stands for the test against real Pulsar brokers, which is not part of the suite and installs
them with Maven on first use.
"""

from __future__ import annotations

import os
import sys

from script.support import page_tools, system
from script.support.environment import PYTHON, REPORTS, SITE, TESTS, ensure_environment, run_command
from script.support.processes import Supervisor, say
from script.support.run_checks import Outcome, run_checks

WHOLE_SUITE = ("-n", "2")
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
    return supervisor.run([str(PYTHON), "-m", "pytest", *selection(arguments)], environment)


def selection(arguments: list[str]) -> list[str]:
    """Pytest's arguments: the whole suite without any, and the file that `--real-brokers` stands for."""
    if not arguments:
        return list(WHOLE_SUITE)
    return [REAL_BROKERS_TEST if one == REAL_BROKERS else one for one in arguments]


if __name__ == "__main__":
    raise SystemExit(main())
