"""What the rig would have recorded of an engine's run: raw events and log dumps, and nothing else.

Rules: only what brokers and clients show is kept: names with the run's prefix, positions, the markers'
content, polled states (of several changes in one millisecond only the last), instants in nanoseconds. Causes,
snapshot and marker numbers, reasons and everything inferred are dropped. Within an instant of the engine the
nanoseconds keep the order of its rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from simulator import World
from simulator.protocols.pulsar.broker.session import Session
from simulator.protocols.pulsar.markers import entries

ZERO_NS = 5_000_000_000_123
PREFIX = "r001/"
SOURCE_POSITION = "__MSG_PROP_REPL_SOURCE_POSITION"

Line = dict[str, Any]

_TYPE_NAMES = {
    "snapshot_request": "REPLICATED_SUBSCRIPTION_SNAPSHOT_REQUEST",
    "snapshot_response": "REPLICATED_SUBSCRIPTION_SNAPSHOT_RESPONSE",
    "snapshot": "REPLICATED_SUBSCRIPTION_SNAPSHOT",
    "subscription_update": "REPLICATED_SUBSCRIPTION_UPDATE",
}


class EngineRun:
    """A finished run of the engine, and when each entry was dispatched."""

    def __init__(self, scenario: Any, monkeypatch: Any) -> None:
        self.dispatched: list[tuple[int, int, Line]] = []  # (rows before it, instant, event)
        pushed, run = Session.push, self

        def push(session: Session, index: int, *more: Any) -> int:
            subscription = session.subscription
            topic, runtime = subscription.topic, subscription.runtime
            ledger, entry = topic.log.position(index)
            event = {
                "e": "dispatched",
                "cluster": topic.cluster.name,
                "topic": real_topic(topic.name),
                "subscription": subscription.name,
                "consumer": PREFIX + session.consumer.name,
                "ledger": ledger,
                "entry": entry,
            }
            run.dispatched.append((runtime.seq, runtime.now_us, event))
            return pushed(session, index, *more)

        monkeypatch.setattr(Session, "push", push)
        self.world = World.from_scenario(scenario)
        self.world.run()
        self.rows = self.world.trace.rows()
        self._instants_ns = _instants_ns(self.rows)

    def t(self, row: Line) -> int:
        """The nanosecond of a row."""
        return self._instants_ns[row["seq"]]

    def lines(self, with_caches: bool = True, with_sources: bool = True) -> list[Line]:
        """The lines of the recording."""
        scenario = self.world.scenario
        meta = {
            "e": "meta",
            "pulsar": "4.2.4",
            "date": "2026-11-24",
            "zero_ns": ZERO_NS,
            "until_ns": ZERO_NS + scenario.until_us * 1000 + 999,
            "topics": {f"{name}-r001": name for name in scenario.topics},
            "prefix": PREFIX,
        }
        events = [*self._clients(), *self._brokers(), *self._dispatched()]
        events += _polled(self._cursors())
        events += _polled(self._caches()) if with_caches else []
        events.sort(key=lambda event: event["t"])
        return [meta, *events, *self.dumps(with_sources)]

    # --- clients and driver

    def _clients(self) -> Iterator[Line]:
        scenario = self.world.scenario
        for name, spec in scenario.producers.items():
            yield self._request(ZERO_NS - 10, "producer", name, spec.cluster, spec.topic)
        stored = {}
        for row in self.rows:
            kind = row["type"]
            if kind == "message.stored" and "peer" not in row:
                stored[row["cluster"], row["producer"], row["sequence_id"]] = row
            elif kind == "message.published":
                yield self._event(
                    row, "published", producer=PREFIX + row["producer"], sequence=row["sequence_id"]
                )
            elif kind == "message.receipted":
                entry = stored[row["cluster"], row["producer"], row["sequence_id"]]
                yield self._event(
                    row,
                    "receipted",
                    producer=PREFIX + row["producer"],
                    sequence=row["sequence_id"],
                    **_partition(row),
                    ledger=entry["ledger"],
                    entry=entry["entry"],
                )
            elif kind == "consumer.connected":
                base = scenario.subscriptions[row["subscription"]].topic
                yield self._request(
                    self.t(row) - 1, "consumer", row["client"], row["cluster"], base, row["subscription"]
                )
            elif kind == "message.delivered":
                yield self._about(row, "delivered", redelivery_count=row["count"])
            elif kind == "message.acknowledged" and not self._covered(row):
                yield self._about(row, "acknowledged", type=row["reason"])
            elif kind == "message.negatively-acknowledged":
                yield self._about(row, "negatively_acknowledged")
            elif kind == "command.applied":
                arguments = next(
                    spec.arguments
                    for spec in scenario.commands
                    if (spec.do, spec.at_us) == (row["reason"], row["at_us"])
                )
                yield self._event(row, "command", do=row["reason"], arguments=arguments, ok=True)
            elif kind == "client.changed" and row["reason"] == "running":
                topic = scenario.producers[row["client"]].topic
                yield self._request(self.t(row), "producer", row["client"], row["cluster"], topic)
            elif kind == "client.changed":
                state = {"closed": "stopped", "crash": "down"}.get(row["reason"], row["reason"])
                yield self._event(row, "client", name=PREFIX + row["client"], state=state)

    def _request(
        self, t: int, do: str, name: str, cluster: str | None, topic: str, subscription: str | None = None
    ) -> Line:
        more = {"subscription": subscription} if subscription else {}
        return {
            "e": "request",
            "t": t,
            "do": do,
            "cluster": cluster,
            "name": PREFIX + name,
            "topic": real_topic(topic),
            **more,
        }

    def _covered(self, row: Line) -> bool:
        """Whether a later row of the same call of ack covers it: a cumulative ack is one event."""
        following = self.rows[row["seq"] + 1] if row["seq"] + 1 < len(self.rows) else {}
        return row["reason"] == "cumulative" and all(
            following.get(name) == row[name] for name in ("type", "at_us", "client", "topic", "reason")
        )

    def _event(self, row: Line, kind: str, **fields: Any) -> Line:
        return {"e": kind, "t": self.t(row), **fields}

    def _about(self, row: Line, kind: str, **more: Any) -> Line:
        return self._event(
            row,
            kind,
            consumer=PREFIX + row["client"],
            producer=PREFIX + row["producer"],
            sequence=row["sequence_id"],
            ledger=row["ledger"],
            entry=row["entry"],
            **_partition(row),
            **more,
        )

    # --- brokers

    def _brokers(self) -> Iterator[Line]:
        acks: dict[tuple, Line] = {}
        cumulative = {
            name for name, spec in self.world.scenario.consumers.items() if spec.acknowledge == "cumulative"
        }
        for row in self.rows:
            kind, of = row["type"], {"cluster": row.get("cluster")}
            if "topic" in row:
                of["topic"] = real_topic(row["topic"])
            if kind in ("controller.started", "controller.stopped") and not self._died(row):
                yield self._event(row, "controller", **of, state=kind.partition(".")[2])
            elif kind in ("replicator.started", "replicator.disconnected") and not self._died(row):
                state = "connected" if kind == "replicator.started" else "disconnected"
                yield self._event(row, "replicator", **of, peer=row["peer"], state=state)
            elif kind in ("consumer.connected", "consumer.disconnected") and not self._died(row):
                more = {"subscription": row["subscription"], "consumer": PREFIX + row["client"]}
                yield self._event(row, "consumer", **of, **more, state=kind.partition(".")[2])
            elif kind == "message.registered":
                type_ = "cumulative" if row["client"] in cumulative else "individual"
                key = (row["at_us"], row["cluster"], row["topic"], row["subscription"], row["client"])
                key = key if type_ == "cumulative" else (*key, row["ledger"], row["entry"])
                more = {"subscription": row["subscription"], "consumer": PREFIX + row["client"]}
                place = {"ledger": row["ledger"], "entry": row["entry"], "type": type_}
                acks[key] = self._event(row, "ack", **of, **more, **place)
        yield from acks.values()

    def _died(self, row: Line) -> bool:
        """Whether the broker's process was gone: it could send no event."""
        return any(
            other["type"] == "cluster.crashed"
            and (other["cluster"], other["at_us"]) == (row["cluster"], row["at_us"])
            for other in self.rows
        )

    def _dispatched(self) -> Iterator[Line]:
        for seq, now_us, event in self.dispatched:
            before = self._instants_ns[seq - 1] if seq else 0
            yield {**event, "t": max(before, ZERO_NS + now_us * 1000)}

    def _cursors(self) -> Iterator[Line]:
        for row in self.rows:
            names = {"cursor.moved": ("to_ledger", "to_entry"), "cursor.recovered": ("ledger", "entry")}
            names["subscription.created"] = ("ledger", "entry")
            if row["type"] in names:
                ledger, entry = (row[name] for name in names[row["type"]])
                count = row.get("count", 0) if row["type"] == "cursor.recovered" else 0
                yield self._event(
                    row,
                    "cursor",
                    cluster=row["cluster"],
                    topic=real_topic(row["topic"]),
                    subscription=row["subscription"],
                    ledger=ledger,
                    entry=entry,
                    individually_deleted=count,
                )

    def _caches(self) -> Iterator[Line]:
        held: dict[tuple, dict[int, list[int]]] = {}
        for row in self.rows:
            if row["type"] in ("snapshot.cached", "snapshot.evicted", "snapshot.used"):
                at = row["cluster"], row["topic"], row["subscription"]
                cache = held.setdefault(at, {})
                if row["type"] == "snapshot.cached":
                    cache[row["snapshot"]] = [row["ledger"], row["entry"]]
                else:
                    cache.pop(row["snapshot"], None)
                yield self._event(
                    row,
                    "cache",
                    cluster=at[0],
                    topic=real_topic(at[1]),
                    subscription=at[2],
                    snapshots=sorted(cache.values()),
                )

    # --- logs

    def dumps(self, with_sources: bool) -> list[Line]:
        """The dump of every log."""
        logs: dict[tuple[str, str], dict[tuple[int, int], Line]] = {}
        for row in self.rows:
            if row["type"] == "topic.loaded":
                logs.setdefault((row["cluster"], row["topic"]), {})
            elif row["type"] in ("message.stored", "marker.written", "marker.stored"):
                log = logs[row["cluster"], row["topic"]]
                position = row["ledger"], row["entry"]
                if position in log:
                    log[position]["batch"] += 1
                else:
                    log[position] = self._entry(row, with_sources)
        return [
            {"e": "dump", "cluster": cluster, "topic": real_topic(topic), "entries": list(log.values())}
            for (cluster, topic), log in logs.items()
        ]

    def _entry(self, row: Line, with_sources: bool) -> Line:
        marker = row["type"] != "message.stored"
        copy = row["type"] != "marker.written" and "peer" in row
        sent = self.rows[row["cause_seq"]] if copy else {}
        source = {SOURCE_POSITION: f"{sent['ledger']}:{sent['entry']}"} if copy and with_sources else {}
        return {
            "ledger": row["ledger"],
            "entry": row["entry"],
            "stored_ns": self.t(row),
            "size_bytes": row["size_bytes"],
            "producer": entries.MARKER_PRODUCER if marker else PREFIX + row["producer"],
            "sequence": 0 if marker else row["sequence_id"],
            "batch": 1,
            "key": None,
            "replicated_from": row["peer"] if copy else None,
            "properties": source,
            "marker": self._marker(row["marker"]) if marker else None,
        }

    def _marker(self, number: int) -> Line:
        marker = self.world.runtime.markers[number - 1]
        content: Line = {"type": _TYPE_NAMES[marker.type]}
        places = [
            {"cluster": name, "ledger": ledger, "entry": entry} for name, ledger, entry in marker.clusters
        ]
        position = marker.position and {"ledger": marker.position[0], "entry": marker.position[1]}
        if marker.type == "snapshot_request":
            return {**content, "snapshot_id": marker.snapshot_id, "source_cluster": marker.cluster}
        if marker.type == "snapshot_response":
            return {
                **content,
                "snapshot_id": marker.snapshot_id,
                "cluster": {"cluster": marker.cluster, **position},
            }
        if marker.type == "snapshot":
            return {
                **content,
                "snapshot_id": marker.snapshot_id,
                "local_message_id": position,
                "clusters": places,
            }
        return {**content, "subscription_name": marker.subscription, "clusters": places}


def real_topic(name: str) -> str:
    """A topic's name on the brokers."""
    base, mark, partition = name.partition("-partition-")
    return f"persistent://lab/run/{base}-r001{mark}{partition}"


def _partition(row: Line) -> dict[str, int]:
    _, mark, partition = row["topic"].partition("-partition-")
    return {"partition": int(partition)} if mark else {}


def _instants_ns(rows: list[Line]) -> list[int]:
    """The nanosecond of each row: its instant, and its place among the rows of that instant."""
    counts: dict[int, int] = {}
    for row in rows:
        counts[row["at_us"]] = counts.get(row["at_us"], 0) + 1
    places: dict[int, int] = {}
    found = []
    for row in rows:
        place = places[row["at_us"]] = places.get(row["at_us"], -1) + 1
        found.append(ZERO_NS + row["at_us"] * 1000 + place * 999 // counts[row["at_us"]])
    return found


def _polled(events: Iterator[Line]) -> list[Line]:
    """Of the states of one thing within a microsecond the last one, which a poll sees."""
    kept: dict[tuple, Line] = {}
    for event in events:
        key = (event["cluster"], event["topic"], event["subscription"], (event["t"] - ZERO_NS) // 1000)
        kept[key] = event
    return list(kept.values())
