"""The files of a swarm: a line for each seed, and the smallest scenario of each violation.

Rules: lines are in the order of family and seed, so equal seeds give equal bytes. The file is written aside
and renamed after each round. Runs of another engine are refused, since a swarm tests the engine.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from simulator import ENGINE_VERSION, loaded_rules
from simulator.experiments import BROKEN
from simulator.scenarios.settings import OPTIONS, RULE

FILE = "swarm.jsonl"
SCENARIOS = "violations"

BUILT_IN = OPTIONS[RULE].default

Row = dict[str, Any]


class SwarmFolderError(Exception):
    """The folder cannot be used; the text says why and what would be right."""


def rule_of_swarm() -> str:
    """The rule of every run of a swarm: that of the file that this process was started with, if any."""
    found = loaded_rules()
    return BUILT_IN if found is None else found.value


class Results:
    """The rows in a folder, by family and seed."""

    def __init__(self, folder: Path) -> None:
        """Read what the folder has. Raises SwarmFolderError."""
        self.folder = folder
        self.rows: dict[tuple[str, int], Row] = {}
        path = folder / FILE
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
            found = [json.loads(line) for line in lines]
        except (OSError, ValueError) as error:
            raise SwarmFolderError(f"{folder}: {error}; name another folder with --out") from error
        if found and found[0].get("engine_version") != ENGINE_VERSION:
            raise SwarmFolderError(
                f"{path} is of engine version {found[0].get('engine_version')}, this is {ENGINE_VERSION}; "
                f"name another folder with --out"
            )
        if found and (rule := found[0].get("rule", BUILT_IN)) != rule_of_swarm():
            raise SwarmFolderError(
                f"{path} is of runs under the rule {rule}, these are under {rule_of_swarm()}; name another "
                f"folder with --out"
            )
        self._take(found[1:])

    def _take(self, rows: Iterable[Row]) -> None:
        for row in rows:
            self.rows[row["family"], row["seed"]] = row

    def add(self, rows: Iterable[Row]) -> None:
        """Add the rows of a round, and write the files. Raises SwarmFolderError."""
        self._take(rows)
        rule = rule_of_swarm()
        head = {"engine_version": ENGINE_VERSION, **({"rule": rule} if rule != BUILT_IN else {})}
        lines = [head, *(self.rows[key] for key in sorted(self.rows))]
        try:
            _write(self.folder / FILE, "".join(f"{json.dumps(line)}\n" for line in lines))
            for row in self.broken():
                (self.folder / SCENARIOS).mkdir(exist_ok=True)
                _write(self.scenario_of(row), row["scenario"])
        except OSError as error:
            raise SwarmFolderError(
                f"{self.folder}: {error.strerror}; the same command goes on once it can be written"
            ) from error

    def broken(self) -> list[Row]:
        """The rows of violations, in order."""
        return [self.rows[key] for key in sorted(self.rows) if self.rows[key]["status"] == BROKEN]

    def scenario_of(self, row: Row) -> Path:
        """The file of a violation's smallest scenario."""
        return self.folder / SCENARIOS / f"{row['family']}-{row['seed']}.yaml"


def _write(path: Path, text: str) -> None:
    partial = path.with_name(path.name + ".partial")
    partial.write_text(text, encoding="utf-8")
    os.replace(partial, path)
