"""What a scenario says that has no effect: no problem, since a person may still make it come true while it
runs, but seldom meant.

So far: messages that are named and that nobody is planned to publish, and $queue/GROUP/FILTER as the proposal
writes it, where the broker reads GROUP as a part of the filter.
"""

from __future__ import annotations

from collections.abc import Iterator

from simulator.scenarios.model import Scenario, Selection
from simulator.scenarios.mqtt_topics import QUEUE, matches, parse_subscription
from simulator.scenarios.names import parse_message

_PUBLISHING = ("producer.publish", "producer.send")


def remarks(scenario: Scenario) -> list[str]:
    """A sentence for each place that names messages beyond the last that their producer is planned to
    publish, or a queue's group that the broker does not know.
    """
    by_hand = [command.arguments["producer"] for command in scenario.commands if command.do in _PUBLISHING]
    planned = {
        name: producer.count if producer.at_us is None else len(producer.at_us)
        for name, producer in scenario.producers.items()
        if name not in by_hand
    }
    said = []
    for place, messages in _named(scenario):
        for name, number in messages:
            count = planned.get(name)
            if count is not None and number >= count:
                there = f"{name}/0 to {name}/{count - 1}" if count else "none"
                said.append(
                    f"{place}: {name}/{number} does not come; {name} is planned to publish {count} "
                    f"messages, {there}"
                )
    return [*said, *_queues(scenario)]


def _queues(scenario: Scenario) -> Iterator[str]:
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


def _named(scenario: Scenario) -> Iterator[tuple[str, tuple[tuple[str, int], ...]]]:
    """(place, messages) of each list of messages."""

    def of(place: str, selection: Selection | None):
        return (f"{place}.messages", selection.messages if selection else ())

    for name, producer in scenario.producers.items():
        yield of(f"producers.{name}.delay", producer.delay)
    for name, consumer in scenario.consumers.items():
        yield of(f"consumers.{name}.hold", consumer.hold)
        yield of(f"consumers.{name}.negativeAcknowledge", consumer.negative_acknowledge)
    for index, command in enumerate(scenario.commands):
        yield (
            f"commands[{index}].messages",
            tuple(parse_message(text) for text in command.arguments.get("messages") or ()),
        )
