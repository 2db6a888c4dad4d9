"""The common start of the commands that take pictures.

They first make the environment and the browser, then run themselves again in the environment.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from script.support import system
from script.support.environment import PYTHON, REPORTS, ROOT, SITE, TESTS, ensure_environment, run_command
from script.support.processes import Supervisor


def run_in_environment(module: str, take: Callable[[Supervisor], int]) -> int:
    """Run `take(supervisor)` if this process uses the environment's Python.

    Otherwise run the same command there as `python -m module`.
    """
    inside = sys.prefix == str(ROOT / ".venv")
    return run_command(take if inside else lambda supervisor: _enter(supervisor, module))


def _enter(supervisor: Supervisor, module: str) -> int:
    ensure_environment(supervisor, SITE, REPORTS, TESTS)
    if not system.ensure(supervisor, "chromium"):
        return 2
    return supervisor.run([str(PYTHON), "-m", module, *sys.argv[1:]], {**os.environ, "PYTHONUNBUFFERED": "1"})
