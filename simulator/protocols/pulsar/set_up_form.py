"""The form of a set-up of regions: a subscription whose consumers move when a region fails."""

from __future__ import annotations

import re
from itertools import combinations

from simulator.protocols.pulsar.scenario.model import PULSAR
from simulator.scenarios.settings import OPTIONS, SETTINGS
from simulator.scenarios.units import format_duration
from simulator.system.set_up_form import (
    ARRIVALS,
    NAMES,
    PROCESSING,
    Beside,
    Field,
    Form,
    Group,
    Line,
    Values,
    Writer,
    braced,
    halves,
    number,
    processing,
    scalar,
    span_us,
    summed,
)

REGIONS_READ = 17
"""Most regions that are written: one more than a scenario may have, so that the loader reports it."""

CONSUMERS_READ = 1001
"""Most consumers that are written: one more than the loader accepts, so that it reports it."""

WARM_UP_PERIODS = 3
"""Snapshot periods before the failure, so that one has completed and the cache is as usual."""

LEAST_WARM_UP_US = 2_000_000
"""The shortest time before the failure: consumers have connected and filled their queues."""

HELD_US = 500_000
"""The time for which slow acks are held where they are tried beside a set-up that has none."""

SLOW_ACKS = {"slow_share": "1%", "slow_for": "500ms"}
"""The slow acks that are tried beside a form that has none."""

LIMIT = "60s"
"""How long a run goes on after the move at most. It ends earlier, as soon as its figures are final."""

ROUND_TRIP = "80ms"
"""Default round trip of a pair: across a continent."""

TOPIC, SUBSCRIPTION = "orders", "billing"

_PERIOD = "replicatedSubscriptionsSnapshotFrequencyMillis"
_FIRST_REGIONS = 2
_CRASH = ("how", ("crash",))

GROUPS = (
    Group(
        "Regions",
        "regions",
        (Field("regions", "Names", "us-west, us-east", "separated by commas", wide=True),),
    ),
    Group(
        "Messages",
        "messages",
        (
            Field("rate", "Rate", "100/s", "such as 100/s"),
            ARRIVALS,
            Field(
                "producers",
                "Published in",
                "active",
                choices=(("active", "the region that fails"), ("everywhere", "every region")),
            ),
            Field("count", "Number of messages", hint="empty: until the end"),
            Field("partitions", "Partitions", "0", "0 is a plain topic"),
        ),
    ),
    Group(
        "Consumers",
        "consumers",
        (
            Field("consumers", "Number of consumers", "2", "in the region that fails", counted="consumers"),
            Field(
                "type",
                "Subscription type",
                "Shared",
                choices=tuple((name, name) for name in ("Shared", "Key_Shared", "Failover", "Exclusive")),
            ),
            Field(
                "replicated",
                "Subscription state",
                "true",
                choices=(("true", "replicated"), ("false", "not replicated")),
            ),
            *PROCESSING,
            Field("slow_share", "Share of slow acks", hint="such as 1%; empty: none"),
            Field("slow_for", "Slow acks held for", hint="empty: permanently"),
            Field("queue", "Receiver queue", "1000", "messages per consumer"),
            Field(
                "timing",
                "Delivery and ack groups",
                "measured",
                "in broker and client",
                (("measured", "as measured with real brokers"), ("nominal", "no time, one phase")),
            ),
        ),
    ),
    Group(
        "Snapshots",
        "snapshots",
        (
            Field("period", "Period, ms", "1000", "broker default: 1000"),
            Field("cache", "Kept per subscription", "30", "empty: as the broker does"),
            Field(
                "rule",
                "Rule of a full cache",
                "spread",
                "spread from broker version 4.0.9 on",
                tuple((name, name) for name in OPTIONS["snapshotCacheRule"].choices),
            ),
        ),
    ),
    Group(
        "Failure",
        "failure",
        (
            Field("from", "Consumers leave", "us-west", choices=NAMES),
            Field("to", "Consumers move to", "us-east", choices=NAMES),
            Field(
                "how",
                "Failover mode",
                "crash",
                choices=(
                    ("crash", "crash of the region"),
                    ("planned", "planned move"),
                    ("drained", "planned move after draining"),
                ),
            ),
            Field("after", "Consumers moved after", "5s", "time from the crash to the move", when=_CRASH),
            Field("at", "Instant", hint="empty: after three snapshot periods"),
            Field("end", "Continue for at most", hint="empty: 60s; a run ends when its figures are final"),
        ),
    ),
)


def regions_of(values: Values) -> list[str]:
    """The regions as typed, without empty ones and each once."""
    text = values["regions"].replace("\n", ",")
    return list(dict.fromkeys(_typed(text)))


def _typed(text: str) -> list[str]:
    return [name for part in text.split(",") if (name := part.strip())][:REGIONS_READ]


def round_trip_name(one: str, other: str) -> str:
    """The field of a pair's round trip."""
    return f"rtt.{one}.{other}"


def _pairs(values: Values) -> tuple[tuple[Field, tuple[str, str]], ...]:
    return tuple(
        (Field(round_trip_name(*pair), f"{pair[0]} and {pair[1]}", ROUND_TRIP), pair)
        for pair in combinations(regions_of(values), 2)
    )


def _write(writer: Writer) -> None:
    for part in (_head, _settings, _regions, _traffic, _consumers, _failure):
        part(writer)


def _head(writer: Writer) -> None:
    source, target, mode = (writer.values[name].strip() for name in ("from", "to", "how"))
    writer.text("format: 1")
    writer.text("name: my-set-up")
    writer.key(
        0,
        "title",
        f"{source} goes down, its consumers move to {target}"
        if mode == "crash"
        else f"From {source} to {target}, {mode}",
    )
    writer.text("family: replicated-subscriptions")
    values = _with_instants(writer.values)
    text, field = summed(values, "at", *(("after",) if mode == "crash" else ()), "end")
    writer.key(0, "until", text, field)


def _settings(writer: Writer) -> None:
    kept = "replicatedSubscriptionsSnapshotMaxCachedPerSubscription"
    writer.text("settings:")
    for key, value, field in (*writer.given(_PERIOD, "period"), *writer.given(kept, "cache")):
        writer.key(1, key, value, field)
    writer.text("options:")
    for key, value, field in (
        *writer.given("snapshotCacheRule", "rule"),
        *writer.given("timing", "timing"),
    ):
        writer.key(1, key, value, field)


def _regions(writer: Writer) -> None:
    regions = _typed(writer.values["regions"].replace("\n", ","))
    writer.text("clusters:", "regions")
    for region in regions:
        writer.text(f"  {scalar(region)}: {{}}", "regions")
    if len(regions) >= _FIRST_REGIONS:
        writer.text("links:")
    for one, other in combinations(dict.fromkeys(regions), 2):
        name = round_trip_name(one, other)
        there, back = halves(writer.values[name])
        for pattern, latency in (
            ((f"{one} <-> {other}", there),)
            if there == back
            else ((f"{one} -> {other}", there), (f"{other} -> {one}", back))
        ):
            writer.flow(f"  {_link(pattern)}: ", [("latency", latency, name)], name)


def _link(pattern: str) -> str:
    return pattern if re.fullmatch(r"[a-z0-9 <>-]+", pattern) else scalar(pattern)


def _traffic(writer: Writer) -> None:
    values, given = writer.values, writer.given
    regions = _typed(values["regions"].replace("\n", ","))
    clusters = f"{{clusters: [{', '.join(map(scalar, regions))}]"
    partitions = [
        (f", partitions: {scalar(value)}", field) for _, value, field in given("partitions", "partitions")
    ]
    writer.text("topics:")
    writer.lines.append(Line(((f"  {TOPIC}: ", ""), (clusters, "regions"), *partitions, ("}", ""))))
    writer.text("producers:")
    for region in regions if values["producers"] == "everywhere" else [values["from"].strip()]:
        keys = [("keys", "100", "type")] if values["type"] == "Key_Shared" else []
        pairs = [
            ("topic", TOPIC, ""),
            ("cluster", region, "from"),
            ("rate", values["rate"].strip(), "rate"),
            *given("arrivals", "arrivals"),
            *given("count", "count"),
            *keys,
        ]
        writer.flow(f"  {scalar(f'from-{region}')}: ", pairs, "from")
    writer.text("subscriptions:")
    pairs = [
        ("topic", TOPIC, ""),
        *given("type", "type"),
        *given("replicateSubscriptionState", "replicated"),
        ("initialPosition", "Earliest", ""),
    ]
    writer.flow(f"  {SUBSCRIPTION}: ", pairs)


def _consumers(writer: Writer) -> None:
    values = writer.values
    count = writer.count("consumers", "consumers", CONSUMERS_READ)
    if count is None:
        return
    writer.text("consumers:", "consumers")
    for each in range(1, count + 1):
        pairs = [
            ("subscription", SUBSCRIPTION, ""),
            ("cluster", values["from"].strip(), "from"),
            *writer.given("receiverQueueSize", "queue"),
        ]
        before: list[tuple[str, str]] = [(f"  {SUBSCRIPTION}-{each}: ", "consumers")]
        pieces = [*before, *braced(pairs)[:-1], *processing(writer), *_hold(writer), ("}", "")]
        writer.lines.append(Line(tuple(pieces)))


def _hold(writer: Writer) -> list[tuple[str, str]]:
    share = writer.given("share", "slow_share")
    return [(", hold: ", "slow_share"), *braced([*share, *writer.given("for", "slow_for")])] if share else []


def _failure(writer: Writer) -> None:
    values = _with_instants(writer.values)
    source, at = values["from"].strip(), values["at"].strip()
    crash = values["how"] == "crash"
    writer.text("commands:")
    if crash:
        writer.flow("  - ", [("at", at, "at"), ("do", "cluster.crash", ""), ("cluster", source, "from")])
    text, field = summed(values, "at", "after") if crash else (at, "at")
    what = [("do", "subscription.fail-over", ""), ("subscription", SUBSCRIPTION, "")]
    whither = [
        ("from", source, "from"),
        ("to", values["to"].strip(), "to"),
        ("mode", values["how"].strip(), "how"),
    ]
    writer.flow("  - ", [("at", text, field), *what, *whither])


def _with_instants(values: Values) -> dict[str, str]:
    """The values with the warm-up and the limit that are chosen where their fields are empty."""
    return {**values, "at": at_of(values), "end": values["end"].strip() or LIMIT}


def at_of(values: Values) -> str:
    """The instant of the failure: as typed, or after the warm-up."""
    return values["at"].strip() or format_duration(warm_up_us(values))


def warm_up_us(values: Values) -> int:
    """Three snapshot periods and twice the time that slow acks are held, at least two seconds.

    A set-up without slow acks has the warm-up of one that holds them for half a second, so that both can be
    compared at the same instants.

    A value that is no number or span is reported at its own field, and counts as its default here.
    """
    typed = number(values["period"])
    period_ms = int(SETTINGS[_PERIOD].default) if typed is None else typed
    held_us = span_us(values["slow_for"]) if values["slow_share"].strip() else 0
    return max(LEAST_WARM_UP_US, WARM_UP_PERIODS * 1000 * period_ms + 2 * max(held_us, HELD_US))


def _beside(values: Values) -> Beside:
    """The same set-up without slow acks, or with some if it has none, at the same instant."""
    slow = bool(values["slow_share"].strip())
    changed = {"slow_share": "", "slow_for": ""} if slow else SLOW_ACKS
    name = "without-slow-acks" if slow else "with-slow-acks"
    assumed = "Assumed, not entered: no slow acks. If 1 % of the acks were held for 500 ms"
    says = "Without the slow acks" if slow else assumed
    return Beside(name, {**values, "at": at_of(values), **changed}, says)


COMPARED_RATES = (10, 100)
"""The least and the most messages per second of the runs that were compared with real brokers so far."""

FORM = Form(
    name=PULSAR,
    title="Pulsar: regions",
    groups=GROUPS,
    write=_write,
    names=regions_of,
    at_of=at_of,
    validity="Compared with real brokers at {} to {} messages per second so far.".format(*COMPARED_RATES),
    compared=True,
    pairs=_pairs,
    beside=_beside,
)
