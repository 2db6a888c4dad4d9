"""`script/test`: sets the checkout up, tools of the operating system included, and runs every test.

Rules: the whole suite begins with the checks of `script/check`, and no test runs when one of them fails.
Tools that cannot be set up are reported here, and the tests that need them fail; none is skipped. Two
processes share the work, and the tests of one Spark session or one browser stay together
(`tests/conftest.py`). Pytest's summary is printed last, and its exit code is this command's. Arguments
replace the default ones (`script/test tests/engine -k seek`); the checks do not run then.
"""

from __future__ import annotations

import os
import sys

from script.support import page_tools, system
from script.support.environment import PYTHON, REPORTS, SITE, TESTS, ensure_environment, run_command
from script.support.processes import Supervisor, say
from script.support.run_checks import Outcome, run_checks

WHOLE_SUITE = ("-n", "2")


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
    return supervisor.run([str(PYTHON), "-m", "pytest", *(arguments or WHOLE_SUITE)], environment)


if __name__ == "__main__":
    raise SystemExit(main())
