"""Duplicates, losses and their causes, counted from the trace.

`docs/counting.md` defines every term.
"""

from simulator.counting import CountedFailover, CountedRun, CountingError, Duplicate, Loss, SubscriptionCounts
from simulator.protocols.pulsar.verdicts.causes import Batch, Cause, Verdict
from simulator.protocols.pulsar.verdicts.count import count_run, failover_summary, subscription_summary
from simulator.protocols.pulsar.verdicts.forecast import Flags, Forecast, Places, RemoteCursor, forecast

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
    "subscription_summary",
]
