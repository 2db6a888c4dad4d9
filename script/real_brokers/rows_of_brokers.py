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
from script.real_brokers.draft import Row
from script.real_brokers.logs import Log
from script.real_brokers.recording import PARTITION, Event, RecordingError
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
