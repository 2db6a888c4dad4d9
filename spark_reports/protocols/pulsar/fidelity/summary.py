"""The comparison of a job as plain values: statistics, verdicts, and what differs; JSON-serialisable."""

from __future__ import annotations

import hashlib
import math
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean, median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spark_reports.html.numbers import number, plural
from spark_reports.protocols.pulsar.fidelity.pairs import MESSAGES, Figures, Job, Pair
from spark_reports.student import t_quantile

# --- statistics of paired figures: intervals, shares and a two-sample test, as pure functions
#
# Rules: a difference is real minus simulated. Random draws come from a generator that the caller's key
# seeds, so equal input and key give equal results in any order of calls. Every function has a second
# implementation in plain Python in `tests/oracle/paired_statistics.py`.


LEVEL = 0.95
"""Confidence level of all intervals."""

SHUFFLES = 10_000
"""Shuffles of the permutation test: p is known to 0.01 or better."""

AT_ONCE = 1_000
"""Shuffles computed at once, which bounds memory: 10,000 runs take 80 MB."""

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Interval:
    """The mean of differences with the bounds of its 95 % interval."""

    mean: float
    low: float
    high: float

    @property
    def contains_zero(self) -> bool:
        """Whether no difference at all is compatible with the runs."""
        return self.low <= 0 <= self.high

    @property
    def half(self) -> float:
        """Half of the interval's length."""
        return (self.high - self.low) / 2

    @property
    def nearest(self) -> float:
        """The smallest absolute difference inside the interval."""
        return 0.0 if self.contains_zero else min(abs(self.low), abs(self.high))

    @property
    def furthest(self) -> float:
        """The largest absolute difference inside the interval."""
        return max(abs(self.low), abs(self.high))


def generator(*key: str) -> np.random.Generator:
    """A random generator that the key alone decides."""
    digest = hashlib.sha256("\n".join(key).encode()).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest[:16], "big")))


def t_interval(differences: Sequence[float]) -> Interval:
    """Student's t interval of the mean.

    Most pairs are equal, and a few differ by a whole snapshot period in either direction. For such
    differences it contains the true mean about as often as it says, and a bootstrap interval does not.
    """
    values = _several(differences)
    mean = float(values.mean())
    error = float(values.std(ddof=1)) / math.sqrt(len(values))
    half = t_quantile((1 + LEVEL) / 2, len(values) - 1) * error
    return Interval(mean, mean - half, mean + half)


def equal_share(differences: Sequence[float]) -> float:
    """The share of pairs without a difference."""
    return sum(one == 0 for one in differences) / len(differences)


def within_one_share(differences: Sequence[float]) -> float:
    """The share of pairs that differ by one at most."""
    return sum(abs(one) <= 1 for one in differences) / len(differences)


def ks_distance(real: Sequence[float], simulated: Sequence[float]) -> float:
    """Kolmogorov-Smirnov's distance: the largest gap between the two cumulative distributions."""
    weights, ends = _pooled(real, simulated)
    return int(np.abs(np.cumsum(weights)[ends]).max()) / (len(real) * len(simulated))


def ks_permutation_p(real: Sequence[float], simulated: Sequence[float], *key: str) -> float:
    """p of the two-sample permutation test with Kolmogorov-Smirnov's distance.

    The labels of the pooled values are shuffled, so that ties are treated exactly, unlike in the test's usual
    formula for continuous values. p counts the observed labels as one of the shuffles and is never 0.
    """
    weights, ends = _pooled(real, simulated)
    observed = int(np.abs(np.cumsum(weights)[ends]).max())
    random = generator("permutation", *key)
    as_far = 0
    for size in _batches():
        shuffled = random.permuted(np.broadcast_to(weights, (size, len(weights))), axis=1)
        distances = np.abs(np.cumsum(shuffled, axis=1)[:, ends]).max(axis=1)
        as_far += int((distances >= observed).sum())
    return (1 + as_far) / (1 + SHUFFLES)


def _several(differences: Sequence[float]) -> Values:
    if len(differences) < 2:
        raise ValueError(f"{len(differences)} differences; an interval needs at least 2")
    return np.asarray(differences, dtype=np.float64)


def _batches() -> list[int]:
    return [AT_ONCE] * (SHUFFLES // AT_ONCE) + [SHUFFLES % AT_ONCE] * (SHUFFLES % AT_ONCE > 0)


def _pooled(real: Sequence[float], simulated: Sequence[float]) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
    """Steps of the scaled difference of both distributions by value, and the last one of each value."""
    if not len(real) or not len(simulated):
        raise ValueError("a two-sample test needs values on both sides")
    values = np.concatenate([np.asarray(real, dtype=np.float64), np.asarray(simulated, dtype=np.float64)])
    steps = np.concatenate(
        [np.full(len(real), len(simulated), np.int64), np.full(len(simulated), -len(real), np.int64)]
    )
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    ends = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True))
    return steps[order], ends


# --- whether real and simulated runs are equal in a measure, as an equivalence test
#
# Rules: a difference of half a message or 3 % of the real mean, whichever is larger, is negligible. A
# measure is *equal* if its whole 95 % interval is within that limit, *different* if the whole interval is
# beyond it, and otherwise not decided: then more runs are needed. So a wide interval never makes a measure
# equal. The two-sample test decides nothing, because a large p is no evidence that two distributions are
# equal.


NEGLIGIBLE_MESSAGES = 0.5
NEGLIGIBLE_SHARE = 0.03
P_LEAST = 0.05

EQUAL, DIFFERENT, NOT_DECIDED = "equal", "different", "not decided"

RUNS_WANTED = 60
"""Fewer runs are marked: a kind of difference that occurs in one of twenty runs may be in none of them."""

RUNS_MOST = 1_000_000
"""Runs beyond which no number is named."""


MANY = 1_000
"""Runs beyond which Student's t is close to the normal distribution."""


@dataclass(frozen=True)
class Verdict:
    """One of the three words, the reason as a sentence, and how many more runs would decide."""

    word: str
    because: str
    further_runs: int | None = None
    """About so many, if mean and spread stay as they are; None where decided, or above `RUNS_MOST`."""


def limit_of(real_mean: float) -> float:
    """The largest negligible difference, in messages."""
    return max(NEGLIGIBLE_MESSAGES, NEGLIGIBLE_SHARE * abs(real_mean))


def judge(interval: Interval, pairs: int, real_mean: float, p: float) -> Verdict:
    """The verdict about the mean difference of so many pairs."""
    limit = limit_of(real_mean)
    word, further = NOT_DECIDED, None
    if interval.furthest <= limit:
        word = EQUAL
        because = f"The whole interval is within {limit:.2f} messages of zero."
    elif interval.nearest > limit:
        word = DIFFERENT
        because = f"The whole interval is more than {limit:.2f} messages away from zero."
    else:
        wanted = runs_needed(interval, pairs, limit)
        further = None if wanted is None else max(1, wanted - pairs)
        becomes = EQUAL if abs(interval.mean) < limit else DIFFERENT
        because = (
            f"The interval reaches {interval.furthest:.2f} messages, beyond the limit of {limit:.2f}, and is "
            f"not wholly beyond it. {_further_words(further, becomes)}"
        )
    if p <= P_LEAST:
        because += f" The two-sample test finds different distributions: p = {p:.3f}."
    return Verdict(word, because, further)


def runs_needed(interval: Interval, pairs: int, limit: float) -> int | None:
    """The fewest runs whose interval would decide, with this mean and spread; None above `RUNS_MOST`."""
    distance = abs(limit - abs(interval.mean))
    deviation = interval.half / _t(pairs) * math.sqrt(pairs)
    low, high = 2, RUNS_MOST
    if _t(high) * deviation / math.sqrt(high) > distance:
        return None
    while low < high:
        middle = (low + high) // 2
        if _t(middle) * deviation / math.sqrt(middle) <= distance:
            high = middle
        else:
            low = middle + 1
    return low


def _t(runs: int) -> float:
    """The quantile of Student's t; of many runs that of the normal distribution, 0.2 % less."""
    share = (1 + LEVEL) / 2
    return NormalDist().inv_cdf(share) if runs > MANY else t_quantile(share, runs - 1)


def _further_words(further: int | None, becomes: str) -> str:
    if further is None:
        return f"Not even {number(RUNS_MOST)} runs would decide: the mean difference is at the limit."
    runs = plural(further, "further run", "further runs")
    return f"About {runs} would make it {becomes}, if mean and spread stay as they are."


# --- pairs that differ because a snapshot was later in one run than in the other
#
# A failover between the two instants at which the same snapshot was applied costs one of the runs all
# messages of a snapshot period, although both behave alike. The causes of duplicates say where the snapshot
# was at the failover of the run with more duplicates.


SIDES = ("real", "simulated")

WHERE = {
    "update_in_flight": "its update was in flight at the failover",
    "snapshot_incomplete": "it was not complete at the failover",
    "snapshot_unused": "no ack had used it by the failover",
}
"""By cause of duplicates, where the newest snapshot was."""


def later_run(real: Mapping[str, int], simulated: Mapping[str, int]) -> tuple[str, str] | None:
    """The run in which a snapshot was later, and the cause that says where it was.

    The arguments are duplicates by cause. None where that does not account for at least half of a difference
    of two or more.
    """
    difference = sum(real.values()) - sum(simulated.values())
    if abs(difference) < 2:
        return None
    later, earlier = (real, simulated) if difference > 0 else (simulated, real)
    more = {name: later.get(name, 0) - earlier.get(name, 0) for name in WHERE}
    cause = max(more, key=lambda name: more[name])
    accounted = sum(count for count in more.values() if count > 0)
    return None if 2 * accounted < abs(difference) else (SIDES[difference < 0], cause)


def explanation(real: Mapping[str, int], simulated: Mapping[str, int]) -> str:
    """The reason for the difference of a pair as a sentence; empty where it is another one."""
    found = later_run(real, simulated)
    if found is None:
        return ""
    side, cause = found
    other = SIDES[side == SIDES[0]]
    return f"A snapshot was later in the {side} run: {WHERE[cause]}. In the {other} run it had been applied."


# --- what is compared: each measure gives one number for a run, or None where the run has none
#
# Rules: a measure of messages is a sum over the run's failovers. A measure of durations is the median of
# the run, because the snapshots of one run are not independent of each other, and runs are.


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


# --- the comparison of a job as plain values: JSON-serialisable, and the only input of page and table
#
# Rules: equal pairs give equal bytes on any machine, so floats are rounded to six significant digits. The
# random draws of a measure are keyed by job, version and measure, so an additional job changes no other
# one.


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
