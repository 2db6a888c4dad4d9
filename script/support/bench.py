"""`script/bench`: sets the checkout up and starts `script.benchmarks`.

The benchmarks need the packages installed there.
"""

from __future__ import annotations

import os
import sys

from script.support.environment import PYTHON, REPORTS, SITE, TESTS, ensure_environment, run_command
from script.support.processes import Supervisor


def main() -> int:
    return run_command(lambda supervisor: bench(supervisor, sys.argv[1:]))


def bench(supervisor: Supervisor, arguments: list[str]) -> int:
    ensure_environment(supervisor, SITE, REPORTS, TESTS)
    return supervisor.run(
        [str(PYTHON), "-m", "script.benchmarks", *arguments], {**os.environ, "PYTHONUNBUFFERED": "1"}
    )


if __name__ == "__main__":
    raise SystemExit(main())
