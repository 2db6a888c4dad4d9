"""How long appends took in a run on real brokers: the engine's run draws from the same distribution.

Rules: the broker stamps an entry at the beginning of its append, and the producer has its receipt when the
append is complete and the client's threads have handled it. A lognormal is fitted to the median and the 90th
percentile, so that the few messages that waited for the load of a topic do not decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import log
from statistics import NormalDist
from typing import Any

from script.real_brokers.process import Event
from simulator.scenarios.model import Distribution

SAMPLES_LEAST = 30
"""The fewest appends that a distribution is fitted to."""

HIGH = 0.9
"""The percentile that gives the shape."""


def append_time(events: Sequence[Event], entries: Iterable[Mapping[str, Any]]) -> Distribution | None:
    """The fitted distribution, or None with too few receipts; `entries` are those of all logs."""
    receipts = {
        (event["producer"], event["sequence"], event["ledger"], event["entry"]): event["t"]
        for event in events
        if event["e"] == "receipted"
    }
    took_ns = sorted(
        receipts[place] - entry["stored_ns"]
        for entry in entries
        if not entry.get("replicated_from")
        and (place := (entry.get("producer"), entry.get("sequence"), entry["ledger"], entry["entry"]))
        in receipts
    )
    if len(took_ns) < SAMPLES_LEAST:
        return None
    median_us = max(1, took_ns[len(took_ns) // 2] // 1000)
    high_us = max(median_us, took_ns[int(len(took_ns) * HIGH)] // 1000)
    sigma = log(high_us / median_us) / NormalDist().inv_cdf(HIGH)
    return Distribution("lognormal", value_us=median_us, sigma_millionths=round(sigma * 1000) * 1000)
