"""Random but valid scenarios as text.

Two or three regions, a few seconds, faults, failovers and operator mistakes.

Rules: a pure function of the seed, so a failing test names everything needed to reproduce it.
"""

from __future__ import annotations

from random import Random

_TYPES = ("Shared", "Exclusive", "Key_Shared", "Failover")


def random_scenario(seed: int) -> str:
    """One scenario's text."""
    chance = Random(seed)
    clusters = "abc"[: chance.choice((2, 3))]
    parts = [_head(seed, chance, clusters), _producers(chance, clusters), _clients(chance), "commands:"]
    commands = sorted(_command(chance, clusters) for _ in range(chance.randint(2, 9)))
    return (
        "\n".join(parts + [f"  - {{at: {at}ms, {rest}}}" for at, rest in commands] + _brokers(chance)) + "\n"
    )


def _head(seed: int, chance: Random, clusters: str) -> str:
    pick = chance.choice
    settings = {
        "replicatedSubscriptionsSnapshotFrequencyMillis": pick((200, 500, 1000)),
        "managedLedgerMaxEntriesPerLedger": pick((50, 200, 50000)),
        "managedLedgerMinLedgerRolloverTimeMinutes": 0,
        "retentionCheckIntervalInSeconds": pick((1, 120)),
        "managedLedgerDefaultMarkDeleteRateLimit": pick((0, 1)),
        "managedLedgerCursorPositionFlushSeconds": pick((1, 60)),
        "managedLedgerMaxUnackedRangesToPersist": pick((0, 3, 200000)),
        "brokerDeduplicationEnabled": pick(("true", "false")),
        "replicationStartAt": pick(("latest", "earliest")),
        "replicatedSubscriptionsSnapshotTimeoutSeconds": pick((1, 30)),
        "replicatedSubscriptionsSnapshotMaxCachedPerSubscription": pick((3, 10)),
        "maxUnackedMessagesPerConsumer": pick((0, 20, 50000)),
        "managedLedgerNewEntriesCheckDelayInMillis": (0, 10, 3)[seed % 3],
    }
    options = {
        "snapshotCacheRule": pick(("spread", "oldest-first")),
        "lookupOnSnapshotArrival": pick(("true", "false")),
        "firstSnapshotTickFails": Random(chance.getstate()[1][0]).choice(("never", "drawn", "always")),
        "missingSubscriptionCreation": pick(("earliest", "latest")),
        "unsafePartialSnapshotAfter": pick(("0s", "0s", "500ms")),
    }
    names = ", ".join(clusters)
    lines = [
        "format: 1",
        "name: random",
        "title: Random",
        "family: tenant-migration",
        f"seed: {chance.randrange(1000)}",
        "until: 12s",
        "settings:",
    ]
    lines += [f"  {name}: {value}" for name, value in settings.items()]
    lines += ["options:", *(f"  {name}: {value}" for name, value in options.items())]
    lines += ["clusters: {" + ", ".join(f"{name}: {{}}" for name in clusters) + "}"]
    lines += [
        (
            f"links: {{default: {{latency: "
            f"{pick(('40ms', '{distribution: lognormal, median: 40ms, sigma: 0.3}'))}}}}}"
        )
    ]
    return "\n".join([*lines, "topics:", f"  orders: {{clusters: [{names}], partitions: {pick((0, 0, 2))}}}"])


def _brokers(chance: Random) -> list[str]:
    """Limits in cluster a, in every third scenario."""
    if chance.randrange(3):
        return []
    limits = (
        f"dispatchTime: {chance.choice((0, 300, 4000))}us, connectTime: {chance.choice((0, 30))}ms, "
        f"bandwidth: {chance.choice(('300KB/s', '1GB/s'))}"
    )
    return [
        "brokers:",
        *(f"  broker-{number}: {{cluster: a, {limits}}}" for number in range(chance.choice((1, 2)))),
    ]


def _producers(chance: Random, clusters: str) -> str:
    pick = chance.choice
    lines = ["producers:"]
    for number, cluster in enumerate(chance.sample(clusters, chance.randint(1, len(clusters)))):
        extra = pick((", keys: 3", "")) + (pick((", replicateTo: [b]", "", "", "")) if cluster != "b" else "")
        lines.append(
            f"  p{number}: {{topic: orders, cluster: {cluster}, every: {pick((7, 20, 50))}ms, stop: "
            f"{pick((5, 8, 12))}s, batch: {pick((1, 1, 3))}{extra}}}"
        )
    return "\n".join(lines)


def _clients(chance: Random) -> str:
    pick = chance.choice
    type_ = pick(_TYPES)
    replicated, position = pick(("true", "true", "true", "false")), pick(("Earliest", "Latest"))
    sync = pick(("none", "none", "periodic"))
    billing = (
        f"topic: orders, type: {type_}, replicateSubscriptionState: {replicated}, initialPosition: "
        f"{position}, acknowledgementSync: {sync}"
    )
    lines = ["subscriptions:", f"  billing: {{{billing}}}", "consumers:"]
    for number in range(1 if type_ == "Exclusive" else chance.randint(1, 2)):
        acknowledge = (
            pick(("individual", "individual", "cumulative"))
            if type_ in ("Exclusive", "Failover")
            else "individual"
        )
        extra = ""
        if acknowledge == "individual":
            extra += pick(("", ", hold: {share: 5%, for: 2s}")) + pick(
                ("", ", negativeAcknowledge: {share: 3%}, negativeAckRedeliveryDelay: 500ms")
            )
        lines.append(
            f"  c{number}: {{subscription: billing, cluster: a, start: {pick(('0s', '1s'))}, "
            f"receiverQueueSize: {pick((1, 10, 1000))}, "
            f"processing: {pick((0, 2, 20))}ms, acknowledge: {acknowledge}, acknowledgmentGroupTime: "
            f"{pick((0, 100))}ms{extra}}}"
        )
    return "\n".join(lines)


def _command(chance: Random, clusters: str) -> tuple[int, str]:
    pick = chance.choice
    one, other = chance.sample(clusters, 2)
    ours = f"subscription: billing, cluster: {one}"
    fail_over = (
        f"subscription.fail-over, subscription: billing, from: {one}, to: {other}, mode: "
        f"{pick(('crash', 'planned', 'drained'))}, producers: {pick(('true', 'false'))}"
    )
    do = pick(
        (
            f"cluster.crash, cluster: {one}",
            f"cluster.crash, cluster: {one}, fault: process",
            f"cluster.restart, cluster: {one}",
            f"cluster.restart, cluster: {other}",
            fail_over,
            fail_over,
            fail_over,
            fail_over,
            f"cluster.lose, cluster: {one}",
            f"{Random(chance.getstate()[1][0]).choice(('link.cut', 'link.partition'))}, link: {one} -> {other}",
            f"link.heal, link: {one} -> {other}",
            f"link.slow, link: {one} -> {other}, latency: 400ms",
            f"topic.unload, topic: orders, cluster: {one}",
            f"subscription.reset, {ours}, position: {pick(('earliest', 'latest'))}",
            f"subscription.clear, {ours}",
            f"subscription.skip, {ours}, count: 10",
            f"subscription.replicate, {ours}, enabled: {pick(('true', 'false'))}",
            f"subscription.delete, {ours}",
            f"replication.remove-cluster, topic: orders, cluster: {one}",
            f"replication.add-cluster, topic: orders, cluster: {one}",
            "client.kill, client: c0",
        )
    )
    return chance.randrange(500, 11500), f"do: {do}"
