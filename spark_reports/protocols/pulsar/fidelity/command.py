"""The command `fidelity`: compares pairs and writes page, JSON, table and the site's copy.

Rules: all input is read and every target checked before anything is written. A file is written aside and
renamed, so that it is complete or absent.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from simulator import ScenarioError, load_scenario
from spark_reports.protocols.pulsar.fidelity.content import content_of, with_kept
from spark_reports.protocols.pulsar.fidelity.page import checked, page, write_table
from spark_reports.protocols.pulsar.fidelity.pairs import Job, PairsError, read_jobs
from spark_reports.protocols.pulsar.fidelity.run_files import add_runs, write_recordings
from spark_reports.protocols.pulsar.fidelity.summary import judged, summary_of

HELP = "real brokers beside the simulator: paired differences of what script/real-brokers wrote"

PAGE, DATA = "fidelity.html", "fidelity.json"


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    command.add_argument(
        "--input",
        required=True,
        nargs="+",
        type=Path,
        metavar="DIR",
        help="folders of jobs that script/real-brokers wrote (DIR/JOB/pairs.jsonl)",
    )
    command.add_argument(
        "--out", required=True, type=Path, metavar="DIR", help=f"folder for {PAGE} and {DATA}"
    )
    command.add_argument(
        "--write", type=Path, metavar="FILE", help="Markdown file whose table is replaced: docs/fidelity.md"
    )
    command.add_argument(
        "--site",
        type=Path,
        metavar="FILE",
        help="file that the site's page /fidelity/ shows: visualizer/fidelity/measured.json",
    )
    command.add_argument(
        "--keep",
        action="store_true",
        help="keep the jobs of the site's FILE that the input does not have, in site, table and recordings; "
        "their verdicts follow from the figures that FILE holds",
    )
    command.add_argument(
        "--expected",
        type=Path,
        metavar="DIR",
        help="folder with the scenarios of all jobs: those without runs are named as not measured "
        "(script/real_brokers/jobs)",
    )
    command.add_argument(
        "--recordings",
        type=Path,
        metavar="DIR",
        help="folder for the real runs that the site's page opens: simulator/trace/recordings/compared; "
        "earlier ones are deleted",
    )


def run(given: argparse.Namespace) -> int:
    """Compare and write; returns the exit code, 2 for bad input."""
    try:
        compare(given)
    except PairsError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def compare(given: argparse.Namespace) -> None:
    """Compare and write. Raises PairsError."""
    jobs = read_jobs(*given.input)
    if given.write:
        checked(given.write)
    kept = kept_jobs(given.site) if given.keep else []
    expected = expected_jobs(given.expected) if given.expected else {}
    summary = summary_of(jobs)
    content = content_of(summary)
    folders = {shown["anchor"]: job.folder for shown, job in zip(content["jobs"], jobs, strict=True)}
    add_runs(content, folders)
    given.out.mkdir(parents=True, exist_ok=True)
    _write(given.out / DATA, data(summary, content))
    _write(given.out / PAGE, page(content, folders, given.out))
    _publish(given, summary, jobs, kept, expected)
    for job in summary["jobs"]:
        print(f"{job['job']} with Pulsar {job['pulsar']}: {job['verdict']}. {job['because']}")
    print(given.out / PAGE)


def _publish(
    given: argparse.Namespace,
    summary: dict[str, Any],
    jobs: list[Job],
    kept: list[dict[str, Any]],
    expected: dict[str, str],
) -> None:
    """Write the site's file, its recordings and the table of a document, with the kept jobs."""
    together, every = with_kept(summary, kept)
    names = {job["job"] for job in every}
    missing = [{"job": name, "title": title} for name, title in expected.items() if name not in names]
    content = content_of(summary, kept, missing)
    of_runs = {(job.name, job.pulsar): job.folder for job in jobs}
    folders = {
        shown["anchor"]: of_runs[job["job"], job["pulsar"]]
        for shown, job in zip(content["jobs"], every, strict=True)
        if (job["job"], job["pulsar"]) in of_runs
    }
    add_runs(content, folders)
    if given.site:
        _write(given.site, _with_jobs(content) + "\n")
    if given.recordings:
        write_recordings(content, folders, given.recordings)
    if given.write:
        write_table(given.write, together, missing)


def kept_jobs(site: Path | None) -> list[dict[str, Any]]:
    """The jobs of the site's file. Raises PairsError."""
    if site is None:
        raise PairsError("--keep keeps the jobs of the site's file; name it with --site")
    try:
        content = json.loads(site.read_text(encoding="utf-8")) if site.is_file() else None
        jobs = content["jobs"] if content else []
        for job in jobs:
            judged(job["figures"])
    except (ValueError, KeyError, TypeError) as error:
        raise PairsError(
            f"{site}: is no file that this command wrote ({error!r}); leave out --keep to replace it"
        ) from error
    return list(jobs)


def expected_jobs(folder: Path) -> dict[str, str]:
    """Name and title of each scenario in a folder. Raises PairsError."""
    files = sorted(folder.glob("*.yaml"))
    if not files:
        raise PairsError(f"{folder}: has no scenario; script/real_brokers/jobs has those of the comparison")
    try:
        scenarios = [load_scenario(str(file)) for file in files]
    except ScenarioError as error:
        raise PairsError(str(error)) from error
    return {scenario.name: scenario.title for scenario in scenarios}


def data(summary: dict[str, Any], content: dict[str, Any]) -> str:
    """Summary and page content as JSON with a line for each job, so that changes can be read."""
    return f'{{"summary":{_with_jobs(summary)},\n"content":{_with_jobs(content)}}}\n'


def _with_jobs(value: dict[str, Any]) -> str:
    rest = _json({name: one for name, one in value.items() if name != "jobs"})
    jobs = ",\n".join(_json(job) for job in value["jobs"])
    return f'{rest[:-1]},"jobs":[\n{jobs}\n]}}'


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f"{path.name}.partial")
    aside.write_text(text, encoding="utf-8")
    os.replace(aside, path)
