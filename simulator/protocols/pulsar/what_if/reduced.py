"""A scenario at a fraction of its rate, which behaves nearly as the whole one in less time.

Rules: producers publish a fraction of the messages to a fraction of the consumers, so that each consumer
stays as busy as it is, and every time is kept. Limits in entries of a topic become smaller by the same
factor, so that they hold as many seconds of traffic. Consumers that are too few to be divided have no such
scenario: with slower consumers instead, one Exclusive consumer at 12,000 messages per second had a quarter
fewer duplicates at a quarter of the rate. What does not become smaller, such as the turns in which a
dispatcher serves its consumers and a snapshot's own markers, makes the result differ; who uses it measures by
how much.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, overload

from simulator.scenarios.settings import SETTINGS

if TYPE_CHECKING:
    from simulator.protocols.pulsar.scenario.model import ConsumerSpec, ProducerSpec, PulsarScenario

CONSUMERS_LEAST = 6
"""Consumers of a kind that stay at least: the slowest ack of a few consumers differs from that of many."""

SLOWER_MOST = Fraction(11, 10)
"""By what a message may take longer at most, where the number of consumers cannot be divided exactly."""

OF_A_TOPIC = (
    "replicationProducerQueueSize",
    "dispatcherMaxReadBatchSize",
    "maxUnackedMessagesPerSubscription",
    "managedLedgerMaxEntriesPerLedger",
    "keySharedLookAheadMsgInReplayThresholdPerSubscription",
)
"""Settings in entries of a topic or subscription. 0 stays 0: it switches a limit off."""

OF_A_CONSUMER = (
    "dispatcherMaxRoundRobinBatchSize",
    "maxUnackedMessagesPerConsumer",
    "keySharedLookAheadMsgInReplayThresholdPerConsumer",
)
"""Settings in entries of a consumer, which are divided by what each of its messages takes longer."""


def reduced(scenario: PulsarScenario, factor: int) -> PulsarScenario | None:
    """The scenario at 1/`factor` of its rate; None if that cannot be.

    Instants and messages that are listed have no rate, and few consumers cannot be divided.
    """
    producers = scenario.producers.values()
    selected = [one.hold or one.negative_acknowledge for one in scenario.consumers.values()]
    selected += [one.delay for one in producers]
    if any(one.at_us for one in producers) or any(one is not None and one.messages for one in selected):
        return None
    if scenario.audiences:
        return None
    consumers, slower = _consumers(scenario, factor)
    if slower > SLOWER_MOST:
        return None
    part = Fraction(factor)
    entries = dict.fromkeys(OF_A_TOPIC, part) | dict.fromkeys(OF_A_CONSUMER, slower)
    whole = {name: SETTINGS[name].default_under(scenario.options) for name in entries}
    return replace(
        scenario,
        settings=_divided({**whole, **scenario.settings}, entries),
        clusters={
            name: replace(one, settings=_divided(one.settings, entries))
            for name, one in scenario.clusters.items()
        },
        topics={
            name: replace(one, settings=_divided(one.settings, entries))
            for name, one in scenario.topics.items()
        },
        links={
            pair: replace(link, bandwidth_bytes_per_s=_part(link.bandwidth_bytes_per_s, part))
            for pair, link in scenario.links.items()
        },
        brokers={
            name: replace(
                one,
                dispatch_us=one.dispatch_us * factor,
                bandwidth_bytes_per_s=_part(one.bandwidth_bytes_per_s, part),
            )
            for name, one in scenario.brokers.items()
        },
        producers={name: _producer(one, factor) for name, one in scenario.producers.items()},
        consumers=consumers,
        expect={},
        compare={},
        tour=None,
        pair={},
    )


def _producer(one: ProducerSpec, factor: int) -> ProducerSpec:
    every_us, part = None if one.every_us is None else one.every_us * factor, Fraction(factor)
    return replace(one, every_us=every_us, count=_part(one.count, part), batch=_part(one.batch, part))


def _consumers(scenario: PulsarScenario, factor: int) -> tuple[dict[str, ConsumerSpec], Fraction]:
    """The consumers that stay, and by how much each of their messages takes longer at most.

    Consumers that a command names stay.
    """
    named = {value for spec in scenario.commands for value in spec.arguments.values() if type(value) is str}
    kinds: dict[ConsumerSpec, list[str]] = {}
    for name, one in scenario.consumers.items():
        kinds.setdefault(replace(one, name=""), []).append(name)
    found, slowest = {}, Fraction(1)
    for names in kinds.values():
        wanted = max(CONSUMERS_LEAST, round(len(names) / factor), len(named.intersection(names)))
        stays = [*(name for name in names if name in named), *(name for name in names if name not in named)]
        stays = stays[:wanted]
        slower = Fraction(factor * len(stays), len(names))
        slowest = max(slowest, slower)
        found.update({name: _slower(scenario.consumers[name], slower) for name in stays})
    return {name: found[name] for name in scenario.consumers if name in found}, slowest


def _slower(one: ConsumerSpec, by: Fraction) -> ConsumerSpec:
    """The consumer if each message takes longer by this, and its queue holds as many seconds of them."""
    span = one.processing
    names = ("value_us", "low_us", "high_us")
    longer = replace(span, **{name: round(getattr(span, name) * by) for name in names})
    return replace(one, processing=longer, receiver_queue_size=_part(one.receiver_queue_size, by))


def _divided(settings: dict[str, Any], by: dict[str, Fraction]) -> dict[str, Any]:
    """The settings, those in entries divided."""
    return {name: _part(value, by[name]) if name in by else value for name, value in settings.items()}


@overload
def _part(value: int, by: Fraction) -> int: ...


@overload
def _part(value: int | None, by: Fraction) -> int | None: ...


def _part(value: int | None, by: Fraction) -> int | None:
    """A part of a number, at least 1; 0 and None stay, they switch a limit off."""
    return max(1, round(value / by)) if value else value
