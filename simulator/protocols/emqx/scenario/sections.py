"""The sections of EMQX's scenario files, and the keys that its links add."""

from __future__ import annotations

from collections.abc import Iterator

from simulator.protocols.emqx.scenario import model, mqtt_topics
from simulator.protocols.emqx.scenario.model import EMQX
from simulator.protocols.emqx.scenario.mqtt_topics import QUEUE, matches, parse_subscription
from simulator.scenarios.declarations import PUBLISHING, Key, Section
from simulator.scenarios.kinds import TEXT, Kind, checked, list_of
from simulator.scenarios.model import Scenario

# --- the kinds of value that only EMQX's scenario files and commands have: topics and topic filters
#
# The rules are those of `simulator.scenarios.kinds`.


SUBSCRIPTION_FILTER = Kind(
    "topic filter, $share/GROUP/FILTER or $queue/FILTER", TEXT, checked(mqtt_topics.parse_subscription)
)

KINDS: dict[str, Kind] = {
    "topic-name": Kind("topic to publish to", TEXT, checked(mqtt_topics.check_topic)),
    "topic-filter": Kind("topic filter with + and #", TEXT, checked(mqtt_topics.check_filter)),
    "subscription-filter": SUBSCRIPTION_FILTER,
    "subscriptions": list_of(
        SUBSCRIPTION_FILTER, "a list of topic filters, $share/GROUP/FILTER, $queue/FILTER"
    ),
}


def remarks(scenario: Scenario) -> Iterator[str]:
    """Remarks about queues, and about groups whose sessions cannot reach their leader."""
    yield from _queues(scenario)
    yield from _remote_leaders(scenario)


def _remote_leaders(scenario: Scenario) -> Iterator[str]:
    """Each group that sessions of several nodes share, unless the scenario chooses an option about that."""
    if "remoteLeaders" in scenario.options or EMQX in scenario.options:
        return
    nodes: dict[str, dict[str, str]] = {}
    for session in scenario.sessions.values():
        for text in session.subscriptions:
            if parse_subscription(text).group is not None:
                nodes.setdefault(text, {}).setdefault(session.node, session.name)
    for text, found in nodes.items():
        if len(found) > 1:
            one, other = list(found.values())[:2]
            yield (
                f'sessions: {one} and {other} share "{text}" from different nodes; in EMQX 5.10 as shipped a '
                f"session reaches no leader at another node (emqx#18143) and receives nothing: write "
                f"options: {{remoteLeaders: reachable}}, or remoteLeaders: unreachable if that is meant"
            )


def _queues(scenario: Scenario) -> Iterator[str]:
    """Each $queue filter that matches no publisher's topic, and would match one without its first level.

    In `$queue/GROUP/FILTER`, as the proposal writes it, the broker reads GROUP as part of the filter.
    """
    topics = [one.topic if one.topics == 1 else f"{one.topic}/0" for one in scenario.publishers.values()]
    asked = [
        (f"sessions.{session.name}.subscriptions", text)
        for session in scenario.sessions.values()
        for text in session.subscriptions
    ]
    asked += [
        (f"commands[{index}].topic", command.arguments["topic"])
        for index, command in enumerate(scenario.commands)
        if command.do == "session.subscribe"
    ]
    for place, text in asked:
        group, wanted = parse_subscription(text)
        _group, _slash, rest = wanted.partition("/")
        if (
            group == QUEUE
            and rest
            and not any(matches(topic, wanted) for topic in topics)
            and any(matches(topic, rest) for topic in topics)
        ):
            yield (
                f'{place}: "{text}" asks for {wanted}, which no publisher\'s topic matches; the proposal '
                f'writes $queue/GROUP/FILTER, the broker takes $queue/FILTER: write "$queue/{rest}"'
            )


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
