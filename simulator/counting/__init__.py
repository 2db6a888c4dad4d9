"""The product's promise: duplicates, losses and their causes, counted from the trace.

`docs/counting.md` defines every word.
"""

from simulator.counting.causes import Batch, Cause, Verdict, register_causes
from simulator.counting.count import count_run
from simulator.counting.forecast import Flags, Forecast, Places, RemoteCursor, forecast
from simulator.counting.results import (
    CountedFailover,
    CountedRun,
    CountingError,
    Duplicate,
    Loss,
    SubscriptionCounts,
)
from simulator.counting.summary import failover_summary, subscription_summary

__all__ = [
    "Batch",
    "Cause",
    "CountedFailover",
    "CountedRun",
    "CountingError",
    "Duplicate",
    "Flags",
    "Forecast",
    "Loss",
    "Places",
    "RemoteCursor",
    "SubscriptionCounts",
    "Verdict",
    "count_run",
    "failover_summary",
    "forecast",
    "register_causes",
    "subscription_summary",
]
