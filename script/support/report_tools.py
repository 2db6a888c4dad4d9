"""Installs Spark and Java for reports while the site runs; `script/server` starts it.

Rules: its progress is in a small file in the site's data folder, which the report page reads. The file is
deleted when all is installed, and kept with the reason when it failed. Nothing here ends the site. Standard
library only.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

from script.support import system
from script.support.environment import REPORTS, ROOT, SetUpFailed, ensure_environment, run_command
from script.support.processes import Supervisor, say

STATUS_NAME = "report-tools.json"
"""The name of the status file, which `visualizer.tasks.requests` reads.

Its content is `{"state": "installing" | "failed", "words": the step}`.
"""


class Status:
    """The file with the progress of the installation."""

    def __init__(self) -> None:
        self._path = Path(os.environ.get("FAILOVER_LAB_DATA") or ROOT / "var") / STATUS_NAME

    def say(self, words: str, state: str = "installing") -> None:
        """Replace its content in one step, so that a reader never finds half of it."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self._path.with_suffix(f".{os.getpid()}")
        fresh.write_text(json.dumps({"state": state, "words": words}))
        fresh.replace(self._path)

    def clear(self) -> None:
        self._path.unlink(missing_ok=True)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="script.support.report_tools", description="Installs Spark and, on Debian as root, Java."
    )
    parser.add_argument(
        "--no-install", action="store_true", help="never ask Debian's apt for Java, even as root"
    )
    arguments = parser.parse_args()
    return run_command(lambda supervisor: install(supervisor, may_ask_apt=not arguments.no_install))


def install(supervisor: Supervisor, may_ask_apt: bool) -> int:
    """Install the reports' stage and Java.

    Raises SetUpFailed, with the reason in the status file.
    """
    status = Status()
    status.say("waiting for its turn")
    try:
        ensure_environment(supervisor, REPORTS, progress=status.say)
        if not system.has("java") and may_ask_apt:
            status.say("installing Java")
            system.ensure(supervisor, "java")
    except SetUpFailed:
        status.say("pip ended with an error", "failed")
        raise
    except BaseException:
        status.clear()
        raise
    status.clear()
    if may_ask_apt or system.has("java"):
        say("Reports can be made from now on." if system.has("java") else system.HOW_TO_INSTALL["java"])
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
