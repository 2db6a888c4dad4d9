"""Protocols by role: what a session needs of its consumer, subscription, topic and broker.

Rules: `client.consumer.Consumer`, `broker.subscription.Subscription`, `broker.topic.Topic`,
`broadcast.broker.Broker` and `broadcast.broker.Dispatch` play these roles.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from simulator.protocols.pulsar.storage.roles import RuntimeOfLog, TopicInCluster

if TYPE_CHECKING:
    from simulator.log.columns import SharedColumn
    from simulator.log.cursors import Cursor
    from simulator.protocols.pulsar.client.message_keys import Ack
    from simulator.protocols.pulsar.client.waiting_acks import AckColumns
    from simulator.protocols.pulsar.scenario.client_model import ConsumerSpec


class RuntimeOfSession(RuntimeOfLog, Protocol):
    """Clock, trace and tables."""

    def emit(self, row: tuple[int, ...]) -> int:
        """Write a row of numbers; returns its seq."""


class BrokerOfSession(Protocol):
    """A declared broker, which queues pushed entries."""

    def send(self, session: Any, size_bytes: int, sent: tuple[int, int, int, int, int]) -> None:
        """Queue an entry for a session."""

    def recall(self, session: Any) -> int:
        """Cancel the queued entries of a session; returns their number of messages."""


class DispatchOfSession(Protocol):
    """An entry that has left the broker."""

    @property
    def service_us(self) -> int:
        """How long it kept the broker busy."""

    @property
    def size_bytes(self) -> int:
        """Its size."""

    @property
    def sent(self) -> tuple[int, int, int, int, int]:
        """(index, first message, bit set of its messages that are sent, redelivery count, row)."""


class TopicOfSession(TopicInCluster, Protocol):
    """The topic that the consumer reads. `place` is (cluster, topic)."""

    place: tuple[str, str]
    base: str
    migrated_to: str | None

    @property
    def stored_seqs(self) -> SharedColumn:
        """The rows that stored the entries, by index in its log."""

    @property
    def broker(self) -> BrokerOfSession | None:
        """The declared broker that serves it, if there is one."""

    @property
    def runtime(self) -> RuntimeOfSession:
        """Clock, trace and tables."""


class DispatcherOfSession(Protocol):
    """The dispatcher of a subscription."""

    def dispatch(self, cause: int) -> None:
        """Send while consumers have permits."""

    def remove(self, session: Any, cause: int) -> None:
        """A consumer left."""

    def redeliver(self, session: Any, indices: list[int], cause: int) -> None:
        """A consumer requests redelivery of entries."""


class SubscriptionOfSession(Protocol):
    """The subscription that the consumer reads."""

    name: str
    number: int
    type: str
    cursor: Cursor

    @property
    def topic(self) -> TopicOfSession:
        """The topic that it reads."""

    @property
    def runtime(self) -> RuntimeOfSession:
        """Clock, trace and tables."""

    @property
    def dispatcher(self) -> DispatcherOfSession:
        """Its dispatcher."""

    def acknowledge(self, acks: list[Ack]) -> None:
        """Acks of a consumer arrived."""

    def acknowledge_columns(self, acks: AckColumns) -> None:
        """Acks of single messages arrived, by column."""


class ConsumerOfSession(Protocol):
    """The client of a session."""

    name: str
    number: int
    spec: ConsumerSpec

    def receive(self, received: Any) -> None:
        """The broker has sent a message, which arrives in the receiver queue."""

    def forget(self, session: Any) -> None:
        """The broker reads again: drop the session's queued messages."""

    def flush_and_clean(self, topic: str) -> None:
        """The client seeks or is redirected: it forgets its last cumulative ack of the topic."""

    def disconnected(self, session: Any, reason: str, cause: int) -> None:
        """The broker ended the session."""
