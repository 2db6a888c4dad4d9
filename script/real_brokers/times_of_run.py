"""What some things took in a run on real brokers: the engine's run has the same times, as options.

Rules: consumers have left a cluster when their failover began, or with the last ack if they finished
messages after that, and are connected when the other broker has them: `subscribeTime`. A snapshot's update
that arrives meanwhile saves duplicates. An unloaded topic is loaded when its snapshot controller starts, with
which the ticks begin anew, or when the broker has a consumer: `topicLoadTime`. Several give their median.
Appends and deliveries have distributions: `appendTime` (`script.real_brokers.append_time`) and `deliveryTime`
(`script.real_brokers.delivery_time`). Looks for new entries have a mean lateness: `newEntriesCheckLateness`
(`script.real_brokers.check_lateness`). `Samples` collects them from one run, or from all runs of a
calibration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median_low
from typing import Any

from script.real_brokers.append_time import appends_ns
from script.real_brokers.check_lateness import lateness, read_distances_us
from script.real_brokers.delivery_time import deliveries_ns
from script.real_brokers.fitting import fitted
from script.real_brokers.plan import FAIL_OVER, UNLOAD
from script.real_brokers.process import Event
from simulator.scenarios.model import Distribution


def times_of_run(
    events: Sequence[Event], entries: Iterable[Mapping[str, Any]] = ()
) -> dict[str, Distribution]:
    """By option how long it took; `events` are in the order of their instants, `entries` of all logs."""
    samples = Samples()
    samples.add(events, entries)
    once = {name: Distribution(value_us=median_low(us)) for name, us in samples.once_us.items() if us}
    return {**once, **samples.often()}


@dataclass(slots=True)
class Samples:
    """What things took, of one run or of several.

    `once_us`: by option, what happens a few times in a run.
    """

    once_us: dict[str, list[int]] = field(default_factory=lambda: {name: [] for name in TIMES})
    appends_ns: list[int] = field(default_factory=list)
    deliveries_ns: list[int] = field(default_factory=list)
    read_distances_us: list[int] = field(default_factory=list)

    def add(self, events: Sequence[Event], entries: Iterable[Mapping[str, Any]] = ()) -> None:
        """Add those of a run; `events` are in the order of their instants, `entries` of all logs."""
        for name, times_of in TIMES.items():
            self.once_us[name] += times_of(events)
        self.appends_ns += appends_ns(events, entries)
        self.deliveries_ns += deliveries_ns(events)
        self.read_distances_us += read_distances_us(events)

    def often(self) -> dict[str, Distribution]:
        """By option the distribution of what happens often, where there are enough samples."""
        found = {
            APPEND_TIME: fitted(self.appends_ns),
            DELIVERY_TIME: fitted(self.deliveries_ns),
            CHECK_LATENESS: lateness(self.read_distances_us),
        }
        return {name: took for name, took in found.items() if took is not None}


def _subscribes_us(events: Sequence[Event]) -> list[int]:
    """What the first consumer of each topic or partition took in each failover.

    It gets the messages of all keys. Consumers move together, once the last one has finished.
    """
    first: dict[tuple[int, str], int] = {}
    failover_ns: int | None = None
    acked_ns: dict[str, int] = {}  # by subscription, its last ack
    left_ns: dict[int, int] = {}  # by failover, when the consumers had left
    subscription: dict[str, str] = {}  # by consumer
    cluster: dict[tuple[str, str], str] = {}  # by consumer and topic
    for event in events:
        kind = event["e"]
        if kind == "command" and event["do"] == FAIL_OVER:
            failover_ns = event["t"]
        elif kind == "acknowledged" and event["consumer"] in subscription:
            acked_ns[subscription[event["consumer"]]] = event["t"]
        elif kind == "consumer" and event["state"] == "connected":
            subscription[event["consumer"]] = event["subscription"]
            key = (event["consumer"], event["topic"])
            moved = cluster.get(key, event["cluster"]) != event["cluster"]
            cluster[key] = event["cluster"]
            if moved and failover_ns is not None:
                last_ns = acked_ns.get(event["subscription"], failover_ns)
                begun_ns = left_ns.setdefault(failover_ns, max(failover_ns, last_ns))
                first.setdefault((failover_ns, event["topic"]), max(0, event["t"] - begun_ns) // 1000)
    return list(first.values())


def _loads_us(events: Sequence[Event]) -> list[int]:
    """What each load after an unload took."""
    found: list[int] = []
    unloaded_ns: dict[str, int] = {}  # by cluster
    loaded: dict[tuple[str, str], int] = {}  # by cluster and topic, the unload after which it was loaded
    for event in events:
        kind = event["e"]
        if kind == "command" and event["do"] == UNLOAD:
            unloaded_ns[event["arguments"]["cluster"]] = event["t"]
        started = kind == "controller" and event["state"] == "started"
        if started or (kind == "consumer" and event["state"] == "connected"):
            place = (event["cluster"], event["topic"])
            begun_ns = unloaded_ns.get(event["cluster"])
            if begun_ns is not None and loaded.get(place) != begun_ns:
                loaded[place] = begun_ns
                found.append((event["t"] - begun_ns) // 1000)
    return found


TIMES: dict[str, Callable[[Sequence[Event]], list[int]]] = {
    "topicLoadTime": _loads_us,
    "subscribeTime": _subscribes_us,
}
"""By option, what is measured in microseconds."""

APPEND_TIME, DELIVERY_TIME, CHECK_LATENESS = "appendTime", "deliveryTime", "newEntriesCheckLateness"
MEASURED = (*TIMES, APPEND_TIME, DELIVERY_TIME, CHECK_LATENESS)
"""All options that a run's own times set."""
