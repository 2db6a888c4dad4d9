"""Small random scenarios of topic creation.

Namespaces with differing policies, topics in some clusters, admin commands and faults during traffic.

What is drawn is a scenario file (as a dict; JSON is YAML), so a failing example prints as a file that can be
run.
"""

from hypothesis import strategies as st

END_MS, FROM_MS, TO_MS = 9_000, 100, 6_000
TOPICS, NAMESPACE, SUBSCRIPTION = ("orders", "refunds"), "shop/orders", "billing"
STRATEGIES = ["FULL", "BACKWARD", "FORWARD", "FULL_TRANSITIVE", "ALWAYS_COMPATIBLE", "ALWAYS_INCOMPATIBLE"]
SCHEMAS = {
    "v1": {
        "type": "AVRO",
        "definition": {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]},
    },
    "v2": {
        "type": "AVRO",
        "definition": {
            "type": "record",
            "name": "Order",
            "fields": [{"name": "id", "type": "long"}, {"name": "note", "type": "string", "default": ""}],
        },
    },
    "v3": {
        "type": "AVRO",
        "definition": {"type": "record", "name": "Order", "fields": [{"name": "number", "type": "long"}]},
    },
    "text": {"type": "STRING"},
}


def milliseconds(value):
    return f"{value}ms"


def shape():
    return st.sampled_from([0, 0, 1, 2, 3])


@st.composite
def policies(draw, clusters):
    chosen = {}
    if draw(st.booleans()):
        kind = draw(st.sampled_from(["partitioned", "non-partitioned"]))
        chosen |= {"allowAutoTopicCreation": draw(st.booleans()), "allowAutoTopicCreationType": kind}
        chosen["defaultNumPartitions"] = draw(st.integers(1, 3)) if kind == "partitioned" else 0
    if draw(st.booleans()):
        chosen["replicationClusters"] = draw(
            st.lists(st.sampled_from(clusters), min_size=1, max_size=3, unique=True)
        )
    if draw(st.booleans()):
        chosen |= {
            "schemaCompatibilityStrategy": draw(st.sampled_from(STRATEGIES)),
            "isAllowAutoUpdateSchema": draw(st.booleans()),
        }
        chosen["isAllowAutoUpdateSchemaWithReplicator"] = draw(st.booleans())
    return chosen


@st.composite
def creation_scenarios(draw):
    """A scenario file as a dict."""
    clusters = ["a", "b", "c"][: draw(st.integers(2, 3))]
    cluster = st.sampled_from(clusters)
    topics = {}
    for name in TOPICS:
        exists = {where: draw(shape()) for where in clusters if draw(st.booleans())}
        topics[name] = {
            "clusters": clusters,
            "namespace": draw(st.sampled_from([NAMESPACE, "public/default"])),
            "exists": exists,
        }
        if draw(st.integers(0, 4)) == 0:
            topics[name]["replication"] = ["a -> b"]
    schema = st.sampled_from([None, "v1", "v2", "v3", "text"])
    scenario = {
        "format": 1,
        "name": "creation-swarm",
        "title": "Swarm",
        "family": "topic-creation",
        "seed": draw(st.integers(0, 1000)),
        "until": milliseconds(END_MS),
        "settings": {
            "createTopicToRemoteClusterForReplication": draw(st.booleans()),
            "allowAutoTopicCreation": draw(st.booleans()),
            "managedLedgerMaxEntriesPerLedger": draw(st.sampled_from([7, 50000])),
            "managedLedgerMinLedgerRolloverTimeMinutes": 0,
            "replicationStartAt": draw(st.sampled_from(["earliest", "latest"])),
        },
        "options": {
            "replicationTopicCreation": draw(st.sampled_from(["before", "proposal", "implemented"])),
            "topicConsistencyCheck": draw(st.booleans()),
        },
        "clusters": {name: {} for name in clusters},
        "links": {"default": {"latency": draw(st.sampled_from(["1ms", "40ms"]))}},
        "namespaces": {
            NAMESPACE: {**draw(policies(clusters)), "overrides": {draw(cluster): draw(policies(clusters))}}
        },
        "schemas": SCHEMAS,
        "topics": topics,
        "producers": {},
        "consumers": {},
        "subscriptions": {SUBSCRIPTION: {"topic": "orders", "type": "Shared", "initialPosition": "Earliest"}},
    }
    for number in range(draw(st.integers(1, 3))):
        one = {
            "topic": draw(st.sampled_from(TOPICS)),
            "cluster": draw(cluster),
            "start": milliseconds(draw(st.integers(0, 2000))),
            "every": "90ms",
            "sendTimeout": "2s",
        }
        chosen = draw(schema)
        scenario["producers"][f"p{number}"] = (
            one | ({"schema": chosen} if chosen else {}) | ({"batch": 3} if draw(st.booleans()) else {})
        )
    for number in range(draw(st.integers(0, 2))):
        one = {
            "subscription": SUBSCRIPTION,
            "cluster": draw(cluster),
            "start": milliseconds(draw(st.integers(0, 3000))),
        }
        chosen = draw(schema)
        scenario["consumers"][f"c{number}"] = one | ({"schema": chosen} if chosen else {})
    scenario["commands"] = draw(commands(clusters, sorted(scenario["producers"])))
    return scenario


@st.composite
def commands(draw, clusters, producers):
    """Commands at random instants.

    A command that does not apply at its time is refused by the run, which is allowed.
    """
    cluster, topic = st.sampled_from(clusters), st.sampled_from(TOPICS)
    namespace = st.sampled_from([NAMESPACE, "public/default", "no/where"])
    listed = st.lists(st.sampled_from([*clusters, "nowhere"]), max_size=3, unique=True)
    schema = st.sampled_from(sorted(SCHEMAS))

    def command(do, **arguments):
        return st.fixed_dictionaries({"do": st.just(do), **arguments})

    link = st.sampled_from([f"{one} -> {other}" for one in clusters for other in clusters if one != other])
    possible = [
        command("namespace.create", cluster=cluster, namespace=namespace),
        command(
            "namespace.set-clusters",
            cluster=cluster,
            namespace=namespace,
            clusters=listed,
            compareTopicPartitions=st.booleans(),
        ),
        command(
            "namespace.set-auto-topic-creation",
            cluster=cluster,
            namespace=namespace,
            allowAutoTopicCreation=st.booleans(),
            defaultNumPartitions=st.integers(0, 3),
        ),
        command("namespace.remove-auto-topic-creation", cluster=cluster, namespace=namespace),
        command(
            "namespace.set-schema-compatibility-strategy",
            cluster=cluster,
            namespace=namespace,
            strategy=st.sampled_from(STRATEGIES),
        ),
        command(
            "namespace.set-is-allow-auto-update-schema",
            cluster=cluster,
            namespace=namespace,
            enabled=st.booleans(),
            enableForReplicator=st.booleans(),
        ),
        command(
            "topic.create",
            cluster=cluster,
            topic=topic,
            partitions=shape(),
            createLocalTopicOnly=st.booleans(),
        ),
        command("topic.delete", cluster=cluster, topic=topic, force=st.booleans()),
        command("topic.update-partitions", cluster=cluster, topic=topic, partitions=st.integers(1, 4)),
        command(
            "topic.set-replication-clusters",
            cluster=cluster,
            topic=topic,
            clusters=listed,
            **{"global": st.booleans()},
        ),
        command(
            "topic.remove-replication-clusters", cluster=cluster, topic=topic, **{"global": st.booleans()}
        ),
        command("topic.unload", cluster=cluster, topic=topic),
        command("schema.upload", cluster=cluster, topic=topic, schema=schema),
        command("schema.delete", cluster=cluster, topic=topic),
        command("producer.use-schema", producer=st.sampled_from(producers), schema=schema),
        command("cluster.crash", cluster=cluster),
        command("cluster.restart", cluster=cluster),
        command("link.cut", link=link),
        command("link.heal", link=link),
        command("replication.remove-cluster", topic=topic, cluster=cluster),
        command("replication.add-cluster", topic=topic, cluster=cluster),
        command(
            "subscription.fail-over",
            subscription=st.just(SUBSCRIPTION),
            **{"from": st.just("a")},
            to=st.just("b"),
            mode=st.sampled_from(["crash", "planned"]),
        ),
    ]
    drawn = draw(st.lists(st.tuples(st.integers(FROM_MS, TO_MS), st.one_of(possible)), max_size=10))
    return [{"at": milliseconds(at)} | chosen for at, chosen in sorted(drawn, key=lambda one: one[0])]
