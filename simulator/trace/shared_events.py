"""The events that every protocol may write: run, commands, links, messages, clients, violated checks."""

# mypy: disable-error-code="empty-body"

from __future__ import annotations

from simulator.trace.registry import About, Name, NameNumber, Rows, control, data


class SharedRows(Rows):
    """Writers of the rows that every protocol may have."""

    __slots__ = ()

    @control(0, "the run began; detail names the scenario")
    def run_started(self, cause: int, *, detail: Name) -> int: ...

    @control(1, "a command took effect; reason is its name, detail its arguments")
    def command_applied(self, cause: int, *, reason: Name, detail: Name) -> int: ...

    @control(2, "a command was refused; reason is its name, detail why")
    def command_refused(self, cause: int, *, reason: Name, detail: Name) -> int: ...

    @control(6, "nothing passes from cluster to peer any more")
    def link_cut(self, cause: int, *, cluster: Name, peer: Name) -> int: ...

    @control(7, "the link works again")
    def link_healed(self, cause: int, *, cluster: Name, peer: Name) -> int: ...

    @control(8, "the link's latency is now duration_us")
    def link_slowed(self, cause: int, *, cluster: Name, peer: Name, duration_us: int) -> int: ...

    @data(15, "the application called send; cluster is where the producer is connected")
    def message_published(
        self,
        cause: int,
        *,
        cluster: NameNumber,
        topic: NameNumber,
        producer: NameNumber,
        sequence_id: int,
        key: int,
        size_bytes: int,
    ) -> int: ...

    @data(
        17,
        "appended to the cluster's log; peer is the cluster it was replicated from, null when published "
        "here; size_bytes is the whole entry's on batch index 0 or null, else 0",
    )
    def message_stored(
        self,
        cause: int,
        *,
        cluster: NameNumber,
        peer: NameNumber,
        topic: NameNumber,
        producer: NameNumber,
        sequence_id: int,
        ledger: int,
        entry: int,
        batch_index: int,
        size_bytes: int,
    ) -> int: ...

    @data(
        23,
        "handed to the application; count is the broker's redelivery count; evidence_seq is the row that "
        "stored it here",
    )
    def message_delivered(self, cause: int, *, about: About, count: int, evidence_seq: int) -> int: ...

    @data(24, "the application called ack (reason: individual, cumulative)")
    def message_acknowledged(self, cause: int, *, about: About, reason: NameNumber) -> int: ...

    @control(67, "a producer or consumer was started, stopped, paused, resumed, slowed, killed or closed")
    def client_changed(self, cause: int, *, cluster: Name, client: Name, reason: Name) -> int: ...

    @control(75, "an invariant broke; reason is the claim")
    def check_violated(self, cause: int, *, reason: Name, detail: Name, evidence_seq: int) -> int: ...


SHARED_EVENTS = SharedRows.events
