"""A remark about `$queue/GROUP/FILTER`, in which the broker reads GROUP as part of the filter.

The proposal writes it this way.
"""

from __future__ import annotations

from collections.abc import Iterator

from simulator.protocols.emqx.scenario.mqtt_topics import QUEUE, matches, parse_subscription
from simulator.scenarios.model import Scenario


def remarks(scenario: Scenario) -> Iterator[str]:
    """Each $queue filter that matches no publisher's topic, and would match one without its first level."""
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
