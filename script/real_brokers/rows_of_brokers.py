"""Rows of commands, clusters, topics, ledgers, links and replicators.

Rules: a command took effect at the instant that the driver noted, also a crash and a restart: the kill of the
process, and when it was ready. A failover of mode auto is noted again when it moves the consumers. Topics are
loaded before the run begins. An unloaded topic was away from the command until its broker next sent an event.
A ledger without an earlier load was opened by its first entry. The reason of a broken replicator's connection
is the fault that was in force.
"""

from __future__ import annotations

import json
from typing import Any

from script.real_brokers.converting import BEFORE_NS, Run
from script.real_brokers.recording import PARTITION, Entry, Event, Log, Message, RecordingError, Row, base_of
from simulator.scenarios.names import parse_link

_FROM_BROKERS = ("controller", "cursor", "replicator", "dispatched", "ack", "consumer", "cache")


def add_brokers(run: Run) -> None:
    """The state at the start, the commands, and what they did to clusters, links and topics."""
    started = run.draft.add("run.started", BEFORE_NS, detail=run.scenario.name)
    for (cluster, topic), log in run.logs.items():
        row = run.draft.add("topic.loaded", BEFORE_NS + 1, started, cluster=cluster, topic=topic)
        run.states.add((cluster, topic), row)
        _begin(run, log, row)
    _commands(run)
    _outages(run)
    for log in run.logs.values():
        _ledgers(run, log)
        _replicators(run, log)


def _begin(run: Run, log: Log, loaded: Row) -> None:
    first = run.first_position(log.cluster, log.topic)
    place = {"cluster": log.cluster, "topic": log.topic}
    if first is not None:
        run.draft.add("ledger.opened", BEFORE_NS + 1, loaded, **place, ledger=first[0])
    for peer in run.peers(log.cluster, log.topic):
        ledger, entry = first or (None, None)
        run.draft.add(
            "replicator.created", BEFORE_NS + 1, loaded, **place, peer=peer, ledger=ledger, entry=entry
        )


# --- commands


def _commands(run: Run) -> None:
    planned: dict[str, list[Any]] = {}
    for command in run.scenario.commands:
        planned.setdefault(command.do, []).append(command)
    for event in run.recording.of("command"):
        do, arguments = event["do"], event.get("arguments") or {}
        if not event.get("ok", True):
            run.draft.add("command.refused", event["t"], reason=do, detail=event.get("error"))
            continue
        same = planned.get(do, [])
        if same:
            same.pop(0)
        elif do == "subscription.fail-over" and arguments["mode"] == "auto":
            begun = next(row for given, row in reversed(run.commands) if given.get("mode") == "auto")
            run.commands.append((arguments, begun))
            _fail_over(run, arguments, begun, event["t"])
            continue
        detail = json.dumps(arguments, sort_keys=True, ensure_ascii=False)
        row = run.draft.add("command.applied", event["t"], reason=do, detail=detail)
        run.commands.append((arguments, row))
        effect = _EFFECTS.get(do)
        if effect is not None and arguments.get("mode") != "auto":
            effect(run, arguments, row)


def _fail_over(run: Run, arguments: dict[str, Any], row: Row, t: int | None = None) -> None:
    run.draft.add(
        "failover.started",
        row.t if t is None else t,
        row,
        cluster=arguments["from"],
        peer=arguments["to"],
        subscription=arguments["subscription"],
        reason=arguments["mode"],
    )


def _link(type_: str) -> Any:
    def effect(run: Run, arguments: dict[str, Any], row: Row) -> None:
        more = {"duration_us": arguments.get("latency_us")} if type_ == "link.slowed" else {}
        for source, target in parse_link(arguments["link"]):
            changed = run.draft.add(type_, row.t, row, cluster=source, peer=target, **more)
            run.states.add(("link", source, target), changed)

    return effect


def _setting(run: Run, arguments: dict[str, Any], row: Row) -> None:
    names = [arguments["cluster"]] if arguments.get("cluster") else sorted(run.scenario.clusters)
    for name in names:
        run.draft.add(
            "setting.changed",
            row.t,
            row,
            cluster=name,
            reason=arguments["setting"],
            detail=str(arguments["value"]),
        )


def _switched(run: Run, arguments: dict[str, Any], row: Row) -> None:
    base = run.scenario.subscriptions[arguments["subscription"]].topic
    for cluster, topic in run.logs:
        if topic.partition(PARTITION)[0] == base and arguments.get("cluster") in (None, cluster):
            run.draft.add(
                "subscription.replication-switched",
                row.t,
                row,
                cluster=cluster,
                topic=topic,
                subscription=arguments["subscription"],
                count=int(arguments.get("enabled", arguments.get("on", True))),
            )


_EFFECTS = {
    "subscription.fail-over": _fail_over,
    "subscription.replicate": _switched,
    "link.cut": _link("link.cut"),
    "link.partition": _link("link.cut"),
    "link.heal": _link("link.healed"),
    "link.slow": _link("link.slowed"),
    "setting.change": _setting,
}


# --- outages


def _outages(run: Run) -> None:
    """Crashes and restarts of clusters, and unloads of topics."""
    down: dict[str, tuple[int, Row]] = {}
    for arguments, command in list(run.commands):
        do, cluster = command.fields["reason"], arguments.get("cluster")
        if do in ("cluster.crash", "cluster.lose"):
            if cluster in down:
                raise RecordingError(
                    f"{cluster} was killed twice without a restart between; the recording lacks the command "
                    "cluster.restart"
                )
            t = command.t
            type_ = "cluster.crashed" if do == "cluster.crash" else "cluster.lost"
            row = run.draft.add(type_, t, command, cluster=cluster)
            down[cluster] = t, row
            run.crashed.add(cluster, row)
        elif do == "cluster.restart":
            if cluster not in down:
                raise RecordingError(
                    f"{cluster} was restarted but never killed; the recording lacks its crash"
                )
            t = command.t
            row = run.draft.add("cluster.restarted", t, command, cluster=cluster)
            since, crashed = down.pop(cluster)
            for place in [place for place in run.logs if place[0] == cluster]:
                _away(run, place, since, t, crashed, "crash", row)
        elif do == "topic.unload":
            for place in _unloaded(run, arguments):
                since, back = _unload_of(run, place, command.t)
                _away(run, place, since, back, command, "unload", command)
    for cluster, (since, crashed) in down.items():
        for place in [place for place in run.logs if place[0] == cluster]:
            _away(run, place, since, None, crashed, "crash", None)


def _unloaded(run: Run, arguments: dict[str, Any]) -> list[tuple[str, str]]:
    name, cluster = arguments["topic"], arguments.get("cluster")
    return [
        place
        for place in run.logs
        if name in (place[1], place[1].partition(PARTITION)[0]) and cluster in (None, place[0])
    ]


def _unload_of(run: Run, place: tuple[str, str], since: int) -> tuple[int, int]:
    """When a topic left its broker, and when a broker served it again.

    It left with the first event that something of it ended. It is served again with the first event or entry
    that needs it, after the last such end.
    """
    stopped = [
        event["t"]
        for event in run.recording.of("controller", "consumer", "replicator")
        if _is_of(event, place) and event["t"] > since and event.get("state") in _ENDED
    ]
    ended = [t for t in stopped if t <= stopped[0] + TOGETHER_NS]
    left, after = (ended[0], ended[-1]) if ended else (since, since)
    signs = [
        event["t"]
        for event in run.recording.of(*_FROM_BROKERS)
        if _is_of(event, place) and event["t"] > after and event.get("state") not in _ENDED
    ]
    signs += [entry.t for entry in run.logs[place].entries if entry.t > after]
    return left, min(signs, default=run.recording.until_ns)


TOGETHER_NS = 50_000_000
"""The connections of an unloaded topic end within this time. Clients wait longer before they return."""

_ENDED = ("stopped", "disconnected")


def _is_of(event: Event, place: tuple[str, str]) -> bool:
    return (event["cluster"], event.get("topic")) == place


def _away(
    run: Run,
    place: tuple[str, str],
    since: int,
    until: int | None,
    cause: Row,
    reason: str,
    back: Row | None,
) -> None:
    """The rows of a topic that is away from its broker, and loaded again if `back` caused that."""
    cluster, topic = place
    row = run.draft.add("topic.unloaded", since, cause, cluster=cluster, topic=topic, reason=reason)
    run.away.setdefault(place, []).append((since, run.recording.until_ns if until is None else until, row))
    if back is not None and until is not None:
        loaded = run.draft.add("topic.loaded", until, back, cluster=cluster, topic=topic)
        run.states.add(place, loaded)


def _ledgers(run: Run, log: Log) -> None:
    """Ledgers after the first: opened by the load before their first entry, else when that was stored."""
    place, ledgers = {"cluster": log.cluster, "topic": log.topic}, log.ledgers
    counts = {ledger: sum(entry.position[0] == ledger for entry in log.entries) for ledger in ledgers}
    for before, ledger in zip(ledgers, ledgers[1:], strict=False):
        first = next(entry for entry in log.entries if entry.position[0] == ledger)
        last = next(entry for entry in reversed(log.entries) if entry.position[0] == before)
        loaded = run.states.latest((log.cluster, log.topic), first.t)
        new = loaded is not None and loaded.t > last.t
        t = loaded.t if new and loaded is not None else first.t
        run.draft.add(
            "ledger.closed", t, loaded if new else None, **place, ledger=before, count=counts[before]
        )
        run.draft.add("ledger.opened", t, loaded if new else None, **place, ledger=ledger)


# --- replicators


def _replicators(run: Run, log: Log) -> None:
    connected: dict[str, bool] = {}
    for event in run.recording.of("replicator"):
        if not _is_of(event, (log.cluster, log.topic)):
            continue
        peer, started = event["peer"], event["state"].lower() in ("started", "connected")
        if started == connected.get(peer, False):
            continue
        connected[peer] = started
        link = {"cluster": log.cluster, "peer": peer, "topic": log.topic}
        if started:
            cause = run.states.latest((log.cluster, log.topic), event["t"])
            row = run.draft.add("replicator.started", event["t"], cause, polled=True, **link)
            run.states.add(("replicator", log.cluster, peer, log.topic), row)
        else:
            reason, cause = _why_broken(run, log.cluster, peer, log.topic, event["t"])
            run.draft.add("replicator.disconnected", event["t"], cause, **link, reason=reason)
    for peer in run.peers(log.cluster, log.topic):
        for since, _until, row in run.away.get((log.cluster, log.topic), []):
            if row.fields["reason"] == "crash" and connected.get(peer, True):
                link = {"cluster": log.cluster, "peer": peer, "topic": log.topic}
                run.draft.add("replicator.disconnected", since, row, **link, reason="crash")


def _why_broken(run: Run, cluster: str, peer: str, topic: str, t: int) -> tuple[str, Row | None]:
    """The fault in force when a replicator's connection broke."""
    for place, prefix in (((cluster, topic), ""), ((peer, topic), "remote-")):
        for since, until, row in reversed(run.away.get(place, [])):
            if since <= t <= until:
                return prefix + row.fields["reason"], row
    for link in ((cluster, peer), (peer, cluster)):
        row = run.states.latest(("link", *link), t)
        if row is not None and row.type == "link.cut":
            return "link-cut", row
    return "unknown", None


# --- rows of messages: published, stored, receipted, replicated, delivered, acknowledged, registered
#
# Rules: publishes, receipts, deliveries and acknowledgements are events of the clients, acks that reached a
# broker are events of the brokers, and stored entries are read from the logs. When a replicator sent an
# entry is inferred: the copy's instant less the nominal latency of the link, not before the entry was
# stored and not before the one that the link sent before it. An entry that is sent again was sent after a
# rewind.


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
