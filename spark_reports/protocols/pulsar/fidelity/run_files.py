"""The files of the listed runs: links for the report, scenario and recording for the site.

Rules: a run whose folder is gone has neither, and the page says so. The site makes a lab of the simulated
run from its scenario, and of the real one from the scenario and the digest of its recorded trace.
"""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

from simulator.trace.files import TraceFileError, read_meta

RUN_FILES = {"real": "real.jsonl", "simulated": "simulated.jsonl", "scenario": "scenario.yaml"}
"""The files of a run that the report links to, where they exist."""

OPENED_MOST = 3
"""Pairs of a job that the site can open: their scenarios are in its file."""

SCENARIO_CHARACTERS_MOST = 32_000


def links(run: Path, out: Path) -> list[tuple[str, str]]:
    """Name and address of each file of a run, relative to the folder of the page."""
    return [
        (name, quote(Path(os.path.relpath(run / file, out.resolve())).as_posix()))
        for name, file in RUN_FILES.items()
        if (run / file).is_file()
    ]


def add_runs(content: dict[str, Any], folders: dict[str, Path]) -> None:
    """Give the first listed pairs of each job their scenario's text and their recording's digest.

    `folders` are those of the jobs by anchor; a kept job has none, and its pairs stay as they are.
    """
    for job in content["jobs"]:
        for row in _listed(job)[:OPENED_MOST] if job["anchor"] in folders else ():
            run = folders[job["anchor"]] / row["folder"]
            row["scenario"] = _text(run / RUN_FILES["scenario"])
            row["recording"] = _digest(run / RUN_FILES["real"])


def write_recordings(content: dict[str, Any], folders: dict[str, Path], into: Path) -> None:
    """Write the recordings that the site can open into a folder, compressed, in place of earlier ones.

    The earlier ones of kept jobs, which have no folder, stay.
    """
    into.mkdir(parents=True, exist_ok=True)
    named = {
        f"{job['title']}-{row['recording'][:8]}.jsonl.gz": (job["anchor"], row["folder"])
        for job in content["jobs"]
        for row in _listed(job)
        if row.get("recording")
    }
    for earlier in into.glob("*.jsonl.gz"):
        if earlier.name not in named or named[earlier.name][0] in folders:
            earlier.unlink()
    for name, (anchor, run) in named.items():
        if anchor in folders:
            _write_packed(folders[anchor] / run / RUN_FILES["real"], into / name)


def _listed(job: dict[str, Any]) -> list[dict[str, Any]]:
    return [row for block in job["blocks"] if block["kind"] == "pairs" for row in block["rows"]]


def _write_packed(source: Path, target: Path) -> None:
    with target.open("wb") as file, gzip.GzipFile(fileobj=file, mode="wb", mtime=0, filename="") as packed:
        packed.write(source.read_bytes())


def _text(path: Path) -> str | None:
    text = path.read_text(encoding="utf-8") if path.is_file() else None
    return text if text is not None and len(text) <= SCENARIO_CHARACTERS_MOST else None


def _digest(path: Path) -> str | None:
    """The digest of a recorded trace; None for a file that is no trace, which the site could not open."""
    try:
        return str(read_meta(path)["trace_sha256"]) if path.is_file() else None
    except TraceFileError:
        return None
