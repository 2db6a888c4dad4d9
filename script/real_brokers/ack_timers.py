"""The timers of ack groups in a run on real brokers: the engine's run has the same phase and drift.

Rules: a client's constructor starts its timer, so its phase depends on when the driver created the client. A
group has reached the broker when its first ack has been handled. Groups of a consumer's first connection up
to the first command count. Periods are longer than `acknowledgmentGroupTime` by the drift.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import median_low

from script.real_brokers.plan import DRIFT, with_times
from script.real_brokers.process import Event
from simulator.protocols.pulsar.scenario.model import PulsarScenario

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
