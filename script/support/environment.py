"""The checkout's own Python environment, `.venv`, installed in stages.

It is made once and updated when requirements change.

Rules: a stage's stamp is written last, so an interrupted installation is done again. Two commands at once
take turns. Nothing outside the checkout is changed except Debian's `python3-venv`, installed as root where
Python cannot make environments without it. Standard library only.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from script.support.processes import POLL_SECONDS, Stopped, Supervisor, say
from script.support.system import install_debian_package

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = ROOT / ".venv"
PYTHON = ENVIRONMENT / "bin" / "python"
REQUIREMENTS = ROOT / "requirements.txt"
TEST_REQUIREMENTS = ROOT / "tests" / "requirements.txt"
REPORTS_BEGIN = "# reports"
"""The line of requirements.txt after which all requirements are for reports only."""

LAST_WORDS = 20
"""Lines of pip's output that are shown when it fails."""

Progress = Callable[[str], None]


class SetUpFailed(Exception):
    """A failed set-up, with a message for the user at the terminal."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A part of the environment that is installed separately and has its own stamp."""

    name: str
    words: str

    def requirements(self) -> list[str]:
        """The pins of this stage."""
        if self.name == "tests":
            return _pins(TEST_REQUIREMENTS.read_text())
        site, _, reports = REQUIREMENTS.read_text().partition(f"\n{REPORTS_BEGIN}\n")
        return _pins(reports if self.name == "reports" else site)

    def wanted_stamp(self) -> str:
        """The stamp of the present requirements."""
        return hashlib.sha256("\n".join(self.requirements()).encode()).hexdigest()

    @property
    def stamp(self) -> Path:
        return ENVIRONMENT / f"{self.name}.stamp"

    def is_current(self) -> bool:
        """Whether this stage was completely installed with the present requirements."""
        return self.stamp.is_file() and self.stamp.read_text().strip() == self.wanted_stamp()


SITE = Stage("site", "what the site needs (about 200 MB)")
REPORTS = Stage("reports", "Spark, for reports (about 700 MB)")
TESTS = Stage("tests", "what the tests need (about 400 MB)")


def _pins(text: str) -> list[str]:
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def is_current(*stages: Stage) -> bool:
    return all(stage.is_current() for stage in stages) and _works(PYTHON)


def ensure_environment(supervisor: Supervisor, *stages: Stage, progress: Progress | None = None) -> bool:
    """Make `.venv` and install the stages in it; returns True when something was installed.

    `progress` is for an installation in the background: it is called with a description of pip's present
    step, and pip's output goes to a log.
    """
    with REQUIREMENTS.open("rb") as lock:
        take_turn(lock, supervisor)
        if is_current(*stages):
            return False
        if not _works(PYTHON):
            _make(supervisor)
        for stage in stages:
            if not stage.is_current():
                _install(supervisor, stage, progress)
        return True


def _install(supervisor: Supervisor, stage: Stage, progress: Progress | None) -> None:
    started = time.monotonic()
    say(f"Installing {stage.words}…")
    # Modules are compiled at their first import: most are never imported.
    command = [
        str(PYTHON),
        "-m",
        "pip",
        "install",
        "--disable-pip-version-check",
        "--no-compile",
        *stage.requirements(),
    ]
    failed = (
        supervisor.run([*command, "--quiet"]) != 0
        if progress is None
        else not _followed(supervisor, [*command, "--progress-bar", "off"], stage, progress)
    )
    if failed:
        raise SetUpFailed(
            f"pip could not install {stage.words}; its message is above. A second try goes on from there."
        )
    stage.stamp.write_text(stage.wanted_stamp() + "\n")
    say(f"Installed {stage.words} in {time.monotonic() - started:.0f} s.")


def _followed(supervisor: Supervisor, command: list[str], stage: Stage, progress: Progress) -> bool:
    """Run pip with its output in a log and report its present step; returns whether it succeeded."""
    log = ENVIRONMENT / f"{stage.name}.log"
    with log.open("wb") as output:
        child = supervisor.start(command, output=output)
    shown = ""
    while child.poll() is None:
        words = step_of(log.read_text(errors="replace"))
        if words and words != shown:
            shown = words
            progress(words)
        supervisor.sleep(10 * POLL_SECONDS)
    supervisor.forget(child)
    if child.returncode != 0:
        say("\n".join(log.read_text(errors="replace").splitlines()[-LAST_WORDS:]))
    return child.returncode == 0


def step_of(output: str) -> str:
    """Pip's present step, from its latest output line that names one; empty when none does."""
    for line in reversed(output.splitlines()):
        if line.startswith("Collecting "):
            return f"fetching {line.split()[1].split('=')[0]}"
        if line.startswith("Installing collected packages:"):
            return f"unpacking {line.count(',') + 1} packages"
    return ""


def take_turn(lock: BinaryIO, supervisor: Supervisor) -> None:
    """Wait, stoppable, while another command of this checkout is setting up."""
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
    """Whether the environment's Python and pip run.

    A moved checkout or a new system Python breaks them.
    """
    question = "import sys, pip; sys.exit(sys.version_info < (3, 11))"
    return (
        python.is_file()
        and subprocess.run([str(python), "-c", question], capture_output=True, check=False).returncode == 0
    )


def _make(supervisor: Supervisor) -> None:
    if importlib.util.find_spec("ensurepip") is None:
        package = f"python3.{sys.version_info.minor}-venv"
        if not install_debian_package(supervisor, package):
            raise SetUpFailed(
                f"This Python cannot make virtual environments. On Debian or Ubuntu: apt-get install "
                f"{package}"
            )
    if ENVIRONMENT.exists():
        shutil.rmtree(ENVIRONMENT)
    say("Making the virtual environment .venv…")
    if supervisor.run([sys.executable, "-m", "venv", "--without-pip", str(ENVIRONMENT)]) != 0:
        raise SetUpFailed("Python could not make .venv; its message is above.")
    _unpack_pip()
    if not _works(PYTHON) and supervisor.run([str(PYTHON), "-m", "ensurepip"]) != 0:
        raise SetUpFailed("Python could not install pip in .venv; its message is above.")


def _unpack_pip() -> None:
    """Unpack the wheel of pip that is part of Python, where it is found.

    ensurepip installs the same wheel with pip itself, which takes 8 s of processor time, most of it to
    compile modules that are never imported.
    """
    import ensurepip

    folders = [
        Path(ensurepip.__file__).parent / "_bundled",
        Path(sysconfig.get_config_var("WHEEL_PKG_DIR") or "/usr/share/python-wheels"),
    ]
    wheel = next(
        (wheel for folder in folders for wheel in sorted(folder.glob("pip-*.whl"), reverse=True)), None
    )
    if wheel is not None:
        packages = sysconfig.get_path(
            "purelib", "venv", {"base": str(ENVIRONMENT), "platbase": str(ENVIRONMENT)}
        )
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(packages)


def run_command(body: Callable[[Supervisor], int]) -> int:
    """Run `body(supervisor) -> exit code` with its children supervised.

    After a stop the exit code is the shell's usual one.
    """
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
