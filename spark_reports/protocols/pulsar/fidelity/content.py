"""The content of the comparison's pages: texts, tables and charts from a summary.

Report and site render this content, each with its own templates, so that both show the same. A block is a
`table` (head, rows of cells with a mark), a `chart` (a Plotly figure), or `pairs` (links to runs).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simulator import cause_texts
from spark_reports.html.numbers import plural
from spark_reports.html.sections import from_glossary
from spark_reports.protocols.pulsar.fidelity import charts
from spark_reports.protocols.pulsar.fidelity.charts import difference_words, main_of, signed, title_of
from spark_reports.protocols.pulsar.fidelity.pairs import MEASURED_TIMES, PREDICTED_TIMES
from spark_reports.protocols.pulsar.fidelity.summary import (
    DIFFERENT,
    EQUAL,
    FIGURES,
    MESSAGE_LABELS,
    NOT_DECIDED,
    RUNS_MOST,
    SHUFFLES,
    explanation,
    judged,
    together,
)


def definitions() -> tuple[tuple[str, str], ...]:
    """Name and meaning of each term, in the order of the page."""
    return (
        (
            "Pair",
            "A run on real brokers and a simulated run of the same scenario, with the same instants of commands "
            "relative to the snapshot ticks. Both are counted by the same code.",
        ),
        *from_glossary("Duplicate", "Redelivered", "Not replicated", "Lost"),
        (
            "Repeated outside failovers",
            "Deliveries of messages that were delivered before in the same cluster, outside the windows of failovers.",
        ),
        (
            "Difference of a pair",
            "Real minus simulated; the mean of all pairs, with its 95 % interval by Student's t.",
        ),
        (
            "Equal, different, not decided",
            "An equivalence test: a mean difference within half a message or 3 % of the real mean, whichever is "
            "larger, is negligible. Equal: the whole interval is within it. Different: the whole interval is beyond "
            "it. Otherwise not decided, so a wide interval is never equal. Few runs: fewer than 60, in which a "
            "difference that occurs in one of twenty runs may be missing.",
        ),
        (
            "Further runs",
            "About so many more runs would decide, if mean and spread of the difference stay as they are.",
        ),
        (
            "Times from",
            "Same run: the simulated run has the times of appends, deliveries, subscribes and ack groups that were "
            "measured in its real run. Calibration: it has those of earlier runs of other jobs, so it is a prediction.",
        ),
        (
            "p",
            f"The two-sample permutation test with Kolmogorov-Smirnov's distance between the distributions, "
            f"{SHUFFLES:,} shuffles with a seed. It ignores which runs are paired, and decides no verdict. If nothing differs, one of twenty "
            f"tests still gives a p below 0.05.",
        ),
        (
            "Equal pairs, within one",
            "The share of pairs without a difference, and with a difference of one at most.",
        ),
        (
            "Snapshot duration",
            "From a snapshot's first request to its completion at the cluster that requested it.",
        ),
        (
            "Delay from tick to update",
            "From a snapshot's first request, which a tick writes, to the first update of each subscription that applies the snapshot.",
        ),
        ("p50, p90", "The value that 50 % or 90 % of the runs do not exceed, by nearest rank."),
    )


OVERVIEW_HEAD = (
    "job",
    "verdict",
    "Pulsar",
    "date",
    "times from",
    "figure",
    "runs",
    "further runs",
    "real: mean",
    "simulated",
    "difference of a pair (95 %)",
    "equal pairs / within one",
    "p",
)


WORDS = 6
"""Columns of the overview with words: they are aligned to the left."""


def content_of(
    summary: dict[str, Any], kept: Sequence[dict[str, Any]] = (), not_measured: Sequence[dict[str, str]] = ()
) -> dict[str, Any]:
    """Everything that a page shows.

    `kept`: jobs of an earlier content, which the summary does not have. `not_measured`: names and titles of
    jobs without runs.
    """
    summary, jobs = with_kept(summary, kept)
    stored = {_key(job["figures"]): job for job in kept}
    return {
        "title": "Real brokers and the simulator",
        "sentence": sentence(jobs),
        "dek": (
            f"{plural(summary['runs'], 'run', 'runs')} on real brokers of Pulsar "
            f"{' and '.join(summary['versions'])}, {days(summary)}, each paired with a simulated run of the same "
            f"scenario at the same instant relative to the snapshot ticks. A difference is real minus simulated."
        ),
        "overview": [
            {"kind": "table", "title": "Every job", "says": OVERVIEW_SAYS, "words": WORDS, **overview(jobs)},
            _chart(
                "differences",
                "Difference and its interval",
                "The mean difference of a pair with its 95 % interval. At −1 and 1 it is half a message or 3 % of the "
                "real mean, whichever is larger.",
                charts.differences(jobs),
                charts_text(jobs),
            ),
        ],
        "not_measured": list(not_measured),
        "jobs": [_job(job, number, stored.get(_key(job))) for number, job in enumerate(jobs, 1)],
        "definitions": [list(one) for one in definitions()],
    }


OVERVIEW_SAYS = (
    "Equal: the whole interval lies within half a message or 3 % of the real mean, whichever is larger. Different: "
    "the whole interval lies beyond that. Not decided: neither, and about so many further runs would decide."
)


def with_kept(
    summary: dict[str, Any], kept: Sequence[dict[str, Any]]
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The summary together with the kept jobs that it does not have, and all jobs in order."""
    new = {_key(job) for job in summary["jobs"]}
    earlier = [judged(job["figures"]) for job in kept if _key(job["figures"]) not in new]
    jobs = sorted([*summary["jobs"], *earlier], key=_key)
    return together(jobs), jobs


def _key(job: dict[str, Any]) -> tuple[str, str]:
    return job["job"], job["pulsar"]


def sentence(jobs: list[dict[str, Any]]) -> str:
    """How many jobs have each verdict."""
    counts = {word: sum(job["verdict"] == word for job in jobs) for word in (EQUAL, NOT_DECIDED, DIFFERENT)}
    first, *others = [(count, word) for word, count in counts.items() if count]
    return ", ".join(
        [
            f"{first[0]} of {plural(len(jobs), 'job', 'jobs')} {first[1]}",
            *(f"{n} {word}" for n, word in others),
        ]
    )


def overview(jobs: list[dict[str, Any]]) -> dict[str, Any]:
    """The table of all jobs: head and rows."""
    return {"head": list(OVERVIEW_HEAD), "rows": [_overview_row(job) for job in jobs]}


def days(summary: dict[str, Any]) -> str:
    """The day of the runs, or the first and the last one."""
    first, last = summary["first_date"], summary["last_date"]
    return first if first == last else f"{first} to {last}"


def charts_text(jobs: list[dict[str, Any]]) -> str:
    """The chart of differences as text, for readers who do not see it."""
    return "; ".join(f"{title_of(job)}: {difference_words(main_of(job))}" for job in jobs)


def _overview_row(job: dict[str, Any]) -> dict[str, Any]:
    main = main_of(job)
    times = "calibration" if job["times"] == PREDICTED_TIMES else "same run"
    cells = [job["job"], _verdict(job), job["pulsar"], days(job), times, main["label"], str(job["runs"])]
    return {"mark": MARKS[job["verdict"]], "cells": [*cells, _further(job), *_compared(main)]}


MARKS = {EQUAL: "", DIFFERENT: "different", NOT_DECIDED: "undecided"}
"""The class of a row or title with this verdict."""


def _verdict(job: dict[str, Any]) -> str:
    return job["verdict"] + (", few runs" if job["few_runs"] else "")


def _further(job: dict[str, Any]) -> str:
    """About how many further runs would decide; rounded up to two digits, because it is an estimate."""
    if job["verdict"] != NOT_DECIDED:
        return "–"
    runs = job["further_runs"]
    if runs is None:
        return f"over {figure(RUNS_MOST)}"
    step = 10 ** max(0, len(str(runs)) - 2)
    return figure(-(-runs // step) * step)


def _compared(measure: dict[str, Any]) -> list[str]:
    return [
        figure(measure["real"]["mean"]),
        figure(measure["simulated"]["mean"]),
        difference_words(measure),
        "–" if measure["unit"] == "ms" else f"{percent(measure['equal'])} / {percent(measure['within_one'])}",
        f"{measure['p']:.3f}",
    ]


def figure(value: float | None) -> str:
    """A number with two digits after the point, or none where it is whole."""
    if value is None:
        return "–"
    return (
        f"{value:,.0f}".replace(",", "\u2009")
        if value == int(value)
        else f"{value:,.2f}".replace(",", "\u2009")
    )


def percent(share: float) -> str:
    """A share in per cent; 100 only where it is all."""
    text = f"{100 * share:.0f} %"
    return f"{100 * share:.1f} %" if text in ("100 %", "0 %") and share not in (0, 1) else text


def _job(job: dict[str, Any], number: int, kept: dict[str, Any] | None) -> dict[str, Any]:
    """A job; of a kept one all blocks but the first are as they were."""
    main = main_of(job)
    return {
        "anchor": f"job-{number}",
        "title": job["job"],
        "mark": MARKS[job["verdict"]],
        "verdict": _verdict(job),
        "sentence": (
            f"Pulsar {job['pulsar']}, {plural(job['runs'], 'run', 'runs')}, {days(job)}{_load(job)}. "
            f"{TIMES_SAY[job['times']]}{main['label'].capitalize()}: "
            f"real {figure(main['real']['mean'])}, simulated {figure(main['simulated']['mean'])}, difference "
            f"{difference_words(main)}. {job['because']}{_late_snapshots(job)}"
        ),
        "blocks": [
            _measures(job),
            *(_other_blocks(job, number) if kept is None else _renumbered(kept, number)),
        ],
        "figures": {name: job[name] for name in FIGURES}
        | {"measures": [{k: v for k, v in one.items() if k != "verdict"} for one in job["measures"]]},
    }


TIMES_SAY = {
    MEASURED_TIMES: "",
    PREDICTED_TIMES: "The simulated runs have the times of a calibration, made from other runs. ",
}


def _other_blocks(job: dict[str, Any], number: int) -> list[dict[str, Any]]:
    blocks = [*_distributions(job, number), *_markers(job, number), *_causes(job), *_violations(job)]
    return [*blocks, _pairs(job)] if job["pairs"] else blocks


def _renumbered(kept: dict[str, Any], number: int) -> list[dict[str, Any]]:
    """The blocks of a kept job; the name of a chart ends with the number of its job."""
    return [
        {**block, "name": f"{block['name'].rpartition('-')[0]}-{number}"}
        if block["kind"] == "chart"
        else block
        for block in kept["blocks"][1:]
    ]


def _load(job: dict[str, Any]) -> str:
    """The machine's load during the runs, where it is known."""
    load = job["load"]
    if load is None:
        return ""
    cores = "" if load["cores"] is None else f" on {plural(load['cores'], 'core', 'cores')}"
    return f", load of the machine {load['mean']} on average, {load['max']} at most{cores}"


def _late_snapshots(job: dict[str, Any]) -> str:
    late = job["late_snapshots"]
    pairs = sum(late.values())
    if not pairs:
        return ""
    return (
        f" {plural(pairs, 'pair differs', 'pairs differ')} because a snapshot was later in one of the two runs: "
        f"in the real one {late['real']}, in the simulated one {late['simulated']}."
    )


def _measures(job: dict[str, Any]) -> dict[str, Any]:
    rows = []
    for one in job["measures"]:
        word = one["verdict"]["verdict"] if one["judged"] else ""
        label = f"{one['label']}, {one['unit']}" if one["unit"] == "ms" else one["label"]
        if one["pairs"] < job["runs"]:
            label = f"{label} ({one['pairs']} pairs)"
        spread = [
            f"{figure(one['real'][name])} / {figure(one['simulated'][name])}"
            for name in ("p50", "p90", "max")
        ]
        real, simulated, *rest = _compared(one)
        rows.append(
            {
                "mark": MARKS.get(word, ""),
                "cells": [label, word, real, simulated, *spread, *rest],
            }
        )
    return {
        "kind": "table",
        "title": "Figures of a run",
        "says": "Columns with two values: real / simulated. Figures of messages have a verdict.",
        "words": 2,
        "head": ["figure", "verdict", *OVERVIEW_HEAD[8:10], "p50", "p90", "max", *OVERVIEW_HEAD[10:]],
        "rows": rows,
    }


def _distributions(job: dict[str, Any], number: int) -> list[dict[str, Any]]:
    blocks = []
    labels = {**MESSAGE_LABELS, "repeated": "repeated outside failovers"}
    for key, label in labels.items():
        values = job["values"].get(key)
        if not values or not any(real or simulated for real, simulated, _ in values):
            continue
        measure = next(one for one in job["measures"] if one["key"] == key)
        name = f"{key}-{number}"
        blocks.append(
            _chart(
                name,
                f"{label.capitalize()}: distribution",
                "The share of runs up to each number of messages.",
                charts.shares(values, "messages"),
                _spread_text(label, measure),
            )
        )
        if key == job["main"]:
            blocks.append(
                _chart(
                    f"pairs-{number}",
                    f"{label.capitalize()} of each pair",
                    "A larger point is several pairs. On the dotted line both are equal.",
                    charts.scatter(values, "messages"),
                    f"{percent(measure['equal'])} of the pairs are equal, {percent(measure['within_one'])} differ by one "
                    f"message at most.",
                )
            )
    for field, label in (
        ("durations_us", "Snapshot durations"),
        ("tick_to_update_us", "Delay from tick to update"),
    ):
        curves = job["durations"][field]
        if any(curve["count"] for curve in curves.values()):
            counts = ", ".join(f"{curve['count']} {side}" for side, curve in curves.items())
            key = "snapshot_ms" if field == "durations_us" else "update_ms"
            found = next((one for one in job["measures"] if one["key"] == key), None)
            blocks.append(
                _chart(
                    f"{key}-{number}",
                    label,
                    f"The share up to each duration, of all runs together: {counts}.",
                    charts.durations(curves),
                    _spread_text(label, found) if found else label,
                )
            )
    return blocks


def _spread_text(label: str, measure: dict[str, Any]) -> str:
    return f"{label}: " + "; ".join(
        f"{side} p50 {figure(measure[side]['p50'])}, p90 {figure(measure[side]['p90'])}, max {figure(measure[side]['max'])}"
        for side in charts.SIDES
    )


def _markers(job: dict[str, Any], number: int) -> list[dict[str, Any]]:
    counted = [one for one in job["measures"] if one["key"].startswith("marker_")]
    if not counted:
        return []
    blocks = [
        _chart(
            f"markers-{number}",
            "Markers by type",
            "In the logs of all clusters together, written there or replicated, mean of the runs.",
            charts.markers(counted),
            "; ".join(
                f"{one['label']}: real {figure(one['real']['mean'])}, simulated {figure(one['simulated']['mean'])}"
                for one in counted
            ),
        )
    ]
    if job["marker_bytes"]:
        rows = [
            {
                "mark": "",
                "cells": [one["cluster"], one["type"], _bytes(one["real"]), _bytes(one["simulated"])],
            }
            for one in job["marker_bytes"]
        ]
        blocks.append(
            {
                "kind": "table",
                "title": "Size of a marker",
                "says": "Bytes of the first marker of its type in the log of each cluster, smallest to largest of the runs. A copy was replicated to it.",
                "words": 2,
                "head": ["cluster", "marker", "real", "simulated"],
                "rows": rows,
            }
        )
    return blocks


def _bytes(sizes: list[int] | None) -> str:
    if sizes is None:
        return "–"
    return str(sizes[0]) if sizes[0] == sizes[1] else f"{sizes[0]} to {sizes[1]}"


def _causes(job: dict[str, Any]) -> list[dict[str, Any]]:
    rows = [
        {
            "mark": "",
            "cells": [
                cause_name(one["cause"]),
                figure(one["real"]),
                figure(one["simulated"]),
                signed(one["real"] - one["simulated"]),
            ],
        }
        for one in job["causes"]
        if one["real"] or one["simulated"]
    ]
    if not rows:
        return []
    return [
        {
            "kind": "table",
            "title": "Duplicates by cause",
            "says": "Mean of the runs. Both sides are counted by the same rules.",
            "words": 1,
            "head": ["cause", "real", "simulated", "difference"],
            "rows": rows,
        }
    ]


def _violations(job: dict[str, Any]) -> list[dict[str, Any]]:
    if not job["violations"]:
        return []
    rows = [
        {"mark": "", "cells": [one["claim"], str(one["real"]), str(one["simulated"])]}
        for one in job["violations"]
    ]
    return [
        {
            "kind": "table",
            "title": "Violated checks",
            "says": "Number of runs whose trace violates the statement about the protocol.",
            "words": 1,
            "head": ["statement", "real", "simulated"],
            "rows": rows,
        }
    ]


def cause_name(name: str) -> str:
    """The heading of a cause of Pulsar, without names of clusters."""
    known = cause_texts("pulsar").get(name)
    return (
        known[0].format(to="the target", x="the source", subscription="the subscription") if known else name
    )


def _pairs(job: dict[str, Any]) -> dict[str, Any]:
    return {
        "kind": "pairs",
        "title": "Pairs that differ most",
        "says": (
            "By the figure of the verdict. Columns with two values: real / simulated. A failover between the "
            "instants at which both runs apply the same snapshot costs one of them a whole snapshot period."
        ),
        "rows": [
            {
                "run": one["run"],
                "folder": one["folder"],
                "real": figure(one["real"]),
                "simulated": figure(one["simulated"]),
                "difference": signed(one["difference"], 0),
                "snapshots": " / ".join(map(str, one["snapshots"])),
                "causes": "; ".join(
                    f"{cause_name(name)}: {one['causes'][0].get(name, 0)} / {one['causes'][1].get(name, 0)}"
                    for name in sorted({*one["causes"][0], *one["causes"][1]})
                    if any(side.get(name) for side in one["causes"])
                ),
                "explanation": explanation(*one["causes"]),
            }
            for one in job["pairs"]
        ],
    }


def _chart(name: str, title: str, says: str, figure_of: dict[str, Any], label: str) -> dict[str, Any]:
    height = figure_of["layout"]["height"]
    return {
        "kind": "chart",
        "name": name,
        "title": title,
        "says": says,
        "figure": figure_of,
        "label": label,
        "height_px": height,
    }
