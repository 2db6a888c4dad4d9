"""Protocols by role: what storage needs of its topic, subscriptions and replicators.

Rules: storage is a layer below the broker's state. `broker.topic.Topic`, `broker.subscription.Subscription`,
`replication.replicator.Replicator` and `runtime.Runtime` play these roles.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pyroaring import BitMap

    from simulator.kernel.clock import Handler
    from simulator.log.border import Border
    from simulator.log.cursors import Cursor
    from simulator.log.ledgers import TopicLog
    from simulator.protocols.pulsar.broker.hot_settings import HotSettings, TopicWithPolicies
    from simulator.protocols.pulsar.markers.entries import MarkerTable
    from simulator.protocols.pulsar.storage.messages import MessageTable
    from simulator.protocols.pulsar.storage.retention import Expired
    from simulator.protocols.pulsar.storage.tail_read import TailRead
    from simulator.trace.row_columns import RowColumns
    from simulator.trace.trace import Trace


class WatchedCursor(Protocol):
    """The window of a failover, which follows a subscription's cursor in the target."""

    def cursor_went_back(self, topic: TopicOfLog) -> None:
        """The cursor covers less than before: it was deleted or recovered."""


class RuntimeOfLog(Protocol):
    """Clock, trace, and the tables of messages and markers."""

    messages: MessageTable
    markers: MarkerTable
    trace: Trace
    now_us: int
    seed: int
    settled: dict[str, BitMap]
    """By subscription the numbers of messages that expired or were skipped."""

    @property
    def seq(self) -> int:
        """Number of rows so far."""

    def option(self, name: str) -> Any:
        """An option in force."""

    def note(self, event: str, cause: int, *fields: int | str | None) -> int:
        """Write a row; returns its seq."""

    def emit_rows(self, count: int, parts: Sequence[RowColumns]) -> None:
        """Write so many rows by column."""

    def schedule(self, at_us: int, rank: int, handler: Handler, argument: Any = None) -> None:
        """Call `handler(argument)` at an instant."""

    def in_portions(self, portions: Iterator[int]) -> int:
        """Do long work of this instant in portions."""

    def recount(self, cluster: str) -> None:
        """Messages were removed from a log of the cluster."""

    def window_into(self, cluster: str, subscription: str) -> WatchedCursor | None:
        """The subscription's latest failover, where its target is this cluster."""


class ClusterOfLog(Protocol):
    """The cluster of a topic."""

    name: str
    number: int
    index: int

    def setting(self, name: str, topic: TopicWithPolicies | None = None) -> Any:
        """A broker setting in force."""

    def take_ledger(self) -> int:
        """A new ledger id."""


class TopicInCluster(Protocol):
    """A topic's log, and its cluster."""

    name: str
    number: int
    rank: int
    epoch: int
    loaded: bool
    policies: dict[str, Any]
    log: TopicLog

    @property
    def appends(self) -> object | None:
        """Its appends under way, None where an append takes no time."""

    @property
    def readable_length(self) -> int:
        """The index after the last entry that can be read."""

    @property
    def cluster(self) -> ClusterOfLog:
        """The cluster that it is in."""

    @property
    def runtime(self) -> RuntimeOfLog:
        """Clock, trace and tables."""


class LedgerListener(Protocol):
    """A listener to the list of a topic's ledgers: its shadows."""

    def trimmed(self) -> None:
        """The oldest ledgers were deleted."""

    def ledgers_changed(self, cause: int) -> None:
        """The list of ledgers has a new version."""


class AudienceOfLog(Protocol):
    """Many cursors of one topic."""

    def slowest(self) -> int | None:
        """The mark-delete index of the slowest, None without any."""

    def ledger_opened(self) -> None:
        """A new ledger was opened."""


class DispatcherOfLog(Protocol):
    """The dispatcher of a subscription."""

    @property
    def sessions(self) -> Sequence[object]:
        """Connected consumers."""


class SubscriptionOfLog(Protocol):
    """A durable cursor of the topic."""

    name: str
    number: int
    cursor: Cursor
    border: Border
    expired: Expired

    @property
    def topic(self) -> TopicOfLog:
        """The topic that it reads."""

    @property
    def runtime(self) -> RuntimeOfLog:
        """Clock, trace and tables."""

    @property
    def dispatcher(self) -> DispatcherOfLog:
        """Its dispatcher."""

    def ledger_opened(self, cause: int) -> None:
        """A new ledger was opened; a cursor at the end of the previous one moves to it."""

    def pass_over_to(self, index: int, reason: str, cause: int) -> None:
        """Move the mark-delete to `index`; rows for the passed messages are written already."""


class ReplicatorOfLog(Protocol):
    """A replication cursor of the topic."""

    cursor: Cursor
    tail: TailRead
    read_index: int
    origin_index: int
    peer_number: int
    peer_bit: int

    @property
    def connected(self) -> bool:
        """Whether its producer is connected."""

    @property
    def topic(self) -> TopicOfLog:
        """The topic that it reads."""

    @property
    def runtime(self) -> RuntimeOfLog:
        """Clock, trace and tables."""

    def ledger_opened(self) -> None:
        """A new ledger was opened; a cursor at the end of the previous one moves to it."""

    def catch_up(self) -> None:
        """Apply the receipts that have arrived by now, and skip entries of other clusters."""

    def settle(self) -> None:
        """Apply the receipts that have arrived, and persist the cursor."""


class TopicOfLog(TopicInCluster, Protocol):
    """A topic whose ledgers are opened, trimmed and expired."""

    terminated: bool
    refuses: str | None
    hot: HotSettings
    marker_written: tuple[int, int]

    @property
    def source(self) -> object | None:
        """The topic whose ledgers a shadow reads, else None."""

    @property
    def present(self) -> BitMap:
        """Numbers of the messages that were ever in its log."""

    def trim(self, cause: int) -> None:
        """Delete the ledgers that no cursor needs any more."""

    @property
    def shadows(self) -> LedgerListener:
        """Its shadows."""

    @property
    def subscriptions(self) -> Mapping[str, SubscriptionOfLog]:
        """Its subscriptions by name."""

    @property
    def replicators(self) -> Mapping[str, ReplicatorOfLog]:
        """Its replicators by peer."""

    @property
    def audiences(self) -> Mapping[str, AudienceOfLog]:
        """Its audiences by name."""
