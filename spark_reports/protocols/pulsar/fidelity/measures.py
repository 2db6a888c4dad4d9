"""What is compared: each measure gives one number for a run, or None where the run has none.

Rules: a measure of messages is a sum over the run's failovers. A measure of durations is the median of the
run, because the snapshots of one run are not independent of each other, and runs are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from spark_reports.protocols.pulsar.fidelity.pairs import MESSAGES, Figures, Job

MESSAGE_LABELS = {
    "duplicates": "duplicates",
    "redeliveries": "redelivered",
    "stranded": "not replicated",
    "lost": "lost",
}
"""Labels of the figures of a failover, as in reports."""


@dataclass(frozen=True)
class Measure:
    """One number for a run, with its label and unit."""

    key: str
    label: str
    unit: str
    of: Callable[[Figures], float | None]
    judged: bool = False
    """Whether the target applies to it: it is a number of messages."""


def measures_of(job: Job) -> list[Measure]:
    """The measures of a job; the first one decides its verdict."""
    failovers = len(job.pairs[0].real.failovers)
    found = [_of_failovers(name) for name in MESSAGES] if failovers else []
    if failovers > 1:
        found += [_of_failover(place) for place in range(failovers)]
    found += [
        Measure("repeated", "repeated outside failovers", "messages", lambda run: run.repeated, judged=True),
        Measure("published", "published", "messages", lambda run: run.published),
        Measure("receipted", "acknowledged to the producer", "messages", lambda run: run.receipted),
        Measure("violations", "violated checks", "", lambda run: len(run.violations)),
        Measure("snapshots", "completed snapshots", "", _completed),
        Measure("snapshot_ms", "snapshot duration, median of a run", "ms", _median_ms("durations_us")),
        Measure("update_ms", "tick to update, median of a run", "ms", _median_ms("tick_to_update_us")),
    ]
    return found + [_of_marker(kind) for kind in marker_types(job)]


def marker_types(job: Job) -> list[str]:
    """The types of markers in any run, sorted."""
    return sorted(
        {
            kind
            for pair in job.pairs
            for run in (pair.real, pair.simulated)
            for types in run.markers.values()
            for kind in types
        }
    )


def pooled_ms(runs: list[Figures], field: str) -> list[float]:
    """All durations of some runs in ms, sorted."""
    return sorted(
        us / 1000 for run in runs for snapshots in run.snapshots.values() for us in getattr(snapshots, field)
    )


def _of_failovers(name: str) -> Measure:
    return Measure(
        name,
        MESSAGE_LABELS[name],
        "messages",
        lambda run: sum(getattr(failover, name) for failover in run.failovers),
        judged=True,
    )


def _of_failover(place: int) -> Measure:
    return Measure(
        f"duplicates_{place + 1}",
        f"duplicates of failover {place + 1}",
        "messages",
        lambda run: run.failovers[place].duplicates,
        judged=True,
    )


def _completed(run: Figures) -> float:
    return sum(snapshots.completed for snapshots in run.snapshots.values())


def _median_ms(field: str) -> Callable[[Figures], float | None]:
    def of(run: Figures) -> float | None:
        durations = pooled_ms([run], field)
        return median(durations) if durations else None

    return of


def _of_marker(kind: str) -> Measure:
    return Measure(
        f"marker_{kind}",
        f"markers {kind}",
        "",
        lambda run: sum(types.get(kind, 0) for types in run.markers.values()),
    )
