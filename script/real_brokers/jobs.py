"""The comparison jobs: the scenario files in `jobs/`, by name.

Rules: a job's file has the job's name, which no built-in scenario has. A job plays on the version whose cache
rule it sets. It expects no figures, because the comparison decides, and no violated check. The simulated side
of a predicted job has the times of a calibration, which was made from other runs.
"""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "jobs"
_SUFFIX = ".yaml"

PREDICTED = ("predicted-30",)
"""The predicted jobs: they are played with `--calibration`."""


def job_names() -> tuple[str, ...]:
    """Names of all jobs, sorted."""
    return tuple(sorted(path.stem for path in FOLDER.glob(f"*{_SUFFIX}")))


def job_text(name: str) -> str:
    """The file of a job, comments included. Raises KeyError for a name that no job has."""
    if name not in job_names():
        raise KeyError(name)
    return (FOLDER / f"{name}{_SUFFIX}").read_text(encoding="utf-8")
