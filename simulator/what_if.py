"""What would have helped: the same seed and the same failure, run again with one thing changed at a time.

Rules: the first variant is the run as it was; the others are told as differences to it. Page and report use these very
functions, so their figures agree. A rerun is a world of its own: nothing that is shown elsewhere moves.
"""

from __future__ import annotations

from typing import Any

from simulator.counting.results import CountedFailover
from simulator.variants import Variant, variants
from simulator.world import World

__all__ = ["FIGURES", "Rerun", "Variant", "difference", "variants"]

FIGURES = {"duplicates": "twice", "redeliveries": "redelivered", "stranded": "stranded", "lost": "lost"}
"""Figures of a failover that are compared, and the word after "3 fewer"."""


class Rerun:
    """A variant being run, in slices."""

    def __init__(self, variant: Variant, seed: int, until_us: int, rows_max: int | None = None) -> None:
        self.variant, self.until_us = variant, until_us
        self.world = World(variant.scenario, seed, rows_max)
        for entry in variant.commands:
            self.world.schedule_logged(entry)

    def step(self, events: int) -> bool:
        """Run at most about `events` queue events; True while more is left."""
        return self.world.advance(self.until_us, events)

    def outcome(self) -> dict[str, Any]:
        """{"key", "name", "failovers": as in the summary, each with "moved", "markers": entries in each cluster's logs, "digest"}."""
        summary = self.world.summary()
        markers = {cluster: sum(sum(topic["markers"].values()) for topic in told["topics"].values()) for cluster, told in summary["clusters"].items()}
        failovers = [{**told, "moved": self._moved(counted)} for told, counted in zip(summary["failovers"], self.world.counted().failovers, strict=True)]
        return {"key": self.variant.key, "name": self.variant.name, "failovers": failovers, "markers": markers, "digest": summary["trace_sha256"]}

    def _moved(self, failover: CountedFailover) -> bool:
        """Whether the consumers had subscribed at the target by the end of the window."""
        trace = self.world.trace
        finished = (trace.row(seq) for seq in trace.seqs(failover.opened_seq, failover.closed_seq, types=("failover.finished",), limit=None))
        return any((row["subscription"], row["peer"]) == (failover.subscription, failover.target) for row in finished)


def difference(real: dict[str, Any] | None, other: dict[str, Any] | None) -> str:
    """What the change did to one failover, in words: both are entries of `failovers`, None where it did not come about."""
    if other is None:
        return "the failover did not come about"
    if real is None:
        return "only here the failover came about"
    if not other["moved"]:
        return "the consumers had not moved by the end"
    parts = [f"{abs(other[name] - real[name])} {'more' if other[name] > real[name] else 'fewer'} {word}" for name, word in FIGURES.items() if other[name] != real[name]]
    if real["outage_us"] is not None and other["outage_us"] is not None and real["outage_us"] != other["outage_us"]:
        longer = other["outage_us"] - real["outage_us"]
        parts.append(f"outage {_span(abs(longer))} {'longer' if longer > 0 else 'shorter'}")
    if real["first_delivery_us"] is not None and other["first_delivery_us"] is None:
        parts.append("nothing left to deliver")
    return ", ".join(parts) or "no difference"


def _span(us: int) -> str:
    return f"{us / 1_000_000:.2f} s" if us >= 1_000_000 else f"{us / 1000:.0f} ms"
