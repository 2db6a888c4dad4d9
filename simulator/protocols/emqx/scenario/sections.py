"""The sections of EMQX's scenario files, and the keys that its links add."""

from __future__ import annotations

from simulator.protocols.emqx.scenario import model
from simulator.protocols.emqx.scenario.families import EMQX
from simulator.scenarios.key import Key, Section
from simulator.scenarios.publishing import PUBLISHING

LINK_KEYS = (
    Key("loss", "share", "share of messages that never arrive", protocol=EMQX),
    Key("duplication", "share", "share of messages that arrive a second time", protocol=EMQX),
    Key(
        "reordering",
        "share",
        "share of messages that take three times as long, and so are overtaken",
        protocol=EMQX,
    ),
)

NODES = Section(
    "nodes",
    "node",
    model.NodeSpec,
    "the nodes of an EMQX cluster, by name; storage is the same at all of them",
    (),
    most=16,
    required=True,
    protocol=EMQX,
    sites=True,
)

GROUPS = Section(
    "groups",
    "group",
    model.GroupSpec,
    (
        "groups of durable shared subscriptions, by the lab's name; one that is not listed begins when a "
        "session first subscribes to it"
    ),
    (
        Key("filter", "topic-filter", "which topics it shares", required=True),
        Key("group", "text", "its name at the broker; without it the lab's"),
        Key("queue", "boolean", "clients ask for it as $queue/FILTER"),
        Key("startTime", "duration", "it reads what was stored from this instant on", attribute="start_us"),
        Key("declared", "boolean", "it is declared when the run begins; false: by the command group.declare"),
    ),
    most=1000,
    protocol=EMQX,
)

PUBLISHERS = Section(
    "publishers",
    "publisher",
    model.PublisherSpec,
    "MQTT publishers, by name; one without `every`, `rate` or `at` publishes on command only",
    (
        Key("topic", "topic-name", "where it publishes", required=True),
        Key("qos", "integer", "quality of service", minimum=0, maximum=2),
        *PUBLISHING,
        Key(
            "clients",
            "integer",
            (
                "MQTT clients that it stands for, taken in turn; all of one client's messages go to one "
                "shard; without it one for each shard"
            ),
            minimum=1,
            maximum=100_000,
        ),
        Key(
            "topics",
            "integer",
            "topics, taken in turn: TOPIC/0, TOPIC/1…; 1 is the topic itself",
            minimum=1,
            maximum=10_000,
        ),
        Key("paused", "boolean", "begins paused"),
    ),
    most=1000,
    protocol=EMQX,
)

SESSIONS = Section(
    "sessions",
    "session",
    model.SessionSpec,
    "MQTT clients with their sessions, by name",
    (
        Key("node", "node", "node to which it connects", required=True),
        Key(
            "subscriptions",
            "subscriptions",
            "what it subscribes to with a new session: topic filters, $share/GROUP/FILTER, $queue/FILTER",
        ),
        Key(
            "qos",
            "integer",
            "quality of service that it asks for; the lesser of this and the publisher's counts",
            minimum=0,
            maximum=2,
        ),
        Key("start", "duration", "instant at which it connects", attribute="start_us"),
        Key("stop", "duration", "instant at which it disconnects; without it never", attribute="stop_us"),
        Key("processing", "distribution", "from delivery to acknowledgement; one message at a time"),
        Key(
            "reconnect",
            "duration",
            (
                "after a crash it connects again after this, at its node or another that is up; without it "
                "not at all"
            ),
            attribute="reconnect_us",
            minimum=1,
        ),
        Key(
            "durable",
            "boolean",
            "it outlives its connection; an in-memory session cannot share in a durable group",
        ),
        Key("paused", "boolean", "begins without acknowledging anything"),
    ),
    most=1000,
    protocol=EMQX,
)

SECTIONS = (NODES, GROUPS, PUBLISHERS, SESSIONS)

ORDER = ("links", "nodes", "groups", "publishers", "sessions")
"""The order in the canonical text."""
