"""The figures by which changed reruns of a run with failovers are compared."""

from __future__ import annotations

from typing import Any

from simulator.counting.results import CountedFailover
from simulator.protocols.pulsar.views import strategies
from simulator.system.compared import Case, Compared, Figure, Price, figure_words, per_second

FIGURES = (
    Figure("duplicates", "duplicates", "duplicates", grows=True),
    Figure("redeliveries", "redelivered", "redelivered", grows=True),
    Figure("stranded", "not replicated", "not replicated"),
    Figure("lost", "lost", "lost"),
    Figure("outage_us", "delivery gap", "delivery gap", "us"),
    Figure("markers", "markers at the source"),
)

PRICES = (
    Price("markers_per_s", "markers/s"),
    Price("marker_bytes_per_s", "bytes/s of markers"),
    Price("outage_us", "delivery gap", "us"),
)


def _cases(world: Any) -> list[Case]:
    """The failovers as in the summary, each with `moved`, `markers` and the run's rates of markers.

    `markers` is the number of marker entries in the logs of the cluster that was left. The rates count the
    markers that all regions' logs stored.
    """
    summary = world.summary()
    costs = strategies.costs(world)
    rates = {
        "markers_per_s": per_second(costs["marker_entries"], world.now_us),
        "marker_bytes_per_s": per_second(costs["marker_bytes"], world.now_us),
    }
    markers = {
        cluster: sum(sum(topic["markers"].values()) for topic in figures["topics"].values())
        for cluster, figures in summary["clusters"].items()
    }
    return [
        {
            **figures,
            "label": f"{figures['subscription']} from {figures['from']} to {figures['to']}",
            "moved": _moved(world, counted),
            "markers": markers[figures["from"]],
            **rates,
        }
        for figures, counted in zip(summary["failovers"], world.counted().failovers, strict=True)
    ]


def _moved(world: Any, failover: CountedFailover) -> bool:
    """Whether the consumers had subscribed at the target by the end of the window."""
    trace = world.trace
    finished = (
        trace.row(seq)
        for seq in trace.seqs(
            failover.opened_seq, failover.closed_seq, types=("failover.finished",), limit=None
        )
    )
    return any(
        (row["subscription"], row["peer"]) == (failover.subscription, failover.target) for row in finished
    )


def _difference(real: Case, other: Case) -> str:
    if not other["moved"]:
        return "the consumers had not moved by the end of the run"
    parts = figure_words(FIGURES, real, other)
    if real["first_delivery_us"] is not None and other["first_delivery_us"] is None:
        parts.append("nothing left to deliver")
    return ", ".join(parts) or "no difference"


def _harm(real: Case, other: Case) -> tuple[int, ...]:
    """The harm of a case, as a sort key: worst is that the consumers never moved.

    Otherwise a loss is worse than any number of duplicates.
    """
    if not other["moved"]:
        return (1,)
    return (
        0,
        *(other[name] for name in ("lost", "duplicates", "stranded", "redeliveries")),
        other["outage_us"] or 0,
    )


ASSUMPTIONS = {
    "planned": "assumes a planned move while the region was still up",
    "drained": "assumes a planned move while the region was still up",
    "all-up": "assumes that no region fails",
}
"""Changes, by key, that are impossible when a region crashes without notice."""


def _assumes(real: Case, key: str) -> str | None:
    return ASSUMPTIONS.get(key) if real["mode"] in ("crash", "auto") else None


COMPARED = Compared(
    "failover",
    _cases,
    FIGURES,
    _difference,
    _harm,
    "no failover",
    ("This run has no failover, so there is nothing to compare. Press O to fail over."),
    _assumes,
    PRICES,
)
