"""The layout of the form: its fields in groups, with labels, choices, typed values and problems.

Rules: this module has only words. The loader checks the values. A typed value that is not among the choices
is added to them, so that it is not lost.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from simulator.scenarios.settings import OPTIONS
from visualizer.setups.form import regions_of, round_trip_name

Choices = tuple[tuple[str, str], ...]

REGION: Choices = ()
"""Placeholder for the regions that the form names."""


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    label: str
    hint: str = ""
    choices: Choices | None = None  # None: typed
    wide: bool = False


@dataclass(slots=True)
class Shown:
    """A field as the page shows it."""

    field: Field
    value: str
    problems: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    choices: list[tuple[str, str]] = dataclasses.field(default_factory=list)


GROUPS: tuple[tuple[str, str, tuple[Field, ...]], ...] = (
    ("Regions", "regions", (Field("regions", "Names", "separated by commas", wide=True),)),
    (
        "Messages",
        "messages",
        (
            Field("rate", "Rate", "such as 100/s"),
            Field("arrivals", "Arrivals", choices=(("poisson", "Poisson"), ("regular", "constant interval"))),
            Field(
                "producers",
                "Published in",
                choices=(("active", "the region that fails"), ("everywhere", "every region")),
            ),
            Field("count", "Number of messages", "empty: until the end"),
            Field("partitions", "Partitions", "0 is a plain topic"),
        ),
    ),
    (
        "Consumers",
        "consumers",
        (
            Field("consumers", "Number of consumers", "in the region that fails"),
            Field(
                "type",
                "Subscription type",
                choices=tuple((name, name) for name in ("Shared", "Key_Shared", "Failover", "Exclusive")),
            ),
            Field(
                "replicated",
                "Subscription state",
                choices=(("true", "replicated"), ("false", "not replicated")),
            ),
            Field("processing", "Processing time", "per message, such as 5ms"),
            Field(
                "varies",
                "Distribution",
                "of the processing time: its median or mean",
                choices=(
                    ("constant", "constant"),
                    ("lognormal", "lognormal"),
                    ("exponential", "exponential"),
                ),
            ),
            Field("slow_share", "Share of slow acks", "such as 1%; empty: none"),
            Field("slow_for", "Slow acks held for", "empty: permanently"),
            Field("queue", "Receiver queue", "messages per consumer"),
            Field(
                "timing",
                "Delivery and ack groups",
                "in broker and client",
                choices=(
                    ("measured", "as measured with real brokers"),
                    ("nominal", "no time, one phase"),
                ),
            ),
        ),
    ),
    (
        "Snapshots",
        "snapshots",
        (
            Field("period", "Period, ms", "broker default: 1000"),
            Field("cache", "Kept per subscription", "empty: as the broker does"),
            Field(
                "rule",
                "Rule of a full cache",
                "spread from broker version 4.0.9 on",
                choices=tuple((name, name) for name in OPTIONS["snapshotCacheRule"].choices),
            ),
        ),
    ),
    (
        "Failure",
        "failure",
        (
            Field("from", "Failing region", choices=REGION),
            Field("to", "Consumers move to", choices=REGION),
            Field(
                "how",
                "Failover mode",
                choices=(
                    ("crash", "crash"),
                    ("planned", "planned move"),
                    ("drained", "planned move after draining"),
                ),
            ),
            Field("after", "Consumers moved after", "time from the crash to the move"),
            Field("at", "Instant", "empty: after three snapshot periods"),
            Field("end", "Continue for at most", "empty: 60s; a run ends when its figures are final"),
        ),
    ),
)


def grouped(values: Mapping[str, str], problems: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The groups of the form with their values and problems.

    Returns [{title, name, fields: [Shown], pairs: [Shown]}]. `pairs` are the round trips, in the first group
    only.
    """
    regions = list(dict.fromkeys(regions_of(values)))

    def shown(one: Field) -> Shown:
        value = values[one.name]
        offered = [(name, name) for name in regions] if one.choices is REGION else list(one.choices or ())
        if one.choices is not None and value not in [name for name, _ in offered]:
            offered.append((value, value))
        return Shown(
            one, value, [dict(problem) for problem in problems if problem["field"] == one.name], offered
        )

    pairs = [
        shown(Field(round_trip_name(one, other), f"{one} and {other}"))
        for one, other in combinations(regions, 2)
    ]
    return [
        {
            "title": title,
            "name": name,
            "fields": [shown(one) for one in fields],
            "pairs": pairs if name == "regions" else [],
        }
        for title, name, fields in GROUPS
    ]
