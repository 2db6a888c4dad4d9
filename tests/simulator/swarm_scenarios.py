"""Small random scenarios.

A few seconds of traffic with faults, then everything healed and time to catch up.

What is drawn is a scenario file (as a dict; JSON is YAML), so a failing example prints as a file that can be
run.
"""

import json

from hypothesis import strategies as st

FAULTS_FROM_MS, FAULTS_TO_MS = 300, 3_500
HEALED_MS, END_MS = 4_000, 16_000

TOPIC, SUBSCRIPTION = "orders", "billing"


def milliseconds(value):
    return f"{value}ms"


@st.composite
def scenarios(draw, safe=True):
    """A scenario file as a dict.

    `safe`: nothing in it may lose a message (no lost cluster, no list change, no reset).
    """
    clusters = ["a", "b", "c"][: draw(st.integers(2, 3))]
    partitions = draw(st.sampled_from([0, 0, 0, 2]))
    subscription_type = draw(st.sampled_from(["Exclusive", "Failover", "Shared", "Key_Shared"]))
    home = draw(st.sampled_from(clusters))
    sync = draw(st.sampled_from(["none", "none", "periodic"]))
    scenario = {
        "format": 1,
        "name": "swarm",
        "title": "Swarm",
        "family": "replicated-subscriptions" if sync == "none" else "tenant-migration",
        "seed": draw(st.integers(0, 1000)),
        "until": milliseconds(END_MS),
        "settings": draw(broker_settings()),
        "options": {
            "snapshotCacheRule": draw(st.sampled_from(["spread", "oldest-first"])),
            "lookupOnSnapshotArrival": draw(st.booleans()),
            "firstSnapshotTickFails": draw(st.sampled_from(["never", "drawn", "always"])),
        },
        "clusters": {name: {} for name in clusters},
        "links": draw(links(clusters)),
        "topics": {TOPIC: {"clusters": clusters, "partitions": partitions}},
        "producers": draw(producers(clusters)),
        "subscriptions": {
            SUBSCRIPTION: {
                "topic": TOPIC,
                "type": subscription_type,
                "replicateSubscriptionState": sync == "none",
                "acknowledgementSync": sync,
                "ackSyncPeriod": draw(st.sampled_from(["300ms", "1s"])),
                "initialPosition": draw(st.sampled_from(["Earliest", "Earliest", "Latest"])),
            }
        },
        "consumers": draw(consumers(home, subscription_type)),
    }
    scenario["brokers"] = draw(brokers(home))
    if scenario["brokers"] and draw(st.booleans()):
        scenario["audiences"] = {
            "audience": {
                "topic": TOPIC,
                "cluster": home,
                "subscriptions": draw(st.integers(1, 9)),
                "start": milliseconds(draw(st.sampled_from([0, 700]))),
                "initialPosition": draw(st.sampled_from(["Earliest", "Latest"])),
            }
        }
    scenario["commands"] = draw(faults(scenario, home, safe)) + healing(scenario, home)
    return scenario


def as_text(scenario):
    return json.dumps(scenario, indent=1)


@st.composite
def broker_settings(draw):
    values = {
        "replicatedSubscriptionsSnapshotFrequencyMillis": draw(st.sampled_from([100, 300, 1000])),
        "managedLedgerMaxEntriesPerLedger": draw(st.sampled_from([7, 40, 50000])),
        "managedLedgerMinLedgerRolloverTimeMinutes": 0,
        "retentionCheckIntervalInSeconds": draw(st.sampled_from([1, 120])),
        "managedLedgerDefaultMarkDeleteRateLimit": draw(st.sampled_from([0, 1])),
        "replicationProducerQueueSize": draw(st.sampled_from([100, 1000])),
        "brokerDeduplicationEnabled": draw(st.booleans()),
        "managedLedgerNewEntriesCheckDelayInMillis": draw(st.sampled_from([0, 0, 10])),
    }
    if draw(st.booleans()):
        values["replicatedSubscriptionsSnapshotMaxCachedPerSubscription"] = draw(st.sampled_from([3, 5]))
    return values


@st.composite
def links(draw, clusters):
    latency = st.one_of(
        st.integers(1, 120).map(milliseconds),
        st.just({"distribution": "lognormal", "median": "40ms", "sigma": 0.5}),
        st.just({"distribution": "uniform", "low": "5ms", "high": "90ms"}),
    )
    chosen = {"default": {"latency": draw(latency)}}
    for source in clusters:
        for target in clusters:
            if source != target and draw(st.integers(0, 3)) == 0:
                chosen[f"{source} -> {target}"] = {"latency": draw(latency)}
    return chosen


@st.composite
def brokers(draw, home):
    """Usually none, otherwise one or two in the subscription's home, fast enough to catch up before the
    end.
    """
    limits = {
        "dispatchTime": draw(st.sampled_from(["0s", "50us", "900us"])),
        "connectTime": draw(st.sampled_from(["0s", "30ms"])),
    }
    if draw(st.booleans()):
        limits["bandwidth"] = "2MB/s"
    count = draw(st.sampled_from([0, 0, 1, 2]))
    return {f"broker-{number}": {"cluster": home, **limits} for number in range(count)}


@st.composite
def producers(draw, clusters):
    chosen = {}
    for number in range(draw(st.integers(1, 3))):
        producer = {
            "topic": TOPIC,
            "cluster": draw(st.sampled_from(clusters)),
            "every": milliseconds(draw(st.sampled_from([7, 20, 60]))),
            "start": milliseconds(draw(st.integers(0, 900))),
            "stop": milliseconds(FAULTS_TO_MS),
            "batch": draw(st.sampled_from([1, 1, 3])),
            "arrivals": draw(st.sampled_from(["regular", "poisson"])),
        }
        if draw(st.booleans()):
            producer["keys"] = draw(st.integers(1, 5))
        if draw(st.integers(0, 3)) == 0:
            producer["delay"] = {"share": "10%", "for": milliseconds(draw(st.sampled_from([30, 400])))}
        chosen[f"producer-{number}"] = producer
    return chosen


@st.composite
def consumers(draw, home, subscription_type):
    chosen = {}
    several = subscription_type != "Exclusive"
    acknowledge = st.sampled_from(
        ["individual"] if "Shared" in subscription_type else ["individual", "cumulative"]
    )
    for number in range(draw(st.integers(1, 2)) if several else 1):
        consumer = {
            "subscription": SUBSCRIPTION,
            "cluster": home,
            "start": milliseconds(draw(st.sampled_from([0, 500]))),
            "processing": milliseconds(draw(st.sampled_from([0, 1, 4]))),
            "receiverQueueSize": draw(st.sampled_from([1, 5, 1000])),
            "acknowledge": draw(acknowledge),
            "acknowledgmentGroupTime": milliseconds(draw(st.sampled_from([0, 100]))),
            "negativeAckRedeliveryDelay": "200ms",
        }
        if consumer["acknowledge"] == "individual" and draw(st.booleans()):
            consumer["hold"] = {"share": "10%", "for": milliseconds(draw(st.sampled_from([50, 700])))}
        if consumer["acknowledge"] == "individual" and draw(st.booleans()):
            consumer["negativeAcknowledge"] = {"share": "10%"}
        chosen[f"consumer-{number}"] = consumer
    return chosen


@st.composite
def faults(draw, scenario, home, safe):
    """Commands at random instants.

    A command that does not apply at its time is refused by the run, which is allowed.
    """
    clusters = list(scenario["clusters"])
    cluster, pairs = (
        st.sampled_from(clusters),
        [(one, other) for one in clusters for other in clusters if one != other],
    )
    link = st.sampled_from(
        [f"{one} -> {other}" for one, other in pairs] + [f"{one} <-> {other}" for one, other in pairs]
    )
    marker = st.sampled_from(["snapshot_request", "snapshot_response", "subscription_update"])
    span = st.sampled_from([20, 150, 600]).map(milliseconds)
    consumer, producer = (
        st.sampled_from(sorted(scenario["consumers"])),
        st.sampled_from(sorted(scenario["producers"])),
    )
    commands = [
        st.fixed_dictionaries(
            {
                "do": st.just("cluster.crash"),
                "cluster": cluster,
                "fault": st.sampled_from(["host", "process"]),
            }
        ),
        st.fixed_dictionaries({"do": st.just("cluster.restart"), "cluster": cluster}),
        st.fixed_dictionaries({"do": st.just("topic.unload"), "cluster": cluster, "topic": st.just(TOPIC)}),
        st.fixed_dictionaries({"do": st.sampled_from(["link.cut", "link.partition"]), "link": link}),
        st.fixed_dictionaries({"do": st.just("link.heal"), "link": link}),
        st.fixed_dictionaries({"do": st.just("link.slow"), "link": link, "latency": span}),
        st.fixed_dictionaries(
            {"do": st.just("marker.delay"), "cluster": cluster, "type": marker, "by": span}
        ),
        st.fixed_dictionaries({"do": st.just("marker.drop"), "cluster": cluster, "type": marker}),
        st.fixed_dictionaries({"do": st.just("client.kill"), "client": st.one_of(consumer, producer)}),
        st.fixed_dictionaries({"do": st.just("consumer.start"), "consumer": consumer}),
        st.fixed_dictionaries({"do": st.just("producer.start"), "producer": producer}),
        st.fixed_dictionaries({"do": st.just("consumer.pause"), "consumer": consumer}),
        st.fixed_dictionaries(
            {"do": st.just("producer.publish"), "producer": producer, "count": st.integers(1, 30)}
        ),
        st.sampled_from(pairs).flatmap(
            lambda pair: st.fixed_dictionaries(
                {
                    "do": st.just("subscription.fail-over"),
                    "subscription": st.just(SUBSCRIPTION),
                    "from": st.just(pair[0]),
                    "to": st.just(pair[1]),
                    "mode": st.sampled_from(["crash", "crash", "planned", "drained"]),
                    "limit": st.just("800ms"),
                    "producers": st.booleans(),
                }
            )
        ),
    ]
    if not safe:
        commands += unsafe_commands(cluster)
    if scenario["topics"][TOPIC]["partitions"]:
        commands.append(
            st.fixed_dictionaries(
                {"do": st.just("topic.grow"), "topic": st.just(TOPIC), "partitions": st.integers(3, 4)}
            )
        )
    drawn = draw(
        st.lists(st.tuples(st.integers(FAULTS_FROM_MS, FAULTS_TO_MS), st.one_of(commands)), max_size=7)
    )
    return [{"at": milliseconds(at)} | command for at, command in sorted(drawn, key=lambda one: one[0])]


def unsafe_commands(cluster):
    """Commands by which an operator may lose messages."""
    one = {"subscription": st.just(SUBSCRIPTION), "cluster": cluster}
    return [
        st.fixed_dictionaries({"do": st.just("cluster.lose"), "cluster": cluster}),
        st.fixed_dictionaries(
            {"do": st.just("replication.remove-cluster"), "cluster": cluster, "topic": st.just(TOPIC)}
        ),
        st.fixed_dictionaries(
            {"do": st.just("replication.add-cluster"), "cluster": cluster, "topic": st.just(TOPIC)}
        ),
        st.fixed_dictionaries(
            {"do": st.just("snapshot.finish-partial"), "cluster": cluster, "topic": st.just(TOPIC)}
        ),
        st.fixed_dictionaries(
            {"do": st.just("subscription.reset"), **one, "position": st.sampled_from(["earliest", "latest"])}
        ),
        st.fixed_dictionaries(
            {"do": st.just("subscription.reset"), **one, "time": st.integers(0, 3000).map(milliseconds)}
        ),
        st.fixed_dictionaries({"do": st.just("subscription.skip"), **one, "count": st.integers(1, 20)}),
        st.fixed_dictionaries({"do": st.just("subscription.clear"), **one}),
        st.fixed_dictionaries(
            {
                "do": st.just("subscription.create"),
                **one,
                "initialPosition": st.sampled_from(["Latest", "Earliest"]),
            }
        ),
        st.fixed_dictionaries({"do": st.just("subscription.delete"), **one}),
        st.fixed_dictionaries({"do": st.just("subscription.replicate"), **one, "enabled": st.booleans()}),
        st.fixed_dictionaries(
            {
                "do": st.just("setting.change"),
                "setting": st.just("ttlDurationDefaultInSeconds"),
                "value": st.integers(1, 3),
            }
        ),
        st.fixed_dictionaries(
            {
                "do": st.just("setting.change"),
                "setting": st.just("replicationStartAt"),
                "value": st.sampled_from(["earliest", "latest"]),
            }
        ),
    ]


def healing(scenario, home):
    """Everything restarted and healed, every consumer running."""
    clusters, at = list(scenario["clusters"]), {"at": milliseconds(HEALED_MS)}
    commands = [
        {"do": "link.heal", "link": f"{one} -> {other}"}
        for one in clusters
        for other in clusters
        if one != other
    ]
    commands += [{"do": "cluster.restart", "cluster": name} for name in clusters]
    for name in scenario["consumers"]:
        commands += [{"do": "consumer.resume", "consumer": name}, {"do": "consumer.start", "consumer": name}]
    return [at | command for command in commands]
