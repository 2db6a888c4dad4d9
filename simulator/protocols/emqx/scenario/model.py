"""What a scenario of EMQX holds beside what all scenarios do: one frozen object for each name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from simulator.protocols.emqx.scenario.families import EMQX
from simulator.scenarios.model import Distribution, Scenario


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """A node of an EMQX cluster."""

    name: str


@dataclass(frozen=True, slots=True)
class GroupSpec:
    """A group of a durable shared subscription: `group` is its name at the broker (None: the lab's).

    It reads from `start_us` on.
    """

    name: str
    filter: str
    group: str | None = None
    queue: bool = False  # subscribed to as $queue/FILTER
    start_us: int = 0
    declared: bool = True  # it is there when the run begins


@dataclass(frozen=True, slots=True)
class PublisherSpec:
    """Publishes as a `ProducerSpec` does, as `clients` MQTT clients (None: one for each shard), to
    `topics` topics below `topic`.
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

    `processing` is from delivery to acknowledgement, one message at a time. `reconnect_us` None: it does not
    reconnect by itself. `paused`: it acknowledges nothing yet.
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
