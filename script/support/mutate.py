"""`script/mutate`: mutation tests of the modules in `tests/mutations.toml`, by cosmic-ray.

Rules: mutants are made in a clone of the last commit, never in the checkout. For each, the tests that the
table names for its module run. A surviving mutant is printed unless the table declares it equivalent. The
exit code is 1 when one is left. Standard library only; cosmic-ray has its own environment.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from script.support.environment import (
    ENVIRONMENT,
    PYTHON,
    REPORTS,
    ROOT,
    SITE,
    TESTS,
    SetUpFailed,
    ensure_environment,
    run_command,
)
from script.support.processes import Supervisor, say

COSMIC_RAY = "cosmic-ray==8.7.0"
TABLE = ROOT / "tests" / "mutations.toml"
TOOLS = ENVIRONMENT / "mutation"
TIMEOUT_SECONDS = 120
"""The limit for the tests of one mutant, which may loop endlessly."""

EXCLUDED_OPERATORS = ("core/ReplaceBinaryOperator_BitOr_.*",)
"""`X | None` in annotations, which nothing evaluates."""


@dataclass(frozen=True, slots=True)
class Target:
    """A module, the tests that a mutant of it must fail, and changed lines that alter no behaviour."""

    module: str
    tests: tuple[str, ...]
    equivalent: dict[str, str] = field(default_factory=dict)
    """The reason why it is equivalent, by the changed line without indentation."""

    def config(self) -> str:
        """The configuration file of cosmic-ray for this module."""
        command = f"{PYTHON} -m pytest -q -x -p no:cacheprovider {' '.join(self.tests)}"
        return (
            f"[cosmic-ray]\nmodule-path = {json.dumps(self.module)}\ntimeout = {TIMEOUT_SECONDS}\n"
            f"excluded-modules = []\ntest-command = {json.dumps(command)}\n"
            f"[cosmic-ray.distributor]\nname = 'local'\n"
            f"[cosmic-ray.filters.operators-filter]\n"
            f"exclude-operators = {json.dumps(EXCLUDED_OPERATORS)}\n"
        )


def targets_of(text: str) -> list[Target]:
    """The targets of the table's text."""
    return [
        Target(
            one["module"],
            tuple(one["tests"]),
            {line["line"]: line["why"] for line in one.get("equivalent", ())},
        )
        for one in tomllib.loads(text)["target"]
    ]


def survivors_of(dump: str, target: Target) -> Iterator[str]:
    """The diffs in cosmic-ray's dump that no test noticed and that the table does not declare equivalent."""
    for result in _results(dump):
        if result["test_outcome"] == "survived" and _mutated_line(result) not in target.equivalent:
            yield result["diff"]


def unused_lines(dump: str, target: Target) -> list[str]:
    """Lines that the table declares equivalent although no mutant has them, because the module changed."""
    mutated = {_mutated_line(result) for result in _results(dump)}
    return [line for line in target.equivalent if line not in mutated]


def _results(dump: str) -> Iterator[dict[str, str]]:
    """The results of the mutants that were run."""
    for line in dump.splitlines():
        _work, result = json.loads(line)
        if result is not None and result["diff"] is not None:  # a mutant of an excluded operator has none
            yield result


def _mutated_line(result: dict[str, str]) -> str:
    """The line that the mutant adds, without indentation."""
    return [line[1:].strip() for line in result["diff"].splitlines() if line.startswith("+")][-1]


def main() -> int:
    parser = argparse.ArgumentParser(prog="script/mutate", description=__doc__.split("\n")[0])
    parser.add_argument("modules", nargs="*", help="modules of tests/mutations.toml; all when none is given")
    wanted = parser.parse_args().modules
    targets = targets_of(TABLE.read_text(encoding="utf-8"))
    unknown = set(wanted) - {target.module for target in targets}
    if unknown:
        parser.error(f"not in tests/mutations.toml: {', '.join(sorted(unknown))}")
    return run_command(
        lambda supervisor: mutate(
            supervisor, [target for target in targets if not wanted or target.module in wanted]
        )
    )


def mutate(supervisor: Supervisor, targets: list[Target]) -> int:
    """Run every target in one clone; the exit code is 1 when a mutant survived."""
    ensure_environment(supervisor, SITE, REPORTS, TESTS)
    _ensure_tools(supervisor)
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder) / "clone"
        _checked(supervisor, "git", "clone", "--quiet", str(ROOT), str(clone))
        left = sum(_run(supervisor, target, clone, Path(folder)) for target in targets)
    say(f"{left} mutants survived in {len(targets)} modules.")
    return 1 if left else 0


def _run(supervisor: Supervisor, target: Target, clone: Path, folder: Path) -> int:
    say(f"== {target.module}")
    config, session = folder / "config.toml", folder / "session.sqlite"
    session.unlink(missing_ok=True)
    config.write_text(target.config(), encoding="utf-8")
    tool = str(TOOLS / "bin" / "cosmic-ray")
    _checked(supervisor, tool, "init", str(config), str(session), folder=clone)
    _checked(supervisor, str(TOOLS / "bin" / "cr-filter-operators"), str(session), str(config), folder=clone)
    _checked(supervisor, tool, "exec", str(config), str(session), folder=clone)
    dump = subprocess.run([tool, "dump", str(session)], capture_output=True, text=True, check=True).stdout
    survivors = list(survivors_of(dump, target))
    for diff in survivors:
        say(diff)
    for line in unused_lines(dump, target):
        say(f"   no mutant has this line of the table any more: {line}")
    say(f"   {len(dump.splitlines())} mutants, {len(survivors)} survived")
    return len(survivors)


def _ensure_tools(supervisor: Supervisor) -> None:
    stamp = TOOLS / "installed.stamp"
    if stamp.is_file() and stamp.read_text() == COSMIC_RAY:
        return
    say(f"Installing {COSMIC_RAY}…")
    _checked(supervisor, sys.executable, "-m", "venv", str(TOOLS))
    _checked(supervisor, str(TOOLS / "bin" / "pip"), "install", "--quiet", COSMIC_RAY)
    stamp.write_text(COSMIC_RAY)


def _checked(supervisor: Supervisor, *command: str, folder: Path = ROOT) -> None:
    if supervisor.run(command, folder=folder) != 0:
        raise SetUpFailed(f"{' '.join(command[:2])} failed; its message is above.")


if __name__ == "__main__":
    raise SystemExit(main())
