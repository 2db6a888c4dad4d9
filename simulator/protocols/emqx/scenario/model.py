"""The EMQX parts of a scenario: one frozen object for each name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from simulator.scenarios.model import Distribution, Scenario

# --- the name of the protocol in scenario files, and the families of scenarios that show it


EMQX = "emqx"

FAMILIES = ("durable-shared-subscriptions",)

MECHANISMS = {
    "durable-shared-subscriptions": (
        "EMQX assigns the streams of a topic filter to the sessions of a group. One leader grants and "
        "revokes them and stores how far each was read."
    ),
}
"""What each family shows, for the gallery."""


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """A node of an EMQX cluster."""

    name: str


@dataclass(frozen=True, slots=True)
class GroupSpec:
    """A group of a durable shared subscription, which reads from `start_us` on.

    `group` is its name at the broker, None when it is the lab's name.
    """

    name: str
    filter: str
    group: str | None = None
    queue: bool = False  # subscribed to as $queue/FILTER
    start_us: int = 0
    declared: bool = True  # it is declared when the run begins


@dataclass(frozen=True, slots=True)
class PublisherSpec:
    """A publisher, with the publishing keys of every protocol (`simulator.scenarios.declarations`).

    It represents `clients` MQTT clients (None: one for each shard), which publish to `topics` topics below
    `topic`.
    """

    name: str
    topic: str
    qos: int = 1
    start_us: int = 0
    stop_us: int | None = None
    every_us: int | None = None
    arrivals: str = "regular"
    at_us: tuple[int, ...] | None = None
    count: int | None = None
    size_bytes: int = 1000
    clients: int | None = None
    topics: int = 1
    paused: bool = False


@dataclass(frozen=True, slots=True)
class SessionSpec:
    """An MQTT client with its session.

    `processing` is the time from delivery to acknowledgement, one message at a time. With `reconnect_us` None
    it does not reconnect by itself. If `paused`, it acknowledges nothing at first.
    """

    name: str
    node: str
    subscriptions: tuple[str, ...] = ()
    qos: int = 1
    start_us: int = 0
    stop_us: int | None = None
    processing: Distribution = Distribution()
    reconnect_us: int | None = None
    durable: bool = True
    paused: bool = False


@dataclass(frozen=True, slots=True)
class EmqxScenario(Scenario):
    """A scenario of EMQX: its sections by name."""

    protocol: ClassVar[str] = EMQX

    nodes: dict[str, NodeSpec] = field(default_factory=dict)
    groups: dict[str, GroupSpec] = field(default_factory=dict)
    publishers: dict[str, PublisherSpec] = field(default_factory=dict)
    sessions: dict[str, SessionSpec] = field(default_factory=dict)
