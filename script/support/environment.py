"""The checkout's own Python environment, `.venv`: made once, brought up to date when `requirements.txt` changes.

Rules: the stamp is written last, so a broken installation is done again; two commands at once take turns; nothing
outside the checkout is changed but Debian's `python3-venv`, as root, where Python cannot make environments without it.
Standard library only.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from script.support.processes import Stopped, Supervisor, say
from script.support.system import install_debian_package

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = ROOT / ".venv"
PYTHON = ENVIRONMENT / "bin" / "python"
STAMP = ENVIRONMENT / "requirements.stamp"
REQUIREMENTS = ROOT / "requirements.txt"


class SetUpFailed(Exception):
    """What could not be set up, in words for the person at the terminal."""


def wanted_stamp() -> str:
    """Changes when what is to be installed does."""
    return hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()


def is_current() -> bool:
    return STAMP.is_file() and STAMP.read_text().strip() == wanted_stamp() and _works(PYTHON)


def ensure_environment(supervisor: Supervisor) -> bool:
    """Makes `.venv` as the requirements say; returns True when something had to be installed."""
    with REQUIREMENTS.open("rb") as lock:
        _take_turn(lock, supervisor)
        if is_current():
            return False
        started = time.monotonic()
        if not _works(PYTHON):
            _make(supervisor)
        say("Installing what requirements.txt names into .venv (about 1.3 GB; a minute or two)…")
        command = [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", str(REQUIREMENTS)]
        if supervisor.run(command) != 0:
            raise SetUpFailed("pip could not install requirements.txt; its message is above. A second try goes on from there.")
        STAMP.write_text(wanted_stamp() + "\n")
        say(f"Installed in {time.monotonic() - started:.0f} s.")
        return True


def _take_turn(lock: BinaryIO, supervisor: Supervisor) -> None:
    """Waits, stoppable, while another command of this checkout is setting up."""
    told = False
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if not told:
                say("Another command is setting up this checkout; waiting for it…")
                told = True
            supervisor.sleep(0.5)


def _works(python: Path) -> bool:
    """Whether the environment's Python and pip still run: a moved checkout or a new system Python breaks them."""
    question = "import sys, pip; sys.exit(sys.version_info < (3, 11))"
    return python.is_file() and subprocess.run([str(python), "-c", question], capture_output=True, check=False).returncode == 0


def _make(supervisor: Supervisor) -> None:
    if importlib.util.find_spec("ensurepip") is None:
        package = f"python3.{sys.version_info.minor}-venv"
        if not install_debian_package(supervisor, package):
            raise SetUpFailed(f"This Python cannot make virtual environments. On Debian or Ubuntu: apt-get install {package}")
    if ENVIRONMENT.exists():
        shutil.rmtree(ENVIRONMENT)
    say("Making the virtual environment .venv…")
    if supervisor.run([sys.executable, "-m", "venv", str(ENVIRONMENT)]) != 0:
        raise SetUpFailed("Python could not make .venv; its message is above.")


def run_command(body: Callable[[Supervisor], int]) -> int:
    """Runs `body(supervisor) -> exit code` with its children watched; a stop gives the shell's usual code."""
    os.chdir(ROOT)
    supervisor = Supervisor()
    try:
        with supervisor:
            return body(supervisor)
    except SetUpFailed as error:
        say(str(error))
        return 2
    except Stopped:
        return 128 + (supervisor.stop_signal or 0)
