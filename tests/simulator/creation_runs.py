"""Two clusters r1 and r2, 10 ms apart, with a namespace.

The starting point of the tests of topic creation.
"""

from __future__ import annotations

from tests.simulator.engine_runs import open_world

NAMESPACE = "shop/orders"
V1 = "{type: AVRO, definition: {type: record, name: Order, fields: [{name: id, type: long}]}}"
V2 = (
    "{type: AVRO, definition: {type: record, name: Order, fields: [{name: id, type: long}, {name: note, "
    "type: string, default: ''}]}}"
)
V3 = "{type: AVRO, definition: {type: record, name: Order, fields: [{name: number, type: long}]}}"
SCHEMAS = f"schemas: {{v1: {V1}, v2: {V2}, v3: {V3}, text: {{type: STRING}}, flag: {{type: BOOLEAN}}}}\n"


def body(
    exists="{r1: 0, r2: 0}",
    policies="",
    overrides="",
    settings="",
    options="",
    clients="",
    more="",
    clusters="r1: {}, r2: {}",
    topic_more="",
    replicated=True,
    schemas="",
):
    """One topic t of shop/orders; `replicated`: r1 replicates to r2, r2 replicates nowhere."""
    names = [name.split(":")[0].strip() for name in clusters.replace("{}", "").split(",")]
    one_way = "replicationClusters: [r1, r2], " if replicated else ""
    there = f"r2: {{replicationClusters: [r2], {overrides}}}" if replicated else f"r2: {{{overrides}}}"
    return (
        f"clusters: {{{clusters}}}\nlinks: {{default: {{latency: 10ms}}}}\nsettings: "
        f"{{{settings}}}\noptions: {{{options}}}\n"
        f"namespaces: {{{NAMESPACE}: {{{one_way}{policies} overrides: {{{there}}}}}}}\n{schemas}"
        f"topics: {{t: {{clusters: [{', '.join(names)}], namespace: {NAMESPACE}, exists: "
        f"{exists}{topic_more}}}}}\n{clients}\n{more}"
    )


def opened(until="60s", **given):
    return open_world(body(**given), until=until, family="topic-creation")


def replicator(world, source="r1", target="r2", name="t"):
    """The summary's figures of a replicator."""
    return world.summary()["replicators"][source][target][name]


def shape(world, cluster, name="t"):
    """Partitions of a topic in a cluster, None without it."""
    found = world.summary()["topics"][cluster].get(name)
    return None if found is None else found["partitions"]


def schemas(world, cluster, name="t"):
    """Names of its schemas, oldest first."""
    return [one["schema"] for one in world.summary()["topics"][cluster][name]["schemas"]]


def refused(world, do, **arguments):
    """Code and error text of a command that must be refused."""
    result = world.apply({"do": do, **{key.rstrip("_"): value for key, value in arguments.items()}})
    assert not result.ok and result.hint, (do, result)
    return result.code, result.error
