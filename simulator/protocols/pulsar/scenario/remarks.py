"""Messages that a Pulsar scenario names and that no producer is planned to publish."""

from __future__ import annotations

from collections.abc import Iterator

from simulator.scenarios.model import Scenario, Selection
from simulator.scenarios.names import parse_message

_PUBLISHING = ("producer.publish", "producer.send")


def remarks(scenario: Scenario) -> Iterator[str]:
    """A sentence for each place with messages beyond the last planned one of their producer."""
    by_hand = [command.arguments["producer"] for command in scenario.commands if command.do in _PUBLISHING]
    planned = {
        name: producer.count if producer.at_us is None else len(producer.at_us)
        for name, producer in scenario.producers.items()
        if name not in by_hand
    }
    for place, messages in _named(scenario):
        for name, number in messages:
            count = planned.get(name)
            if count is not None and number >= count:
                there = f"{name}/0 to {name}/{count - 1}" if count else "none"
                yield (
                    f"{place}: {name}/{number} will not be published; {name} is planned to publish {count} "
                    f"messages, {there}"
                )


def _named(scenario: Scenario) -> Iterator[tuple[str, tuple[tuple[str, int], ...]]]:
    """(place, messages) of each list of messages."""

    def of(place: str, selection: Selection | None) -> tuple[str, tuple[tuple[str, int], ...]]:
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
