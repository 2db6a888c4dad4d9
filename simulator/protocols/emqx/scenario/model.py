"""The EMQX parts of a scenario: one frozen object for each name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from simulator.scenarios.declarations import Arrivals, Count, Every, Instants, Key, SizeBytes, Start, Stop
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
    filter: Annotated[str, Key("filter", "topic-filter", "which topics it shares")]
    group: Annotated[str | None, Key("group", "text", "its name at the broker; without it the lab's")] = None
    queue: Annotated[bool, Key("queue", "boolean", "clients ask for it as $queue/FILTER")] = False
    start_us: Annotated[
        int, Key("startTime", "duration", "it reads what was stored from this instant on")
    ] = 0
    declared: Annotated[
        bool,
        Key("declared", "boolean", "it is declared when the run begins; false: by the command group.declare"),
    ] = True


@dataclass(frozen=True, slots=True)
class PublisherSpec:
    """A publisher, with the publishing keys of every protocol (`simulator.scenarios.declarations`).

    It represents `clients` MQTT clients (None: one for each shard), which publish to `topics` topics below
    `topic`.
    """

    name: str
    topic: Annotated[str, Key("topic", "topic-name", "where it publishes")]
    qos: Annotated[int, Key("qos", "integer", "quality of service", minimum=0, maximum=2)] = 1
    start_us: Start = 0
    stop_us: Stop = None
    every_us: Every = None
    arrivals: Arrivals = "regular"
    at_us: Instants = None
    count: Count = None
    size_bytes: SizeBytes = 1000
    clients: Annotated[
        int | None,
        Key(
            "clients",
            "integer",
            "MQTT clients that it stands for, taken in turn; all of one client's messages go to one "
            "shard; without it one for each shard",
            minimum=1,
            maximum=100_000,
        ),
    ] = None
    topics: Annotated[
        int,
        Key(
            "topics",
            "integer",
            "topics, taken in turn: TOPIC/0, TOPIC/1…; 1 is the topic itself",
            minimum=1,
            maximum=10_000,
        ),
    ] = 1
    paused: Annotated[bool, Key("paused", "boolean", "begins paused")] = False


@dataclass(frozen=True, slots=True)
class SessionSpec:
    """An MQTT client with its session.

    `processing` is the time from delivery to acknowledgement, one message at a time. With `reconnect_us` None
    it does not reconnect by itself. If `paused`, it acknowledges nothing at first.
    """

    name: str
    node: Annotated[str, Key("node", "node", "node to which it connects")]
    subscriptions: Annotated[
        tuple[str, ...],
        Key(
            "subscriptions",
            "subscriptions",
            "what it subscribes to with a new session: topic filters, $share/GROUP/FILTER, $queue/FILTER",
        ),
    ] = ()
    qos: Annotated[
        int,
        Key(
            "qos",
            "integer",
            "quality of service that it asks for; the lesser of this and the publisher's counts",
            minimum=0,
            maximum=2,
        ),
    ] = 1
    start_us: Annotated[int, Key("start", "duration", "instant at which it connects")] = 0
    stop_us: Annotated[
        int | None, Key("stop", "duration", "instant at which it disconnects; without it never")
    ] = None
    processing: Annotated[
        Distribution,
        Key("processing", "distribution", "from delivery to acknowledgement; one message at a time"),
    ] = Distribution()
    reconnect_us: Annotated[
        int | None,
        Key(
            "reconnect",
            "duration",
            "after a crash it connects again after this, at its node or another that is up; without it "
            "not at all",
            minimum=1,
        ),
    ] = None
    durable: Annotated[
        bool,
        Key(
            "durable",
            "boolean",
            "it outlives its connection; an in-memory session cannot share in a durable group",
        ),
    ] = True
    paused: Annotated[bool, Key("paused", "boolean", "begins without acknowledging anything")] = False


@dataclass(frozen=True, slots=True)
class EmqxScenario(Scenario):
    """A scenario of EMQX: its sections by name."""

    protocol: ClassVar[str] = EMQX

    nodes: dict[str, NodeSpec] = field(default_factory=dict)
    groups: dict[str, GroupSpec] = field(default_factory=dict)
    publishers: dict[str, PublisherSpec] = field(default_factory=dict)
    sessions: dict[str, SessionSpec] = field(default_factory=dict)
