"""What some things took in a run on real brokers: the engine's run has the same times, as options."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import log
from statistics import NormalDist, median_low
from typing import Any

from script.real_brokers.plan import DRIFT, FAIL_OVER, UNLOAD, with_times
from script.real_brokers.rig import Event
from simulator.protocols.pulsar.scenario.model import PulsarScenario
from simulator.scenarios.model import Distribution

SAMPLES_LEAST = 30
"""The fewest events that a distribution is fitted to."""

HIGH = 0.75
"""The quantile that gives the shape: a stall of the machine that delays fewer events does not change it."""


LONGEST_US = 10_000_000
"""No draw is longer: after a stall of the machine a wide spread would otherwise give draws of hours."""

_OUTERMOST = NormalDist().inv_cdf(1 - 1 / 8_192)
"""The standard deviations of the longest draw (`simulator.kernel.distributions`)."""


def fitted(took_ns: Iterable[int]) -> Distribution | None:
    """The lognormal of these durations in microseconds, or None with too few of them.

    Rules: a lognormal with the median and the upper quartile, so that the few events that waited for
    something else, such as the load of a topic, do not decide.
    """
    ordered = sorted(took_ns)
    if len(ordered) < SAMPLES_LEAST:
        return None
    median_us = max(1, ordered[len(ordered) // 2] // 1000)
    high_us = max(median_us, ordered[int(len(ordered) * HIGH)] // 1000)
    widest = max(0.0, log(LONGEST_US / median_us) / _OUTERMOST)
    sigma = min(widest, log(high_us / median_us) / NormalDist().inv_cdf(HIGH))
    return Distribution("lognormal", value_us=median_us, sigma_millionths=round(sigma * 1000) * 1000)


# --- the timers of ack groups in a run on real brokers: the engine's run has the same phase and drift
#
# Rules: a client's constructor starts its timer, so its phase depends on when the driver created the
# client. A group has reached the broker when its first ack has been handled. Groups of a consumer's first
# connection up to the first command count. Periods are longer than `acknowledgmentGroupTime` by the drift.


GROUPS_LEAST = 5
"""The fewest groups that show a phase."""

_NEXT_GROUP = 0.2
"""Acks that are this share of a period later than the one before belong to the next group."""


def with_ack_timers(
    scenario: PulsarScenario, events: Iterable[Event], zero_ns: int, prefix: str = ""
) -> PulsarScenario:
    """The scenario with the phases and the drift of its run's timers, where it does not give them itself.

    `events` are in the order of their instants; `prefix` is that of the clients' names in them.
    """
    periods_us = {
        f"{prefix}{name}": spec.acknowledgment_group_time_us for name, spec in scenario.consumers.items()
    }
    groups = groups_us(events, zero_ns, periods_us)
    drift = scenario.options.get(DRIFT, drift_us(groups, periods_us))
    if drift is None:
        return scenario
    phases = phases_us(groups, periods_us, drift)
    consumers = {
        name: replace(spec, acknowledgment_group_phase_us=phases[f"{prefix}{name}"])
        if spec.acknowledgment_group_phase_us is None and f"{prefix}{name}" in phases
        else spec
        for name, spec in scenario.consumers.items()
    }
    return with_times(replace(scenario, consumers=consumers), {DRIFT: drift})


def groups_us(events: Iterable[Event], zero_ns: int, periods_us: Mapping[str, int]) -> dict[str, list[int]]:
    """By consumer the instants of its groups, in microseconds after instant 0.

    `periods_us`: by consumer its `acknowledgmentGroupTime`; one of 0 sends no groups.
    """
    groups: dict[str, list[int]] = {}
    latest_us: dict[str, int] = {}
    cluster: dict[str, str] = {}
    for event in events:
        if event["e"] == "command":
            break
        if event["e"] != "ack" or not periods_us.get(event["consumer"]):
            continue
        consumer, at_us = event["consumer"], (event["t"] - zero_ns) // 1000
        if cluster.setdefault(consumer, event["cluster"]) != event["cluster"] or at_us < 0:
            continue
        if at_us - latest_us.get(consumer, -periods_us[consumer]) > periods_us[consumer] * _NEXT_GROUP:
            groups.setdefault(consumer, []).append(at_us)
        latest_us[consumer] = at_us
    return {name: found for name, found in groups.items() if len(found) >= GROUPS_LEAST}


def drift_us(groups: Mapping[str, Sequence[int]], periods_us: Mapping[str, int]) -> int | None:
    """By how much a period is longer than `acknowledgmentGroupTime`: the median of all consumers."""
    found = []
    for name, at_us in groups.items():
        gaps = [
            (later - earlier) / max(1, round((later - earlier) / periods_us[name])) - periods_us[name]
            for earlier, later in zip(at_us, at_us[len(at_us) // 2 :], strict=False)
        ]
        found.append(round(median_low(gaps)))
    return max(0, median_low(found)) if found else None


def phases_us(
    groups: Mapping[str, Sequence[int]], periods_us: Mapping[str, int], drift: int
) -> dict[str, int]:
    """By consumer an instant at which it sends a group, within the first period.

    It is the instant that differs least from the others, modulo the period.
    """
    found = {}
    for name, at_us in groups.items():
        period_us = periods_us[name] + drift
        found[name] = min(at_us, key=lambda one: sum(_apart_us(one, other, period_us) for other in at_us))
        found[name] %= period_us
    return found


def _apart_us(one: int, other: int, period_us: int) -> int:
    """How far apart two instants are on the circle of a period."""
    apart_us = (one - other) % period_us
    return min(apart_us, period_us - apart_us)


def appends_ns(events: Sequence[Event], entries: Iterable[Mapping[str, Any]]) -> Iterator[int]:
    """What each append took; `entries` are those of all logs.

    Rules: the broker stamps an entry at the beginning of its append, and the producer has its receipt when
    the append is complete and the client's threads have handled it.
    """
    receipts = {
        (event["producer"], event["sequence"], event["ledger"], event["entry"]): event["t"]
        for event in events
        if event["e"] == "receipted"
    }
    for entry in entries:
        place = (entry.get("producer"), entry.get("sequence"), entry["ledger"], entry["entry"])
        if not entry.get("replicated_from") and place in receipts:
            yield receipts[place] - entry["stored_ns"]


# --- by how much the brokers looked for new entries too late: the engine's run has the same lateness
#
# Rules: a dispatcher that reads to the end of its log at each look sends messages once per delay
# (`managedLedgerNewEntriesCheckDelayInMillis`) and lateness, so the mean distance of its reads shows the
# mean lateness; the engine draws from a uniform distribution with that mean. Only reads about one delay
# after the one before count; with fewer messages it is notified instead.


CHECK_DELAY_US = 10_000
"""The brokers' default, which the rig does not change."""

READS_LEAST = 100
"""The fewest reads whose mean shows a lateness: a second of one dispatcher."""

_SAME_READ_US = 1_000
_LONGEST_US = 15_000


def read_distances_us(events: Iterable[Event]) -> Iterator[int]:
    """The distances of reads that are about one delay apart; `events` are in the order of their instants."""
    latest_us: dict[tuple[str, str], int] = {}
    for event in events:
        if event["e"] != "dispatched":
            continue
        reader, at_us = (event["cluster"], event["topic"]), event["t"] // 1000
        distance_us = at_us - latest_us.get(reader, at_us - _LONGEST_US - 1)
        if distance_us < _SAME_READ_US:
            continue
        latest_us[reader] = at_us
        if CHECK_DELAY_US / 2 < distance_us <= _LONGEST_US:
            yield distance_us


def lateness(distances: Sequence[int]) -> Distribution | None:
    """The lateness that these distances show, or None with too few of them."""
    if len(distances) < READS_LEAST:
        return None
    mean_us = max(0, round(sum(distances) / len(distances)) - CHECK_DELAY_US)
    return Distribution("uniform", low_us=0, high_us=2 * mean_us)


def deliveries_ns(events: Sequence[Event]) -> Iterator[int]:
    """What each delivery to an idle consumer took; `events` are in order.

    Rules: a delivery begins when the dispatcher has sent the message to the consumer, and ends when the
    application receives it. Only a consumer that was idle counts: one that has acknowledged everything it has
    received when the message is sent. Otherwise the message waits in the receiver queue, which the engine
    models.
    """
    under_way: dict[str, int] = {}  # by consumer, messages that it has been sent and has not acknowledged
    sent_ns: dict[tuple[str, int, int], int] = {}  # by consumer and position, if the consumer was idle then
    for event in events:
        kind = event["e"]
        if kind == "dispatched":
            consumer = event["consumer"]
            if not under_way.get(consumer):
                sent_ns[consumer, event["ledger"], event["entry"]] = event["t"]
            under_way[consumer] = under_way.get(consumer, 0) + 1
        elif kind == "delivered":
            begun_ns = sent_ns.pop((event["consumer"], event["ledger"], event["entry"]), None)
            if begun_ns is not None:
                yield event["t"] - begun_ns
        elif kind == "acknowledged" and under_way.get(event["consumer"]):
            under_way[event["consumer"]] -= 1
        elif kind == "disconnected" and "consumer" in event:  # a producer has one, too
            under_way.pop(event["consumer"], None)


# --- what some things took in a run on real brokers: the engine's run has the same times, as options
#
# Rules: consumers have left a cluster when their failover began, or with the last ack if they finished
# messages after that, and are connected when the other broker has them: `subscribeTime`. A snapshot's
# update that arrives meanwhile saves duplicates. An unloaded topic is loaded when its snapshot controller
# starts, with which the ticks begin anew, or when the broker has a consumer: `topicLoadTime`. Several give
# their median. Appends and deliveries have distributions: `appendTime` (`script.real_brokers.append_time`)
# and `deliveryTime` (`script.real_brokers.delivery_time`). Looks for new entries have a mean lateness:
# `newEntriesCheckLateness` (`script.real_brokers.check_lateness`). `Samples` collects them from one run, or
# from all runs of a calibration.


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
