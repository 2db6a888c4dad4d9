"""`script/check`: the fast checks of all sources, with which `script/test` begins.

Rules: a check reads the sources, changes nothing, and takes seconds. Every check runs even after one has
failed, so that one run shows everything. The order is that of `CHECKS`; the last lines name the failed ones.
Standard library only.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from script.support import page_tools
from script.support.environment import ENVIRONMENT, REPORTS, SITE, TESTS, ensure_environment, run_command
from script.support.processes import Supervisor, say

RUFF = str(ENVIRONMENT / "bin" / "ruff")
MYPY = str(ENVIRONMENT / "bin" / "mypy")
IMPORTS = str(ENVIRONMENT / "bin" / "lint-imports")


@dataclass(frozen=True, slots=True)
class Check:
    """One command that exits with 0 when the sources pass."""

    name: str
    command: tuple[str, ...]
    remedy: str = ""
    """The command that repairs a failure, if there is one."""
    needs_page_tools: bool = False


class Outcome(Enum):
    """How a check ended."""

    PASSED = "passed"
    FAILED = "FAILED"
    NOT_RUN = "NOT RUN"


CHECKS = (
    Check("ruff check", (RUFF, "check", "."), remedy=".venv/bin/ruff check --fix ."),
    Check("ruff format", (RUFF, "format", "--check", "."), remedy=".venv/bin/ruff format ."),
    Check("mypy", (MYPY,)),
    Check("import-linter", (IMPORTS, "--no-cache", "--no-logo")),
    Check("eslint", (*page_tools.ESLINT, "static/js", "tests/js"), needs_page_tools=True),
    Check("tsc", (*page_tools.TSC, "--project", str(page_tools.FOLDER)), needs_page_tools=True),
)
"""All checks in the order in which they run."""


def main() -> int:
    argparse.ArgumentParser(prog="script/check", description=__doc__.split("\n")[0]).parse_args()
    return run_command(check_everything)


def check_everything(supervisor: Supervisor) -> int:
    """Set up what the checks need and run them; the exit code is 1 unless all passed."""
    ensure_environment(supervisor, SITE, REPORTS, TESTS)
    outcomes = run_checks(supervisor, has_page_tools=page_tools.ensure(supervisor))
    return 0 if set(outcomes.values()) == {Outcome.PASSED} else 1


def run_checks(
    supervisor: Supervisor, checks: Sequence[Check] = CHECKS, *, has_page_tools: bool
) -> dict[str, Outcome]:
    """Run every check, print how each ended, and return the outcomes by the checks' names."""
    outcomes = {check.name: _run(supervisor, check, has_page_tools) for check in checks}
    for check in checks:
        if outcomes[check.name] is not Outcome.PASSED:
            remedy = f" To fix what a command can fix: {check.remedy}" if check.remedy else ""
            say(f"{check.name}: {outcomes[check.name].value}.{remedy}")
    passed = list(outcomes.values()).count(Outcome.PASSED)
    say(f"{passed} of {len(checks)} checks passed.")
    return outcomes


def _run(supervisor: Supervisor, check: Check, has_page_tools: bool) -> Outcome:
    say(f"== {check.name}")
    if check.needs_page_tools and not has_page_tools:
        say("   NOT RUN: the tools for the page's modules could not be installed, the reason is above")
        return Outcome.NOT_RUN
    started = time.monotonic()
    outcome = Outcome.PASSED if supervisor.run(check.command) == 0 else Outcome.FAILED
    say(f"   {outcome.value} in {time.monotonic() - started:.1f} s")
    return outcome


if __name__ == "__main__":
    raise SystemExit(main())
