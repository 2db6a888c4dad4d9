"""Counted values as the JSON of the contract: exactly its keys, each present even at 0."""

from __future__ import annotations

from typing import Any

from simulator.counting.results import CountedFailover, SubscriptionCounts

_PLAIN = (
    "mode",
    "at_us",
    "duplicates",
    "extra_deliveries",
    "redeliveries",
    "lost",
    "lost_recovered",
    "lost_by_cause",
    "stranded",
    "stranded_unprocessed",
    "stranded_returned",
    "stranded_missing",
    "expired",
    "skipped",
    "reordered",
    "by_cause",
)


def failover_summary(counted: CountedFailover, forecast: dict[str, int] | None = None) -> dict[str, Any]:
    """One entry of `failovers[]`.

    `forecast` is the world's forecast at the failover's instant, None when it made none.
    """
    figures = forecast or {}
    return {
        "subscription": counted.subscription,
        "from": counted.source,
        "to": counted.target,
        **{name: _copied(getattr(counted, name)) for name in _PLAIN},
        "dedup_window": {"messages": counted.dedup_window_messages, "us": counted.dedup_window_us},
        "outage_us": counted.outage_us,
        "first_delivery_us": counted.first_delivery_us,
        "caught_up_us": counted.caught_up_us,
        "drained_us": counted.drained_us,
        "pending_repeats": counted.pending_repeats,
        "forecast": {name: figures.get(name) for name in ("duplicates", "lost", "stranded")},
    }


def _copied(value: Any) -> Any:
    return dict(value) if isinstance(value, dict) else value


def subscription_summary(counted: SubscriptionCounts) -> dict[str, int]:
    """The counted part of one entry of `subscriptions.{S}.{C}` or of its `partitions`."""
    return {
        name: getattr(counted, name)
        for name in ("delivered", "acknowledged", "repeated", "expired", "skipped")
    }
