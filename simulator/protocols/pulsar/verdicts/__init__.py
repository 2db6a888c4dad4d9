"""Duplicates, losses and their causes, counted from the trace.

`docs/counting.md` defines every term.
"""

from simulator.counting.results import (
    CountedFailover,
    CountedRun,
    CountingError,
    Duplicate,
    Loss,
    SubscriptionCounts,
)
from simulator.protocols.pulsar.verdicts.causes import Batch, Cause, Verdict, register_causes
from simulator.protocols.pulsar.verdicts.count import count_run
from simulator.protocols.pulsar.verdicts.forecast import Flags, Forecast, Places, RemoteCursor, forecast
from simulator.protocols.pulsar.verdicts.summary import failover_summary, subscription_summary

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
