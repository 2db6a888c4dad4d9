"""The tools that check the page's modules: eslint and TypeScript's compiler, in `script/page-tools/`.

Rules: npm installs exactly the versions of the lock file. A stamp is written last, so that an interrupted
installation is done again. The lock file names no registry; npm's own setting decides. Standard library only.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from script.support import system
from script.support.environment import take_turn
from script.support.processes import Supervisor, say

FOLDER = Path(__file__).resolve().parents[1] / "page-tools"
INSTALLED = FOLDER / "node_modules"
STAMP = INSTALLED / "installed.stamp"

_PROGRAM, _CONFIG = INSTALLED / "eslint" / "bin" / "eslint.js", FOLDER / "eslint.config.js"
ESLINT = ("node", str(_PROGRAM), "--config", str(_CONFIG))
TSC = ("node", str(INSTALLED / "typescript" / "bin" / "tsc"))


def wanted_stamp() -> str:
    """The stamp of the present lock file."""
    return hashlib.sha256((FOLDER / "package-lock.json").read_bytes()).hexdigest()


def is_current() -> bool:
    """Whether the tools were completely installed with the present lock file."""
    return STAMP.is_file() and STAMP.read_text().strip() == wanted_stamp()


def ensure(supervisor: Supervisor) -> bool:
    """Install the tools where they are missing or outdated; returns whether they can be run now."""
    if not (system.ensure(supervisor, "node") and (is_current() or system.ensure(supervisor, "npm"))):
        return False
    with (FOLDER / "package-lock.json").open("rb") as lock:
        take_turn(lock, supervisor)
        if not is_current() and not _install(supervisor):
            say("npm could not install eslint and TypeScript; its message is above.")
            return False
    return True


def _install(supervisor: Supervisor) -> bool:
    say("Installing eslint and TypeScript (about 40 MB)…")
    command = ["npm", "ci", "--prefix", str(FOLDER), "--ignore-scripts", "--no-audit", "--no-fund"]
    if supervisor.run([*command, "--loglevel=error"]) != 0:
        return False
    STAMP.write_text(wanted_stamp() + "\n")
    return True
