"""The policies, topics and migration steps of a run as a page shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from simulator.protocols.pulsar import lookup as service
from simulator.protocols.pulsar.creation import policies, schemas
from simulator.protocols.pulsar.events import CODE
from simulator.protocols.pulsar.migration import readiness
from simulator.protocols.pulsar.migration.run import ENDED, RUNNING, UNDOING
from simulator.protocols.pulsar.summary_sections import figures, together
from simulator.trace.registry import NULL

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.cluster import Cluster
    from simulator.protocols.pulsar.migration.migration import Migration
    from simulator.protocols.pulsar.pulsar import Pulsar
    from simulator.protocols.pulsar.replication.replicator import Replicator
    from simulator.world import World


# --- the page's view of tenants: the LookupService with its map, and every migration with its steps
#
# It includes a migration's pending conditions, the cost of a switch now, and the cluster of every tenant's
# clients. Reads, never writes (docs/http-api.md).


CLIENTS_MAX = 200
"""Names of clients in a frame, per cluster."""


def lookup_view(world: World) -> dict[str, Any]:
    """The LookupService now, and by tenant the clusters to which its clients are connected."""
    lookup = world.runtime.lookup
    clients = {tenant: _clients(world.runtime, tenant) for tenant in lookup.tenants}
    return {
        "up": lookup.up,
        "tenants": dict(lookup.tenants),
        "answered": dict(lookup.answered),
        "failed": lookup.failed,
        "clients": clients,
    }


def migrations_view(world: World) -> list[dict[str, Any]]:
    """Every migration in the order of their start; one that has ended has only its result."""
    return [_migration(world, migration) for migration in world.runtime.migrations]


def _migration(world: World, migration: Migration) -> dict[str, Any]:
    run, ended = migration.run, migration.run.state in ENDED
    return {
        "tenant": run.tenant,
        "from": run.source,
        "to": run.target,
        "strategy": run.strategy,
        "through": run.through,
        "state": run.state,
        "at": run.step.name,
        "steps": [
            {
                "name": step.name,
                "state": step.state,
                "attempts": step.attempts,
                "started_us": step.started_us,
                "finished_us": step.finished_us,
                "error": step.error,
                "progress": None if ended else _progress(migration, step.name),
            }
            for step in run.steps
        ],
        "waits_for": []
        if ended or run.step.state in (RUNNING, UNDOING)
        else [condition._asdict() for condition in migration.conditions()],
        "switched_at_us": run.switched_at_us,
        "way_back": migration.way_back,
        "cost": None if ended or run.switched_at_us is not None else _cost(world, migration),
    }


def _progress(migration: Migration, step: str) -> dict[str, Any]:
    return migration.works.of(step).progress()._asdict()


def _cost(world: World, migration: Migration) -> dict[str, Any]:
    """The cost of a switch now: forecasts from the world, which caches them until it changes."""
    return readiness.cost_now(migration, world.forecast)


def _clients(runtime: Pulsar, tenant: str) -> dict[str, Any]:
    """By cluster the connected clients, and running clients that are not connected.

    The latter are looking up or in backoff, with their number of failed requests.
    """
    bases = service.bases_of(runtime, tenant)
    connected = {cluster: service.clients_in(runtime, bases, cluster) for cluster in runtime.clusters}
    nowhere = [
        name
        for name in service.followers(runtime, bases)
        if not any(name in names for names in connected.values())
    ]
    return {
        "connected": {cluster: names[:CLIENTS_MAX] for cluster, names in connected.items() if names},
        "nowhere": {name: service.failed_requests(runtime, name) for name in nowhere[:CLIENTS_MAX]},
    }


# --- the page's view of topic creation: namespaces, policies and topics, and every replicator's start
#
# Rules: reads, never writes. Lists are bounded, and texts of policies are Pulsar's names and words. The
# curve of waiting messages is read from the rows, so it is available at every instant of the run.


POINTS_MAX = 240
"""Points of the curve: one for three or four pixels of a wide page."""
STARTS_MAX = 500
"""Refusals shown one by one, the newest: six hours of them."""
CURVE_ROWS_MAX = 1_000_000
"""Above this many rows the curve of waiting messages is omitted: reading them would take too long."""


def look(run: World) -> dict[str, Any]:
    """The state now: {at_us, rule, clusters: {C: {state, namespaces, topics}}, replicators: […]}."""
    runtime = run.runtime
    return {
        "at_us": runtime.now_us,
        "branch": run.branch,
        "rule": runtime.option("replicationTopicCreation"),
        "clusters": {name: _cluster(runtime.clusters[name]) for name in runtime.cluster_names},
        "replicators": _replicators(runtime),
    }


def _cluster(cluster: Cluster) -> dict[str, Any]:
    runtime = cluster.runtime
    namespaces = {
        name: _namespace(cluster, name)
        for at, name in sorted(runtime.policies.namespaces)
        if at == cluster.name
    }
    return {
        "state": cluster.state,
        "namespaces": namespaces,
        "topics": {base: _topic(cluster, base) for base in sorted(runtime.scenario.topics)},
    }


def _namespace(cluster: Cluster, name: str) -> dict[str, str]:
    """Policies in force under Pulsar's names, the broker's settings included."""
    found = policies.existing(cluster.runtime, cluster.name, name)
    allowed, kind, partitions = policies.auto_creation(cluster, name)
    created = f"partitioned, with {partitions}" if kind == "partitioned" else kind
    register = policies.in_force(
        cluster, found, "is_allow_auto_update_schema", "isAllowAutoUpdateSchemaEnabled"
    )
    shown = {
        "replicationClusters": policies.words(policies.namespace_list(cluster.runtime, cluster.name, name)),
        "autoTopicCreation": created if allowed else "not allowed",
        "schemaCompatibilityStrategy": policies.in_force(
            cluster, found, "schema_compatibility_strategy", "schemaCompatibilityStrategy"
        ),
        "autoUpdateSchema": "clients and replicators"
        if register
        else "replicators only"
        if found["is_allow_auto_update_schema_with_replicator"]
        else "nobody",
    }
    if found["allowed_clusters"]:
        shown["allowedClusters"] = policies.words(found["allowed_clusters"])
    if found["change_events_partitions"] is not None:
        shown["__change_events"] = (
            f"{found['change_events_partitions']} partitions"
            if found["change_events_partitions"]
            else "plain"
        )
    return shown


def _topic(cluster: Cluster, base: str) -> dict[str, Any]:
    """One topic. `partitions` null: it does not exist in the cluster.

    `logs_only`: logs that are named like partitions, without the topic.
    """
    runtime, shape = cluster.runtime, cluster.shape(base)
    own = runtime.policies.own_list(cluster.name, base)
    stray = [] if shape else sorted(topic.name for topic in cluster.logs_of(base) if topic.partition >= 0)
    return {
        "namespace": runtime.scenario.topics[base].namespace,
        "partitions": shape,
        "logs_only": stray,
        "schemas": [schema.name for schema in schemas.versions(cluster, base)] if shape is not None else [],
        "list": list(policies.replication_list(runtime, cluster.name, base)),
        "list_of": "namespace" if own is None else "topic",
    }


def _replicators(runtime: Pulsar) -> list[dict[str, Any]]:
    found: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for name in runtime.cluster_names:
        for topic in runtime.clusters[name].topics.values():
            for peer, replicator in topic.replicators.items():
                found.setdefault((name, peer, topic.base), []).append(_replicator(replicator))
    return [
        {
            "from": key[0],
            "to": key[1],
            "topic": key[2],
            **together(parts),
            "next_try_us": _soonest(parts),
            "not_running": parts[0]["not_running"],
            "parts": parts,
        }
        for key, parts in sorted(found.items())
    ]


def _replicator(replicator: Replicator) -> dict[str, Any]:
    return {
        "name": replicator.topic.name,
        **figures(replicator),
        "next_try_us": replicator.next_try_us
        if replicator.state == "disconnected" and replicator.topic.loaded
        else None,
        "not_running": _not_running(replicator),
    }


def _not_running(replicator: Replicator) -> str | None:
    """Why no broker runs the replicator now, None while one does."""
    if replicator.topic.loaded:
        return None
    cluster = replicator.runtime.clusters[replicator.topic.cluster.name]
    return {"lost": f"{cluster.name} is lost for good", "down": f"{cluster.name} is down"}.get(
        cluster.state, f"the topic is not loaded in {cluster.name}"
    )


def _soonest(parts: list[dict[str, Any]]) -> int | None:
    return min((part["next_try_us"] for part in parts if part["next_try_us"] is not None), default=None)


def starts(run: World, source: str, target: str, topic: str) -> dict[str, Any]:
    """The starts of one topic's replicators source -> target so far.

    Returns {"refused": {"at_us", "log", "why"}, "curve": {"at_us", "waiting", "delay_us"} or null}. Each
    refusal is listed, and waiting messages over time. Waiting are messages of the source that were stored
    there since the cursor opened and are not stored at the target. delay_us is the age of the oldest pending
    send, of which replicationDelayInSeconds is the whole seconds.
    """
    return {"refused": _refused(run, source, target, topic), "curve": _curve(run, source, target, topic)}


def _refused(run: World, source: str, target: str, base: str) -> dict[str, list]:
    rows = [
        run.trace.row(seq)
        for seq in run.trace.seqs(0, run.seq, types=("replicator.start-refused", "replicator.stopped"))
    ]
    mine = [
        row
        for row in rows
        if row["cluster"] == source and row["peer"] == target and _base(row["topic"], base)
    ][-STARTS_MAX:]
    return {
        "at_us": [row["at_us"] for row in mine],
        "log": [row["topic"] for row in mine],
        "why": [row["detail"] for row in mine],
    }


def _base(name: str, base: str) -> bool:
    return name == base or name.startswith(f"{base}-partition-") and name.rpartition("-")[2].isdigit()


def _curve(run: World, source: str, target: str, base: str) -> dict[str, list[int]] | None:
    if run.seq > CURVE_ROWS_MAX:
        return None
    trace = run.trace
    columns = trace.columns(0, run.seq, names=("type", "at_us", "cluster", "peer", "topic", "duration_us"))
    logs = [number for number, name in enumerate(trace.names) if _base(name, base)]
    mine = np.flatnonzero(np.isin(columns["topic"], logs))
    rows = {name: column[mine] for name, column in columns.items()}
    rows["seq"] = mine
    here, there = trace.number(source), trace.number(target)
    if here is None or there is None:
        return None
    points = np.unique(np.linspace(0, run.now_us, POINTS_MAX, dtype=np.int64))
    delays = [_delay(_of_log(rows, log), here, there, run.now_us, points) for log in logs]
    return {
        "at_us": points.tolist(),
        "waiting": _waiting(rows, here, there, points).tolist(),
        "delay_us": np.max([np.zeros_like(points), *delays], axis=0).tolist(),
    }


def _of_log(rows: dict[str, np.ndarray], log: int) -> dict[str, np.ndarray]:
    chosen = rows["topic"] == log
    return {name: column[chosen] for name, column in rows.items()}


def _at(rows: dict[str, np.ndarray], event: str, cluster: int, peer: int) -> np.ndarray:
    """Instants of an event between two clusters."""
    return rows["at_us"][
        (rows["type"] == CODE[event]) & (rows["cluster"] == cluster) & (rows["peer"] == peer)
    ]


def _waiting(rows: dict[str, np.ndarray], here: int, there: int, points: np.ndarray) -> np.ndarray:
    opened = np.flatnonzero(
        (rows["type"] == CODE["replicator.created"]) & (rows["cluster"] == here) & (rows["peer"] == there)
    )
    if not len(opened):
        return np.zeros_like(points)
    since = {name: column[int(opened[0]) :] for name, column in rows.items()}
    published, arrived = _at(since, "message.stored", here, NULL), _at(since, "message.stored", there, here)
    return np.maximum(
        np.searchsorted(published, points, side="right") - np.searchsorted(arrived, points, side="right"), 0
    )


def _delay(rows: dict[str, np.ndarray], here: int, there: int, now_us: int, points: np.ndarray) -> np.ndarray:
    """Age of one log's oldest pending send.

    Order is kept on a connection, so its n-th message sent is the n-th to arrive. Messages that have not
    arrived when it breaks are no longer pending, nor is a message that its schema delayed until then.
    """
    breaks = np.sort(
        np.concatenate(
            (
                _at(rows, "replicator.disconnected", here, there),
                _at(rows, "replicator.removed", here, there),
                [now_us + 1],
            )
        )
    )
    sent = _at(rows, "message.replicated", here, there)
    arrived = np.sort(
        np.concatenate(
            (_at(rows, "message.stored", there, here), _at(rows, "message.deduplicated", there, here))
        )
    )
    held = (rows["type"] == CODE["replicator.stopped"]) & (rows["cluster"] == here) & (rows["peer"] == there)
    stops = rows["at_us"][held] - rows["duration_us"][held]
    starts, ends, begun = [], [], 0
    for broken in breaks.tolist():
        mine = sent[(sent >= begun) & (sent < broken)]
        came = arrived[(arrived >= begun) & (arrived <= broken)][: len(mine)]
        last = stops[(stops >= begun) & (stops < broken)]
        starts.append(np.concatenate((mine, last)))
        ends.append(np.concatenate((came, np.full(len(mine) - len(came) + len(last), broken))))
        begun = broken
    start, end = np.concatenate(starts), np.concatenate(ends)
    oldest = np.searchsorted(end, points, side="right")
    on_wire = oldest < len(start)
    age = np.zeros_like(points)
    age[on_wire] = points[on_wire] - start[oldest[on_wire]]
    return np.maximum(age, 0)
