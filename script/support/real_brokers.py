"""`script/real-brokers`: sets the checkout up and starts `script.real_brokers` in the caller's folder.

The driver needs the site's packages for the engine, and pyarrow, one of the packages for reports, for traces.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from script.support.environment import (
    PYTHON,
    REPORTS,
    ROOT,
    SITE,
    ensure_environment,
    run_command,
)
from script.support.processes import Supervisor


def main() -> int:
    return run_command(lambda supervisor: play(supervisor, sys.argv[1:]))


def play(supervisor: Supervisor, arguments: list[str]) -> int:
    """Run the driver; paths in the arguments are relative to the folder of the caller."""
    ensure_environment(supervisor, SITE, REPORTS)
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONPATH": str(ROOT)}
    folder = Path(environment.pop("CALLED_IN", str(ROOT)))
    command = [str(PYTHON), "-m", "script.real_brokers", *arguments]
    return supervisor.run(command, environment, folder=folder)


if __name__ == "__main__":
    raise SystemExit(main())
