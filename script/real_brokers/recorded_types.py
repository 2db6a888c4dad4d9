"""Which event types of a recorded run are measured and which are inferred, and how.

This table is the source for the key `recorded` of a trace file's meta and for `docs/recorded-events.md`.
"""

from __future__ import annotations

MEASURED, INFERRED = "measured", "inferred"

HOW: dict[str, tuple[str, str]] = {
    "run.started": (INFERRED, "the run's instant 0"),
    "command.applied": (MEASURED, "the driver, just before the first request that performs it"),
    "command.refused": (MEASURED, "the driver"),
    "cluster.crashed": (MEASURED, "the driver, at the kill of the process"),
    "cluster.restarted": (MEASURED, "the driver, when the process was ready"),
    "cluster.lost": (MEASURED, "the driver, at the kill of the process"),
    "link.cut": (MEASURED, "the driver, at its request to the proxy"),
    "link.healed": (MEASURED, "the driver, at its request to the proxy"),
    "link.slowed": (MEASURED, "the driver, at its request to the proxy"),
    "setting.changed": (MEASURED, "the driver"),
    "topic.loaded": (INFERRED, "before the run, or the broker's first event after a crash or an unload"),
    "topic.unloaded": (INFERRED, "the command that unloads it, or the crash of its cluster"),
    "ledger.opened": (INFERRED, "the load or the first entry of each ledger in the log"),
    "ledger.closed": (INFERRED, "the next ledger in the log"),
    "message.published": (MEASURED, "the client, when the application calls send"),
    "message.stored": (MEASURED, "the log; the broker stamps the instant of each append"),
    "message.receipted": (MEASURED, "the client"),
    "message.send-failed": (MEASURED, "the client"),
    "message.replicated": (INFERRED, "the copy's instant less the nominal latency of the link"),
    "message.delivered": (MEASURED, "the client, when the application receives it"),
    "message.acknowledged": (MEASURED, "the client, when the application calls ack"),
    "message.negatively-acknowledged": (MEASURED, "the client, when the application calls negative ack"),
    "message.registered": (MEASURED, "the broker, after it handled the ack"),
    "message.skipped": (INFERRED, "entries between the old and the new position of a reset"),
    "marker.written": (MEASURED, "the log where it was made"),
    "marker.sent": (INFERRED, "the copy's instant less the nominal latency of the link"),
    "marker.stored": (MEASURED, "the other cluster's log"),
    "marker.handled": (INFERRED, "when its effect was stored, else when the copy was"),
    "marker.filtered": (INFERRED, "when stored, or after the last message before it was dispatched"),
    "controller.started": (MEASURED, "the broker, polled"),
    "controller.stopped": (MEASURED, "the broker, polled, or the outage of the topic"),
    "snapshot.requested": (MEASURED, "the request marker in the log; its round is its place with that id"),
    "snapshot.refused": (INFERRED, "a tick without a request; the reason by the engine's rule"),
    "snapshot.answered": (INFERRED, "the response marker, when it was handled"),
    "snapshot.answer-ignored": (INFERRED, "a response to a snapshot that is not pending"),
    "snapshot.completed": (MEASURED, "the snapshot marker in the log"),
    "snapshot.position": (MEASURED, "the content of the snapshot marker"),
    "snapshot.timed-out": (INFERRED, "the first tick after the limit"),
    "snapshot.abandoned": (INFERRED, "pending when its controller stopped"),
    "snapshot.cached": (
        MEASURED,
        "the broker's cache, polled; inferred from the dispatch where not seen",
    ),
    "snapshot.evicted": (INFERRED, "the engine's cache rule"),
    "snapshot.used": (MEASURED, "the Update in the log that has its positions"),
    "update.written": (MEASURED, "the log"),
    "update.position": (MEASURED, "the content of the Update"),
    "update.applied": (MEASURED, "the broker's cursor, polled, that reached the position"),
    "update.refused": (INFERRED, "the cursor when the Update was stored"),
    "subscription.created": (INFERRED, "the first consumer, Update or command"),
    "subscription.replication-switched": (MEASURED, "the driver"),
    "cursor.moved": (MEASURED, "the broker, polled; the reason is inferred"),
    "cursor.persisted": (INFERRED, "the position that a cursor recovered"),
    "cursor.recovered": (MEASURED, "the broker, polled, after a load"),
    "consumer.connected": (MEASURED, "the broker, polled"),
    "consumer.disconnected": (MEASURED, "the broker, polled, or the outage of the topic"),
    "replicator.created": (INFERRED, "before the run"),
    "replicator.started": (MEASURED, "the broker, polled"),
    "replicator.disconnected": (MEASURED, "the broker, polled, or the outage of the topic"),
    "replicator.rewound": (INFERRED, "an entry that the link sends again"),
    "client.changed": (MEASURED, "the driver, which ends clients and starts producers again"),
    "failover.started": (MEASURED, "the driver"),
    "failover.finished": (INFERRED, "the last consumer that subscribed at the target"),
}
"""By event type: measured or inferred, and from what."""


def types_that_are(how: str) -> list[str]:
    """The event types that are measured, or inferred, in order of names."""
    return sorted(name for name, (found, _) in HOW.items() if found == how)


HEAD = """# Rows of runs on real brokers

Made by `python -m script.real_brokers.recorded_types > docs/recorded-events.md` from
`script/real_brokers/recorded_types.py`. Edit that, not this page.

A run on real brokers is recorded as raw events and as dumps of every log (`raw.jsonl.gz`).
`script/real_brokers/rows.py` turns them into rows of [the trace](trace.md). Verdicts, checks, page and
reports then read a real run as they read a simulated one. The meta of such a trace file has the key
`recorded`, with `pulsar`, `date`, and the lists `measured` and `inferred`: those of the types below that the
run has.

## Instants

- All processes of the rig read one monotonic clock. `at_us` counts microseconds from the run's instant 0,
  which is a tick of the first snapshot controller. What happened before it is at 0, in its order.
- An entry is stored when the broker appends it: a `BrokerEntryMetadataInterceptor` stamps it.
- Controllers, cursors, consumers, replicators and caches are polled every millisecond. An ack is stamped
  after the broker handled it. Such a row is put back to the instant of the first row that it caused, if that
  is earlier.
- Any other row that is stamped before its cause is put at the cause's instant.
- The meta's key `converted` has `moved_rows` and `moved_most_us`, how many rows that were and the longest
  shift, and `dropped_causes`, the inferred causes that contradicted each other. The last is 0 for a sound
  recording.

## Causes

No process reports causes: they are inferred from positions, snapshot ids and message identities.
`tests/real_brokers/` reduces runs of the engine to what the rig records and compares the rows made from that
with the run itself.

## What is not recorded

A message or marker that was sent and never stored in the other cluster leaves no row of its sending, and the
reason of an Update in flight is then `never-left`. Retries of clients, persisted cursors (except one that was
recovered), negative acks of the client library itself and the start of a delay have no rows. Claims about
exact delays between retries are not judged (`script/real_brokers/output.py`).

## Events

"""


def markdown() -> str:
    """The page of the documentation."""
    lines = ["| event | | from |", "|---|---|---|"]
    lines += [f"| `{name}` | {how} | {words} |" for name, (how, words) in HOW.items()]
    return HEAD + "\n".join(lines)


if __name__ == "__main__":
    print(markdown())
