"""Loads of a topic that happen later: after a crash's downtime, or when a client's lookup began one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.topic import Topic


class LaterLoad:
    """The loads of one topic that are scheduled; their argument is (its epoch, the row that caused them)."""

    __slots__ = ("_topic",)

    def __init__(self, topic: Topic) -> None:
        self._topic = topic

    def load(self, argument: tuple[int, int]) -> None:
        """Another broker takes the topic after a crash; no effect when it was loaded meanwhile."""
        topic, (epoch, cause) = self._topic, argument
        present = topic.cluster.topics.get(topic.name) is topic
        if epoch == topic.epoch and not topic.loaded and topic.cluster.up and present:
            topic.load(cause)

    def load_for_clients(self, argument: tuple[int, int]) -> None:
        """The load that a client's lookup began is over; clients that waited for it are connected."""
        self.load(argument)
        topic = self._topic
        if topic.loaded and topic.epoch == argument[0] + 1:
            for name in sorted(topic.runtime.consumers):
                topic.runtime.consumers[name].topic_loaded(topic.cluster.name, topic.base, topic.loaded_seq)
