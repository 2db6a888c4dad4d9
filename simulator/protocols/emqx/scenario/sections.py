"""The sections of EMQX's scenario files, and the keys that its links add."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from simulator.protocols.emqx.scenario import model
from simulator.protocols.emqx.scenario.model import EMQX, SessionSpec
from simulator.scenarios.declarations import Check, Key, Section
from simulator.scenarios.kinds import TEXT, Kind, checked, list_of
from simulator.scenarios.model import Scenario
from simulator.scenarios.tree import Wrong

# --- MQTT topics: names, filters with wildcards, and the filters of shared subscriptions
#
# Rules: `+` matches one level, `#` the rest and only at the end. A filter that begins with a wildcard
# matches no topic that begins with `$`. A shared filter is `$share/GROUP/FILTER` or `$queue/FILTER`.
# Anything else that begins with `$share` is an error with a message.


QUEUE = "$queue"
"""The group of `$queue/FILTER`, as the broker names it."""


class Subscription(NamedTuple):
    """A subscription of a session; `group` None is a private subscription."""

    group: str | None
    filter: str

    @property
    def text(self) -> str:
        """The subscription as a client writes it."""
        if self.group is None:
            return self.filter
        return f"{QUEUE}/{self.filter}" if self.group == QUEUE else f"$share/{self.group}/{self.filter}"


def parse_subscription(text: str) -> Subscription:
    """The subscription of a topic filter. Raises Wrong."""
    first, slash, rest = text.partition("/")
    if first == "$shared":
        raise Wrong(
            f'"{text}" is no shared subscription',
            f'the proposal writes $shared, the broker takes $share: write "$share/{rest or "GROUP/FILTER"}"',
        )
    if first == QUEUE:
        if not rest:
            raise Wrong(f'"{text}" names no filter', "write $queue/FILTER")
        return Subscription(QUEUE, _check_shared(rest, text))
    if first == "$share":
        group, _slash, wanted = rest.partition("/")
        if not group or not wanted or any(sign in group for sign in "+#"):
            raise Wrong(
                f'"{text}" is not a shared subscription', "write $share/GROUP/FILTER, the group without / + #"
            )
        return Subscription(group, _check_shared(wanted, text))
    return Subscription(None, check_filter(text))


def _check_shared(wanted: str, text: str) -> str:
    """The filter after a group's name, which must not be a shared filter itself; raises Wrong."""
    if wanted.split("/")[0] in ("$share", QUEUE, "$shared"):
        raise Wrong(
            f'"{text}" asks for a share of a share',
            "write $share/GROUP/FILTER once, and then the filter itself",
        )
    return check_filter(wanted)


def check_filter(text: str) -> str:
    """A topic filter, unchanged if it is valid; raises Wrong."""
    levels = text.split("/")
    if not text:
        raise Wrong("an empty filter matches nothing", "name a topic, or use # for all")
    if "#" in text and (
        levels.count("#") != 1 or levels[-1] != "#" or any("#" in level and level != "#" for level in levels)
    ):
        raise Wrong(
            f'"{text}" has # elsewhere than as its last level', "write # alone at the end, such as sensors/#"
        )
    if any("+" in level and level != "+" for level in levels):
        raise Wrong(f'"{text}" has + within a level', "+ matches one whole level, such as sensors/+/heat")
    return text


def check_topic(text: str) -> str:
    """A topic to publish to, unchanged if it is valid; raises Wrong."""
    if not text or "+" in text or "#" in text:
        raise Wrong(f'"{text}" is no topic to publish to', "name one topic, without + and #")
    if text.split("/")[0] in ("$share", QUEUE, "$shared"):
        raise Wrong(f'"{text}" is a shared filter', "publish to the topic itself")
    return text


def matches(topic: str, wanted: str) -> bool:
    """Whether a topic matches a filter."""
    names, levels = topic.split("/"), wanted.split("/")
    if topic.startswith("$") and levels[0] in ("+", "#"):
        return False
    for number, level in enumerate(levels):
        if level == "#":
            return True
        if number >= len(names) or (level != "+" and level != names[number]):
            return False
    return len(names) == len(levels)


# --- the kinds of value that only EMQX's scenario files and commands have: topics and topic filters
#
# The rules are those of `simulator.scenarios.kinds`.


SUBSCRIPTION_FILTER = Kind(
    "topic filter, $share/GROUP/FILTER or $queue/FILTER", TEXT, checked(parse_subscription)
)

KINDS: dict[str, Kind] = {
    "topic-name": Kind("topic to publish to", TEXT, checked(check_topic)),
    "topic-filter": Kind("topic filter with + and #", TEXT, checked(check_filter)),
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
    most=1000,
    protocol=EMQX,
)

PUBLISHERS = Section(
    "publishers",
    "publisher",
    model.PublisherSpec,
    "MQTT publishers, by name; one without `every`, `rate` or `at` publishes on command only",
    most=1000,
    protocol=EMQX,
)

SESSIONS = Section(
    "sessions",
    "session",
    model.SessionSpec,
    "MQTT clients with their sessions, by name",
    most=1000,
    protocol=EMQX,
)

SECTIONS = (NODES, GROUPS, PUBLISHERS, SESSIONS)

ORDER = ("links", "nodes", "groups", "publishers", "sessions")
"""The order in the canonical text."""


def check_consistency(check: Check) -> None:
    """Report every problem between parts of the scenario."""
    for session in check.scenario.sessions.values():
        _session(check, session)


def _session(check: Check, session: SessionSpec) -> None:
    """Report an in-memory session that subscribes to a group.

    The proposal leaves this case open, so the lab refuses it.
    """
    for index, text in enumerate(session.subscriptions):
        if not session.durable and parse_subscription(text).group is not None:
            what = (
                "an in-memory session cannot share in a group that durable storage feeds: nothing would "
                "keep its place in a stream"
            )
            check.fail(
                ("sessions", session.name, "subscriptions", index),
                what,
                "make the session durable, or let it subscribe to the filter alone",
            )
