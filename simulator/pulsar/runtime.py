"""What every part of the simulated system shares: clock, trace writer, tables of names, messages and markers.

Rules: one Runtime per world. `emit` is the only way into the trace; a world that stands behind the end of its branch
counts rows without writing them again. Trace, messages, markers and the scenario are shared by the worlds of a branch
(see `simulator.checkpoint`); everything else is this world's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from simulator.kernel.clock import Clock
from simulator.kernel.random import draw, stream_key
from simulator.pulsar.broadcast.fan_out import FanOut
from simulator.pulsar.creation.policies import PolicyBook
from simulator.pulsar.creation.schema_registry import SchemaBook
from simulator.pulsar.lookup.service import LookupService
from simulator.pulsar.markers import MarkerTable
from simulator.pulsar.messages import MessageTable
from simulator.pulsar.migration.blue_green import BlueGreen
from simulator.pulsar.migration.resources import directory_of
from simulator.scenarios.settings import OPTIONS
from simulator.trace.registry import CODE, NULL
from simulator.trace.trace import Trace

if TYPE_CHECKING:
    from simulator.pulsar.creation.remote_admin import RemoteAdmin
    from simulator.pulsar.cluster import Cluster
    from simulator.pulsar.consumer import Consumer
    from simulator.pulsar.failover import Failover
    from simulator.pulsar.failover_window import FailoverWindow
    from simulator.pulsar.migration.migration import Migration
    from simulator.pulsar.producer import Producer
    from simulator.kernel.links import Link
    from simulator.pulsar.shadow.source import ShadowList
    from simulator.scenarios.model import Scenario

MILLION = 1_000_000


class Runtime(Clock):
    """Clock, trace writer and directory of the simulated system."""

    __slots__ = (
        "scenario", "seed", "trace", "messages", "seq", "message_count", "clusters", "cluster_names", "links", "producers",
        "consumers", "markers", "snapshot_count", "replication", "partitions", "failovers", "options", "marker_faults",
        "acknowledged", "delivered", "settled", "command_count", "subscriptions", "marker_count", "command_results", "windows", "policies", "schemas", "remote_admin",
        "shadow_lists", "rows_max", "fan_out",
        "lookup", "migrations", "blue_green", "directory", "synchronised",
    )  # fmt: skip

    def __init__(self, scenario: Scenario, seed: int, trace: Trace) -> None:
        super().__init__()
        self.scenario = scenario
        self.seed = seed
        self.trace = trace
        self.messages = MessageTable()
        self.seq = 0
        self.rows_max: int | None = None  # where the run under way pauses
        self.fan_out = FanOut(self)
        self.message_count = 0
        self.snapshot_count = 0
        self.command_count = 0
        self.options: dict[str, Any] = dict(scenario.options)
        self.cluster_names: list[str] = sorted(scenario.clusters)
        self.clusters: dict[str, Cluster] = {}
        self.links: dict[tuple[str, str], Link] = {}
        self.producers: dict[str, Producer] = {}
        self.consumers: dict[str, Consumer] = {}
        self.markers = MarkerTable()
        self.marker_count = 0
        self.command_results: list[dict] = []  # as the summary shows them
        self.failovers: list[Failover] = []
        self.windows: dict[str, FailoverWindow] = {}  # subscription -> the window of its latest failover
        self.replication: dict[str, list[tuple[str, str]]] = {}  # topic -> ordered pairs that replicate now
        self.policies = PolicyBook(scenario)
        self.remote_admin: RemoteAdmin | None = None  # put here when the system is built
        self.schemas = SchemaBook(scenario) if scenario.schemas else None
        self.shadow_lists: dict[tuple[str, str], ShadowList] = {}  # (cluster, source topic) -> the shadow topics that it feeds
        self.marker_faults: list[dict] = []  # orders to delay or drop the next marker of a type
        self.acknowledged: dict[str, Any] = {}  # subscription -> BitMap of message numbers the application acknowledged
        self.delivered: dict[str, Any] = {}  # subscription -> BitMap of message numbers handed to the application
        self.settled: dict[str, Any] = {}  # subscription -> BitMap of message numbers expired or skipped
        self.subscriptions: dict[str, Any] = dict(scenario.subscriptions)
        self.lookup = LookupService(self)
        self.migrations: list[Migration] = []  # in the order in which they were started
        self.blue_green = BlueGreen(self)
        self.directory = directory_of(self)
        self.synchronised: dict[str, None] = {}  # topics whose acknowledgements a migration has synchronised, beside the scenario's wish

    # --- trace

    def emit(self, row: tuple[int, ...]) -> int:
        """Write one row, `(type code, at_us, cause_seq, *fields)`, and return its seq."""
        seq, trace = self.seq, self.trace
        if seq == trace.length:
            trace.append(row)
        self.seq = seq + 1
        return seq

    def emit_rows(self, codes: np.ndarray, by_type: dict[int, np.ndarray]) -> None:
        """Write many rows at once, as `Trace.append_rows` takes them."""
        self.trace.append_rows(codes, by_type, first=self.trace.length - self.seq)
        self.seq += len(codes)

    def note(self, event: str, cause: int, *fields: int | str | None) -> int:
        """Write a row of the control plane: strings are interned, None is NULL."""
        return self.emit((CODE[event], self.now_us, cause, *(self._number(field) for field in fields)))

    def _number(self, field: int | str | None) -> int:
        if field is None:
            return NULL
        return self.trace.intern(field) if isinstance(field, str) else field

    def name(self, text: str) -> int:
        """The number of a name in the trace."""
        return self.trace.intern(text)

    def take_messages(self, count: int) -> int:
        """Reserve `count` consecutive message numbers; returns the first."""
        first = self.message_count
        self.message_count = first + count
        return first

    # --- chance

    def chance(self, stream: str, index: int, share_millionths: int) -> bool:
        """Whether the thing numbered `index` of `stream` falls in the share; a pure function of seed, stream and index."""
        return share_millionths > 0 and draw(stream_key(self.seed, stream), index) % MILLION < share_millionths

    # --- options and ranks

    def option(self, name: str) -> Any:
        """A lab option in force: the scenario's, or its default."""
        return self.options[name] if name in self.options else OPTIONS[name].default

    def clusters_of(self, base: str) -> list[str]:
        """The clusters that have the topic now, sorted."""
        return [name for name in self.cluster_names if any(topic.base == base for topic in self.clusters[name].topics.values())]

    def cluster_index(self, name: str) -> int:
        """Ordinal of a cluster in sorted order: its bit, its origin number."""
        return self.cluster_names.index(name)

