"""Remarks about scenarios that are valid and probably not meant as they are."""

from __future__ import annotations

from collections.abc import Iterator

from simulator.protocols.emqx.scenario.families import EMQX
from simulator.protocols.emqx.scenario.mqtt_topics import QUEUE, matches, parse_subscription
from simulator.scenarios.model import Scenario


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
