"""Terms and methods of the comparison's pages."""

from __future__ import annotations

from spark_reports.html.definitions import from_glossary
from spark_reports.protocols.pulsar.fidelity.statistics import SHUFFLES


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
