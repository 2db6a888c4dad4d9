"""The comparison of a job as plain values: JSON-serialisable, and the only input of page and table.

Rules: equal pairs give equal bytes on any machine, so floats are rounded to six significant digits. The
random draws of a measure are keyed by job, version and measure, so an additional job changes no other one.
"""

from __future__ import annotations

from bisect import bisect_right
from statistics import fmean
from typing import Any

from spark_reports.protocols.pulsar.fidelity.late_snapshots import SIDES, later_run
from spark_reports.protocols.pulsar.fidelity.measures import Measure, measures_of, pooled_ms
from spark_reports.protocols.pulsar.fidelity.pairs import Figures, Job, Pair
from spark_reports.protocols.pulsar.fidelity.statistics import (
    Interval,
    equal_share,
    ks_permutation_p,
    t_interval,
    within_one_share,
)
from spark_reports.protocols.pulsar.fidelity.verdict import RUNS_WANTED, judge, limit_of

PAIRS_LISTED = 8
"""Pairs with the largest differences that are listed for a job."""

POINTS_MOST = 101
"""Most points of a distribution's curve: its percentiles."""

QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}


def summary_of(jobs: list[Job]) -> dict[str, Any]:
    """All jobs, their versions, number of runs and days."""
    return together([job_summary(job) for job in jobs])


def together(jobs: list[dict[str, Any]]) -> dict[str, Any]:
    """The summaries of some jobs, with their versions, number of runs and days."""
    return {
        "runs": sum(job["runs"] for job in jobs),
        "versions": sorted({job["pulsar"] for job in jobs}),
        "first_date": min(job["first_date"] for job in jobs),
        "last_date": max(job["last_date"] for job in jobs),
        "jobs": jobs,
    }


def job_summary(job: Job) -> dict[str, Any]:
    """One job: its measures, verdict, distributions, causes, markers, and the pairs that differ most."""
    measures = measures_of(job)
    compared = [found for one in measures if (found := _compared(job, one))]
    figures = {
        "job": job.name,
        "pulsar": job.pulsar,
        "runs": len(job.pairs),
        "first_date": job.first_date,
        "last_date": job.last_date,
        "failovers": len(job.pairs[0].real.failovers),
        "times": job.times,
        "load": _load(job),
        "main": compared[0]["key"],
        "measures": compared,
        "late_snapshots": _late_snapshots(job),
    }
    return {
        **judged(figures),
        "values": _values(job, measures),
        "durations": {
            field: {side: _curve(pooled_ms(runs, field)) for side, runs in _sides(job).items()}
            for field in ("durations_us", "tick_to_update_us")
        },
        "causes": _causes(job),
        "violations": _violations(job),
        "marker_bytes": _marker_bytes(job),
        "pairs": _furthest(job, measures[0]),
    }


FIGURES = (
    "job",
    "pulsar",
    "runs",
    "first_date",
    "last_date",
    "failovers",
    "times",
    "load",
    "main",
    "measures",
    "late_snapshots",
)
"""What verdict, overview and table of figures of a job are made from: the site's file keeps it."""


def judged(figures: dict[str, Any]) -> dict[str, Any]:
    """The figures of a job with the verdicts that follow from them, of new runs or of kept ones."""
    measures = [{**one, "verdict": _verdict(one)} if one["judged"] else one for one in figures["measures"]]
    main = next(one for one in measures if one["key"] == figures["main"])
    return {
        **figures,
        "measures": measures,
        "few_runs": figures["runs"] < RUNS_WANTED,
        "limit": rounded(limit_of(main["real"]["mean"])),
        **main["verdict"],
    }


def _verdict(measure: dict[str, Any]) -> dict[str, Any]:
    interval = Interval(measure["difference"], measure["low"], measure["high"])
    found = judge(interval, measure["pairs"], measure["real"]["mean"], measure["p"])
    return {"verdict": found.word, "because": found.because, "further_runs": found.further_runs}


def _load(job: Job) -> dict[str, Any] | None:
    """The load of the machine, mean and largest of the runs; None where it was not written down."""
    known = [pair.load for pair in job.pairs if pair.load is not None]
    if not known:
        return None
    cores = [pair.cores for pair in job.pairs if pair.cores is not None]
    return {
        "mean": rounded(round(fmean(known), 1)),
        "max": rounded(max(known)),
        "cores": min(cores, default=None),
    }


def rounded(value: float) -> float | int:
    """The value with six significant digits, as a whole number where it is one."""
    found = float(f"{value:.6g}")
    return int(found) if found == int(found) else found


def _sides(job: Job) -> dict[str, list[Figures]]:
    return {
        "real": [pair.real for pair in job.pairs],
        "simulated": [pair.simulated for pair in job.pairs],
    }


def _compared(job: Job, measure: Measure) -> dict[str, Any] | None:
    """A measure on both sides; None where fewer than two runs have it on both."""
    both = [(measure.of(pair.real), measure.of(pair.simulated)) for pair in job.pairs]
    known = [(real, simulated) for real, simulated in both if real is not None and simulated is not None]
    if len(known) < 2:
        return None
    real, simulated = [one for one, _ in known], [one for _, one in known]
    differences = [one - other for one, other in known]
    key = (job.name, job.pulsar, measure.key)
    interval = t_interval(differences)
    p = ks_permutation_p(real, simulated, *key)
    return {
        "key": measure.key,
        "label": measure.label,
        "unit": measure.unit,
        "pairs": len(known),
        "real": _described(real),
        "simulated": _described(simulated),
        "difference": rounded(interval.mean),
        "low": rounded(interval.low),
        "high": rounded(interval.high),
        "equal": rounded(equal_share(differences)),
        "within_one": rounded(within_one_share(differences)),
        "p": rounded(p),
        "judged": measure.judged,
    }


def _described(values: list[float]) -> dict[str, float]:
    ordered = sorted(values)
    return {
        "mean": rounded(fmean(values)),
        **{name: rounded(nearest_rank(ordered, share)) for name, share in QUANTILES.items()},
        "max": rounded(ordered[-1]),
    }


def nearest_rank(ordered: list[float], share: float) -> float:
    """The smallest value that a share of the sorted values does not exceed, as elsewhere in the lab."""
    hundredths = round(share * 100)
    return ordered[max(0, -(-len(ordered) * hundredths // 100) - 1)]


def _values(job: Job, measures: list[Measure]) -> dict[str, list[list[float]]]:
    """For each figure of messages, [real, simulated, number of pairs] in the order of value."""
    found = {}
    for measure in measures:
        if measure.judged:
            pairs = [(measure.of(pair.real) or 0, measure.of(pair.simulated) or 0) for pair in job.pairs]
            found[measure.key] = [[*pair, pairs.count(pair)] for pair in sorted(set(pairs))]
    return found


def _curve(ordered: list[float]) -> dict[str, Any]:
    """Number, and values at equal steps of their cumulative share."""
    count = len(ordered)
    points = min(count, POINTS_MOST)
    places = [0] if points == 1 else [round(at * (count - 1) / (points - 1)) for at in range(points)]
    at = [
        [rounded(ordered[place]), rounded(bisect_right(ordered, ordered[place]) / count)]
        for place in places
        if count
    ]
    return {"count": count, "at": at}


def _causes(job: Job) -> list[dict[str, Any]]:
    """The causes of duplicates with their mean on both sides."""
    sides = _sides(job)
    names = sorted(
        {name for runs in sides.values() for run in runs for one in run.failovers for name in one.by_cause}
    )
    return [
        {
            "cause": name,
            **{
                side: rounded(fmean(sum(one.by_cause.get(name, 0) for one in run.failovers) for run in runs))
                for side, runs in sides.items()
            },
        }
        for name in names
    ]


def _violations(job: Job) -> list[dict[str, Any]]:
    """The violated claims, with the number of runs on both sides."""
    sides = _sides(job)
    claims = sorted({claim for runs in sides.values() for run in runs for claim in run.violations})
    return [
        {
            "claim": claim,
            **{side: sum(claim in run.violations for run in runs) for side, runs in sides.items()},
        }
        for claim in claims
    ]


def _marker_bytes(job: Job) -> list[dict[str, Any]]:
    """The smallest and largest size of one marker, by cluster and type."""
    sides = _sides(job)
    places = sorted(
        {
            (cluster, kind)
            for runs in sides.values()
            for run in runs
            for cluster, types in run.markers_bytes.items()
            for kind in types
        }
    )
    found = []
    for cluster, kind in places:
        row: dict[str, Any] = {"cluster": cluster, "type": kind}
        for side, runs in sides.items():
            sizes = [
                run.markers_bytes[cluster][kind] for run in runs if kind in run.markers_bytes.get(cluster, {})
            ]
            row[side] = [min(sizes), max(sizes)] if sizes else None
        found.append(row)
    return found


def _furthest(job: Job, measure: Measure) -> list[dict[str, Any]]:
    """The pairs that differ most, and of equal ones the earlier runs first."""

    def difference(pair: Pair) -> float:
        return (measure.of(pair.real) or 0) - (measure.of(pair.simulated) or 0)

    ranked = sorted(job.pairs, key=lambda pair: (-abs(difference(pair)), pair.run))
    return [
        {
            "run": pair.run,
            "folder": pair.folder,
            "real": measure.of(pair.real),
            "simulated": measure.of(pair.simulated),
            "difference": rounded(difference(pair)),
            "snapshots": [
                sum(one.completed for one in side.snapshots.values()) for side in (pair.real, pair.simulated)
            ],
            "causes": [_by_cause(side) for side in (pair.real, pair.simulated)],
        }
        for pair in ranked[:PAIRS_LISTED]
        if difference(pair)
    ]


def _late_snapshots(job: Job) -> dict[str, int]:
    """In how many pairs a snapshot was later in the one run or the other, with a difference of duplicates."""
    found = [later_run(_by_cause(pair.real), _by_cause(pair.simulated)) for pair in job.pairs]
    return {side: sum(one is not None and one[0] == side for one in found) for side in SIDES}


def _by_cause(run: Figures) -> dict[str, int]:
    names = sorted({name for one in run.failovers for name in one.by_cause})
    return {name: sum(one.by_cause.get(name, 0) for one in run.failovers) for name in names}
