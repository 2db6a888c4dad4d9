"""The form of a visitor's own set-up: its fields, and the scenario text that their values make.

Rules: no value is checked here. What was typed is written into the text as it is, one key a line, and each
piece of a line has the name of its field. The scenario loader reads the text, and its problems are assigned
to fields by line. Only what the format cannot express is computed: half of a round trip, the sum of two
spans. If a part cannot be read, it is written as typed and the loader reports it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

from simulator import Wrong, format_duration, parse_duration
from simulator.scenarios.settings import SETTINGS

REGIONS_READ = 17
"""Most regions that are written: one more than a scenario may have, so that the loader reports it."""

CONSUMERS_READ = 1001
"""Most consumers that are written: one more than the loader accepts, so that it reports it."""

DEFAULTS: dict[str, str] = {
    "regions": "us-west, us-east",
    "rate": "100/s",
    "arrivals": "poisson",
    "count": "",
    "producers": "active",
    "partitions": "0",
    "type": "Shared",
    "replicated": "true",
    "consumers": "2",
    "processing": "5ms",
    "varies": "lognormal",
    "slow_share": "",
    "slow_for": "",
    "queue": "1000",
    "timing": "measured",
    "period": "1000",
    "cache": "30",
    "rule": "spread",
    "from": "us-west",
    "to": "us-east",
    "how": "crash",
    "after": "5s",
    "at": "",
    "end": "",
}
"""Every field and its initial value.

A field that is not given has its default. One that is given empty is empty.
"""

WARM_UP_PERIODS = 3
"""Snapshot periods before the failure, so that one has completed and the cache is as usual."""

LEAST_WARM_UP_US = 2_000_000
"""The shortest time before the failure: consumers have connected and filled their queues."""

HELD_US = 500_000
"""The time for which slow acks are held where they are tried beside a set-up that has none."""

LIMIT = "60s"
"""How long a run goes on after the move at most. It ends earlier, as soon as its figures are final."""

ROUND_TRIP = "80ms"
"""Default round trip of a pair: across a continent."""

TOPIC, SUBSCRIPTION = "orders", "billing"
SIGMA = "0.5"
"""Shape of lognormal processing: one message in twenty takes more than twice its median."""

_PERIOD = "replicatedSubscriptionsSnapshotFrequencyMillis"
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.%/+-]*")
_FIRST_REGIONS = 2
_LONGEST_COUNT = 10


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the text, in pieces that each have the name of their field."""

    pieces: tuple[tuple[str, str], ...]  # (text, field or "")

    @property
    def text(self) -> str:
        return "".join(text for text, _ in self.pieces)

    def field_at(self, column: int) -> str:
        """The field of the piece at a column, counted from 1."""
        end = 0
        for text, field in self.pieces:
            end += len(text)
            if column <= end:
                return field
        return self.pieces[-1][1]


def regions_of(values: Mapping[str, str]) -> list[str]:
    """The regions as typed, without empty ones."""
    text = values.get("regions", DEFAULTS["regions"])
    return [name for part in text.replace("\n", ",").split(",") if (name := part.strip())][:REGIONS_READ]


def round_trip_name(one: str, other: str) -> str:
    """The field of a pair's round trip."""
    return f"rtt.{one}.{other}"


def completed(given: Mapping[str, str]) -> dict[str, str]:
    """Every field's value, as given or its default, with one `rtt.a.b` for each pair of regions.

    Values that belong to no field are left out.
    """
    values = {name: given.get(name, default) for name, default in DEFAULTS.items()}
    regions = regions_of(values)
    for name, place in (("from", 0), ("to", 1)):
        if name not in given and len(regions) >= _FIRST_REGIONS and values[name] not in regions:
            values[name] = regions[place]
    for one, other in combinations(dict.fromkeys(regions), 2):
        name = round_trip_name(one, other)
        values[name] = given.get(name, given.get(round_trip_name(other, one), ROUND_TRIP))
    return values


def composed(values: Mapping[str, str]) -> list[Line]:
    """The scenario's text, line by line, from completed values."""
    writer = _Writer(values)
    for part in (_head, _settings, _regions, _traffic, _consumers, _failure):
        part(writer)
    return writer.lines


Pair = tuple[str, str, str]
"""A key, its value as typed, and its field."""


class _Writer:
    def __init__(self, values: Mapping[str, str]) -> None:
        self.values = values
        self.lines: list[Line] = []

    def text(self, text: str, field: str = "") -> None:
        self.lines.append(Line(((text, field),)))

    def key(self, depth: int, key: str, value: str, field: str = "") -> None:
        self.text(f"{'  ' * depth}{key}: {_scalar(value)}", field)

    def given(self, key: str, field: str) -> list[Pair]:
        """A key with its value, or nothing while its field is empty."""
        value = self.values[field].strip()
        return [(key, value, field)] if value else []

    def flow(self, before: str, pairs: list[Pair], field: str = "") -> None:
        """Write `before{key: value, …}` on one line."""
        self.lines.append(Line(((before, field), *_braced(pairs))))


def _braced(pairs: list[Pair]) -> list[tuple[str, str]]:
    pieces = [
        (f"{'{' if place == 0 else ', '}{key}: {_scalar(value)}", field)
        for place, (key, value, field) in enumerate(pairs)
    ]
    return [*pieces, ("}", pairs[-1][2])]


def _scalar(text: str) -> str:
    return text if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)


def _head(writer: _Writer) -> None:
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
    text, field = _sum(values, "at", *(("after",) if mode == "crash" else ()), "end")
    writer.key(0, "until", text, field)


def _settings(writer: _Writer) -> None:
    writer.text("settings:")
    for name, field in (
        ("replicatedSubscriptionsSnapshotFrequencyMillis", "period"),
        ("replicatedSubscriptionsSnapshotMaxCachedPerSubscription", "cache"),
    ):
        for key, value, _ in writer.given(name, field):
            writer.key(1, key, value, field)
    writer.text("options:")
    timing = writer.given("timing", "timing")
    for key, value, field in (*writer.given("snapshotCacheRule", "rule"), *timing):
        writer.key(1, key, value, field)


def _regions(writer: _Writer) -> None:
    regions = regions_of(writer.values)
    writer.text("clusters:", "regions")
    for region in regions:
        writer.text(f"  {_scalar(region)}: {{}}", "regions")
    if len(regions) >= _FIRST_REGIONS:
        writer.text("links:")
    for one, other in combinations(dict.fromkeys(regions), 2):
        name = round_trip_name(one, other)
        there, back = _halves(writer.values[name])
        for pattern, latency in (
            ((f"{one} <-> {other}", there),)
            if there == back
            else ((f"{one} -> {other}", there), (f"{other} -> {one}", back))
        ):
            writer.flow(f"  {_link(pattern)}: ", [("latency", latency, name)], name)


def _link(pattern: str) -> str:
    return pattern if re.fullmatch(r"[a-z0-9 <>-]+", pattern) else json.dumps(pattern, ensure_ascii=False)


def _traffic(writer: _Writer) -> None:
    values, given = writer.values, writer.given
    regions = regions_of(values)
    clusters = f"{{clusters: [{', '.join(map(_scalar, regions))}]"
    partitions = [
        (f", partitions: {_scalar(value)}", field) for _, value, field in given("partitions", "partitions")
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
        writer.flow(f"  {_scalar(f'from-{region}')}: ", pairs, "from")
    writer.text("subscriptions:")
    pairs = [
        ("topic", TOPIC, ""),
        *given("type", "type"),
        *given("replicateSubscriptionState", "replicated"),
        ("initialPosition", "Earliest", ""),
    ]
    writer.flow(f"  {SUBSCRIPTION}: ", pairs)


def _consumers(writer: _Writer) -> None:
    values = writer.values
    count = number_of_consumers(values)
    if count is None:  # no number: the loader reports the error
        writer.key(0, "consumers", values["consumers"].strip(), "consumers")
        return
    writer.text("consumers:", "consumers")
    for number in range(1, min(count, CONSUMERS_READ) + 1):
        before: list[tuple[str, str]] = [(f"  {SUBSCRIPTION}-{number}: ", "consumers")]
        pairs = [
            ("subscription", SUBSCRIPTION, ""),
            ("cluster", values["from"].strip(), "from"),
            *writer.given("receiverQueueSize", "queue"),
        ]
        pieces = [*before, *_braced(pairs)[:-1], *_processing(writer), *_hold(writer), ("}", "")]
        writer.lines.append(Line(tuple(pieces)))


def _processing(writer: _Writer) -> list[tuple[str, str]]:
    """The processing time of a message: a span, or the median or mean of a distribution."""
    values = writer.values
    word = {"lognormal": "median", "exponential": "mean"}.get(values["varies"])
    found = writer.given("processing", "processing")
    if word is None or not found:
        return [(f", processing: {_scalar(value)}", field) for _, value, field in found]
    sigma = [("sigma", SIGMA, "varies")] if word == "median" else []
    return [
        (", processing: ", "varies"),
        *_braced([("distribution", values["varies"], "varies"), (word, found[0][1], "processing"), *sigma]),
    ]


def _hold(writer: _Writer) -> list[tuple[str, str]]:
    share = writer.given("share", "slow_share")
    return [(", hold: ", "slow_share"), *_braced([*share, *writer.given("for", "slow_for")])] if share else []


def _failure(writer: _Writer) -> None:
    values = _with_instants(writer.values)
    source, at = values["from"].strip(), values["at"].strip()
    crash = values["how"] == "crash"
    writer.text("commands:")
    if crash:
        writer.flow("  - ", [("at", at, "at"), ("do", "cluster.crash", ""), ("cluster", source, "from")])
    text, field = _sum(values, "at", "after") if crash else (at, "at")
    what = [("do", "subscription.fail-over", ""), ("subscription", SUBSCRIPTION, "")]
    whither = [
        ("from", source, "from"),
        ("to", values["to"].strip(), "to"),
        ("mode", values["how"].strip(), "how"),
    ]
    writer.flow("  - ", [("at", text, field), *what, *whither])


def _with_instants(values: Mapping[str, str]) -> dict[str, str]:
    """The values with the warm-up and the limit that are chosen where their fields are empty."""
    return {**values, "at": at_of(values), "end": values["end"].strip() or LIMIT}


def at_of(values: Mapping[str, str]) -> str:
    """The instant of the failure: as typed, or after the warm-up."""
    return values["at"].strip() or format_duration(warm_up_us(values))


def warm_up_us(values: Mapping[str, str]) -> int:
    """Three snapshot periods and twice the time that slow acks are held, at least two seconds.

    A set-up without slow acks has the warm-up of one that holds them for half a second, so that both can be
    compared at the same instants.

    A value that is no number or span is reported at its own field, and counts as its default here.
    """
    period = values["period"].strip()
    usable = period.isascii() and period.isdigit() and len(period) < _LONGEST_COUNT
    period_ms = int(period) if usable else int(SETTINGS[_PERIOD].default)
    try:
        held_us = parse_duration(values["slow_for"].strip()) if values["slow_share"].strip() else 0
    except Wrong:
        held_us = 0
    return max(LEAST_WARM_UP_US, WARM_UP_PERIODS * 1000 * period_ms + 2 * max(held_us, HELD_US))


def _halves(text: str) -> tuple[str, str]:
    """The two directions of a round trip. An odd microsecond goes to the way back."""
    try:
        trip_us = parse_duration(text.strip())
    except Wrong:
        return text.strip(), text.strip()
    return format_duration(trip_us // 2), format_duration(trip_us - trip_us // 2)


def _sum(values: Mapping[str, str], *fields: str) -> tuple[str, str]:
    """The sum of spans, and the field that its problems are assigned to.

    It is the first field that is no span, whose text is then written instead, or the last one.
    """
    total_us = 0
    for field in fields:
        try:
            total_us += parse_duration(values[field].strip())
        except Wrong:
            return values[field].strip(), field
    return format_duration(total_us), fields[-1]


def number_of_consumers(values: Mapping[str, str]) -> int | None:
    """How many consumers were requested; None when it is no number."""
    text = values["consumers"].strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < _LONGEST_COUNT else None
