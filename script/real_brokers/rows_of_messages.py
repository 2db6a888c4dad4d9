"""Rows of messages: published, stored, receipted, replicated, delivered, acknowledged, registered.

Rules: publishes, receipts, deliveries and acknowledgements are events of the clients, acks that reached a
broker are events of the brokers, and stored entries are read from the logs. When a replicator sent an entry
is inferred: the copy's instant less the nominal latency of the link, not before the entry was stored and not
before the one that the link sent before it. An entry that is sent again was sent after a rewind.
"""

from __future__ import annotations

from script.real_brokers.converting import Run
from script.real_brokers.draft import Row
from script.real_brokers.logs import Entry, Message, base_of
from script.real_brokers.recording import Event, RecordingError

POLL_NS = 5_000_000
"""Consumers are polled: one is seen at most so long after it connected."""


def add_messages(run: Run) -> None:
    """Publishes and what the producers' own clusters stored, then the copies of everything."""
    published = _published(run)
    for log in run.logs.values():
        for entry in log.entries:
            if entry.origin is None and entry.marker is None:
                _store(run, entry, [_published_here(published, entry, message) for message in entry.messages])
    _receipts(run, published)
    for event in run.recording.of("send_failed"):
        row = published.get((event["cluster"], event["producer"], event["sequence"]), [None])[-1]
        run.draft.add("message.send-failed", event["t"], row, **_of(event), reason=event.get("error"))


def _of(event: Event) -> dict[str, str | int]:
    return {
        "cluster": event["cluster"],
        "topic": event.get("topic"),
        "producer": event["producer"],
        "sequence_id": event["sequence"],
    }


def _published(run: Run) -> dict[tuple[str, str, int], list[Row]]:
    stored_in = {(log.cluster, *message): log.topic for log in run.logs.values() for message in log.native}
    rows: dict[tuple[str, str, int], list[Row]] = {}
    for event in run.recording.of("published"):
        message = event["producer"], event["sequence"]
        spec = run.scenario.producers.get(event["producer"])
        if spec is None:
            raise RecordingError(
                f"{event['producer']} published, but the scenario has no such producer; it has "
                f"{', '.join(run.scenario.producers)}"
            )
        key = event["cluster"], *message
        event["topic"] = stored_in.get(key) or event.get("topic") or spec.topic
        row = run.draft.add(
            "message.published",
            event["t"],
            **_of(event),
            key=run.key_of(message),
            size_bytes=event.get("size_bytes", spec.size_bytes),
        )
        rows.setdefault(key, []).append(row)
    return rows


def _published_here(published: dict[tuple[str, str, int], list[Row]], entry: Entry, message: Message) -> Row:
    rows = published.get((entry.cluster, *message))
    if not rows:
        raise RecordingError(
            f"{entry.words} was stored, but no producer published it there; the recording lacks the events "
            "of a client, or the dump is of another run"
        )
    earlier = [row for row in rows if row.t <= entry.t]
    return earlier[-1] if earlier else rows[0]


def _store(run: Run, entry: Entry, causes: list[Row]) -> None:
    ledger, number = entry.position
    for message, cause in zip(entry.messages, causes, strict=True):
        index = entry.batch_index(message)
        entry.rows.append(
            run.draft.add(
                "message.stored",
                entry.t,
                cause,
                cluster=entry.cluster,
                peer=entry.origin,
                topic=entry.topic,
                producer=message[0],
                sequence_id=message[1],
                ledger=ledger,
                entry=number,
                batch_index=index,
                size_bytes=0 if index else entry.size_bytes,
            )
        )


def _receipts(run: Run, published: dict[tuple[str, str, int], list[Row]]) -> None:
    for event in run.recording.of("receipted"):
        message = event["producer"], event["sequence"]
        words = f"the receipt of {message[0]}/{message[1]} in {event['cluster']}"
        rows = published.get((event["cluster"], *message))
        if not rows:
            raise RecordingError(
                f"{words} has no publish before it; the recording lacks the published event of that message"
            )
        event["topic"] = rows[-1].fields["topic"]
        log = run.log(event["cluster"], event["topic"])
        if event.get("ledger") is not None:
            entry = log.at(event["ledger"], event["entry"], words)
            if message not in entry.messages:
                raise RecordingError(f"{words} names {entry.words}, which is not that message")
        elif message in log.native:
            entry = log.native[message][0]
        else:
            raise RecordingError(
                f"{words} says that it is stored, but the dump of {event['topic']} in {event['cluster']} "
                "does not have it; dump the logs after the last event of the run"
            )
        cause = entry.rows[entry.messages.index(message)]
        run.draft.add("message.receipted", event["t"], cause, **_of(event))


# --- replication


def add_copies(run: Run) -> None:
    """What each replicator sent, and what it stored in the other cluster: messages and markers."""
    for log in run.logs.values():
        sent: dict[str, tuple[tuple[int, int], Row]] = {}
        for copy in log.entries:
            if copy.original is not None and copy.origin is not None:
                row = _send(run, copy, sent.get(copy.origin))
                sent[copy.origin] = copy.original.position, row


def _send(run: Run, copy: Entry, before: tuple[tuple[int, int], Row] | None) -> Row:
    """The rows of one copy on its way; returns the last of those that sent it."""
    original, link = copy.first, {"cluster": copy.origin, "peer": copy.cluster, "topic": copy.topic}
    t = max(copy.t - run.latency_ns(copy.first.cluster, copy.cluster), original.t)
    if before is not None:
        t = max(t, before[1].t)
        if original.position <= before[0]:
            started = run.states.latest(("replicator", copy.first.cluster, copy.cluster, copy.topic), copy.t)
            ledger, entry = original.position
            run.draft.add(
                "replicator.rewound", t, started or before[1], **link, ledger=ledger, entry=entry - 1
            )
    ledger, entry = original.position
    place = {"ledger": ledger, "entry": entry}
    if copy.marker is not None:
        about = marker_fields(original)
        row = run.draft.add("marker.sent", t, original.rows[0], **link, **about, **place)
        ledger, entry = copy.position
        stored = run.draft.add(
            "marker.stored",
            copy.t,
            row,
            cluster=copy.cluster,
            peer=copy.origin,
            topic=copy.topic,
            **about,
            ledger=ledger,
            entry=entry,
            size_bytes=copy.size_bytes,
        )
        copy.rows.append(stored)
        copy.number, copy.snapshot = original.number, original.snapshot
        return row
    causes = []
    for message, stored in zip(original.messages, original.rows, strict=True):
        index = original.batch_index(message)
        causes.append(
            run.draft.add(
                "message.replicated",
                t,
                stored,
                **link,
                producer=message[0],
                sequence_id=message[1],
                **place,
                batch_index=index,
            )
        )
    _store(run, copy, causes)
    return causes[-1]


def marker_fields(entry: Entry) -> dict[str, str | int | None]:
    """The columns of every row of a marker that say which one it is."""
    marker = entry.first.marker
    assert marker is not None, "only a marker has these"
    return {
        "marker": entry.first.number,
        "reason": marker.type,
        "snapshot": entry.first.snapshot,
        "subscription": marker.subscription,
    }


# --- consumers


def add_deliveries(run: Run) -> None:
    """Deliveries to the application and its acknowledgements, in the order of their instants."""
    delivered: dict[tuple, Row] = {}
    waiting: dict[tuple[str, str, str, str], dict[tuple, tuple[Entry, Message]]] = {}
    for event in run.recording.of("delivered", "acknowledged", "negatively_acknowledged"):
        event["topic"] = _topic_of(run, event)
        subscription = event.get("subscription") or _subscription_of(run, event["consumer"])
        message = event["producer"], event["sequence"]
        words = f"{event['e']} of {message[0]}/{message[1]} to {event['consumer']}"
        log = run.log(event["cluster"], event["topic"])
        entry = log.at(event["ledger"], event["entry"], words)
        if message not in entry.messages:
            raise RecordingError(f"{words} names {entry.words}, which is not that message")
        at = event["cluster"], event["topic"], subscription
        client, key = (*at, event["consumer"]), (entry.position, message)
        if event["e"] == "delivered":
            connected = run.connected.latest((at, event["consumer"]), event["t"] + POLL_NS)
            stored = entry.rows[entry.messages.index(message)]
            cause = connected if connected is not None and connected.t > stored.t else stored
            delivered[client, key] = run.draft.add(
                "message.delivered",
                event["t"],
                cause,
                evidence=stored,
                **_about(at, event["consumer"], entry, message),
                count=event.get("redelivery_count", 0),
            )
            waiting.setdefault(client, {})[key] = entry, message
        elif (client, key) not in delivered:
            raise RecordingError(f"{words} comes before its delivery; the recording lacks that event")
        elif event["e"] == "negatively_acknowledged":
            about = _about(at, event["consumer"], entry, message)
            cause = delivered[client, key]
            run.draft.add("message.negatively-acknowledged", event["t"], cause, **about)
        else:
            _acknowledge(run, event, at, waiting.setdefault(client, {}), key, delivered)


def _acknowledge(
    run: Run,
    event: Event,
    at: tuple[str, str, str],
    waiting: dict[tuple, tuple[Entry, Message]],
    key: tuple,
    delivered: dict[tuple, Row],
) -> None:
    """The rows of one call of ack: one for each message that it covers."""
    type_, client = event.get("type", "individual"), event["consumer"]
    keys = [key]
    if type_ == "cumulative":
        place = _place(key, waiting)
        keys = sorted(
            (one for one in waiting if _place(one, waiting) <= place), key=lambda one: _place(one, waiting)
        )
    for one in keys:
        cause = delivered[(*at, client), one]
        entry = run.log(*at[:2]).by_position[one[0]]
        row = run.draft.add(
            "message.acknowledged",
            event["t"],
            cause,
            **_about(at, client, entry, one[1]),
            reason=type_,
        )
        run.acknowledged.add((at, *one), row)
        waiting.pop(one, None)


def _place(key: tuple, waiting: dict[tuple, tuple[Entry, Message]]) -> tuple[tuple[int, int], int]:
    position, message = key
    entry = waiting[key][0] if key in waiting else None
    return position, (entry.batch_index(message) or 0) if entry else 0


def _about(at: tuple[str, str, str], client: str, entry: Entry, message: Message) -> dict:
    return {
        "cluster": at[0],
        "topic": at[1],
        "subscription": at[2],
        "client": client,
        "producer": message[0],
        "sequence_id": message[1],
        "ledger": entry.position[0],
        "entry": entry.position[1],
        "batch_index": entry.batch_index(message),
    }


def _subscription_of(run: Run, consumer: str) -> str:
    spec = run.scenario.consumers.get(consumer)
    if spec is None:
        raise RecordingError(
            f"{consumer} consumed, but the scenario has no such consumer; it has "
            f"{', '.join(run.scenario.consumers)}"
        )
    return spec.subscription


def _topic_of(run: Run, event: Event) -> str:
    """The partition of a client's event: the one it names, else the one whose log has that position."""
    named = event.get("topic")
    if (event["cluster"], named) in run.logs:
        return named
    base = named or run.scenario.subscriptions[_subscription_of(run, event["consumer"])].topic
    position = event["ledger"], event["entry"]
    for (cluster, topic), log in run.logs.items():
        if cluster == event["cluster"] and base_of(topic, run.scenario) == base:
            if position in log.by_position:
                return topic
    raise RecordingError(
        f"{event['e']} of {event['producer']}/{event['sequence']} to {event['consumer']} names "
        f"{position[0]}:{position[1]} of {base} in {event['cluster']}, which no dump has; dump the logs "
        "after the last event of the run"
    )


def add_registrations(run: Run) -> None:
    """Acks that reached a broker: one row for each message of the entries that they cover."""
    taken: dict[int, None] = {}
    for event in run.recording.of("ack"):
        at = event["cluster"], event["topic"], event["subscription"]
        log = run.log(*at[:2])
        entry = log.at(event["ledger"], event["entry"], f"an ack of {event['subscription']}")
        if event.get("type") == "cumulative":
            known = {one.position for one, _ in run.registered.get(at, [])}
            entries = [
                one
                for one in log.entries[: log.index[entry.position] + 1]
                if one.marker is None and one.position not in known and _acked(run, at, one, event["t"])
            ]
        else:
            entries = [entry]
        for one in entries:
            for message in one.messages:
                cause = run.acknowledged.latest((at, one.position, message), event["t"])
                if event.get("part_of_batch") and (cause is None or id(cause) in taken):
                    continue
                taken[id(cause)] = None
                client = event["consumer"] if cause is None else cause.fields["client"]
                row = run.draft.add(
                    "message.registered", event["t"], cause, polled=True, **_about(at, client, one, message)
                )
                run.registered.setdefault(at, []).append((one, row))


def _acked(run: Run, at: tuple[str, str, str], entry: Entry, t: int) -> bool:
    return any(
        run.acknowledged.latest((at, entry.position, message), t) is not None for message in entry.messages
    )
