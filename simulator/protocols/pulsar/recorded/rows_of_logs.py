"""Recorded rows about clusters, links, clients and ledgers, and what each changes in the state."""

from __future__ import annotations

from simulator.protocols.pulsar.recorded.state import (
    RecordedState,
    Row,
    RowHandler,
    topic_of,
)

# --- clusters, links, clients


def _cluster(becomes: str) -> RowHandler:
    def change(state: RecordedState, row: Row) -> None:
        state.clusters[row["cluster"]].state = becomes

    return change


def _link_cut(state: RecordedState, row: Row) -> None:
    state.links[row["cluster"], row["peer"]].cut()


def _link_healed(state: RecordedState, row: Row) -> None:
    state.links[row["cluster"], row["peer"]].heal()


def _link_slowed(state: RecordedState, row: Row) -> None:
    state.links[row["cluster"], row["peer"]].slow_us = row["duration_us"]


def _published(state: RecordedState, row: Row) -> None:
    producer = state.producers.get(row["producer"])
    if producer is not None:
        producer.cluster = row["cluster"]
        producer.published += 1


def _receipted(state: RecordedState, row: Row) -> None:
    producer = state.producers.get(row["producer"])
    if producer is not None:
        producer.receipted += 1


def _send_failed(state: RecordedState, row: Row) -> None:
    producer = state.producers.get(row["producer"])
    if producer is not None:
        producer.failed += 1


_STATES = {"started": "running", "resumed": "running"}
"""States after a change of a client; every other word of `client.changed` is the state itself."""


def _client_changed(state: RecordedState, row: Row) -> None:
    becomes = str(_STATES.get(row["reason"], row["reason"]))
    if (producer := state.producers.get(row["client"])) is not None:
        if becomes != "slowed":
            producer.state = becomes
        return
    if becomes == "slowed":
        return
    state.client_states[row["client"]] = becomes
    for topic in state.clusters[row["cluster"]].topics.values():
        for subscription in topic.subscriptions.values():
            consumer = subscription.consumers.get(row["client"])
            if consumer is not None and becomes in ("running", "paused", "closing"):
                consumer.state = becomes


# --- ledgers


def _loaded(state: RecordedState, row: Row) -> None:
    topic_of(state, row).loaded = True


def _unloaded(state: RecordedState, row: Row) -> None:
    topic_of(state, row).loaded = False


def _ledger_opened(state: RecordedState, row: Row) -> None:
    topic_of(state, row).log.open_ledger(row["ledger"], row["at_us"])


def _ledger_closed(state: RecordedState, row: Row) -> None:
    log = topic_of(state, row).log
    if log.current is not None and log.current.id == row["ledger"]:
        log.close_ledger(row["at_us"])


def _ledger_trimmed(state: RecordedState, row: Row) -> None:
    log = topic_of(state, row).log
    for ledger in log.ledgers:
        if ledger.id == row["ledger"]:
            if ledger is log.current:
                log.close_ledger(row["at_us"])
            log.trim(ledger.first_index + ledger.entries)
            return


HANDLERS: dict[str, RowHandler] = {
    "cluster.crashed": _cluster("down"),
    "cluster.restarted": _cluster("up"),
    "cluster.lost": _cluster("lost"),
    "link.cut": _link_cut,
    "link.healed": _link_healed,
    "link.slowed": _link_slowed,
    "message.published": _published,
    "message.receipted": _receipted,
    "message.send-failed": _send_failed,
    "client.changed": _client_changed,
    "topic.loaded": _loaded,
    "topic.unloaded": _unloaded,
    "ledger.opened": _ledger_opened,
    "ledger.closed": _ledger_closed,
    "ledger.trimmed": _ledger_trimmed,
}
