"""The meaning of each number in a built-in scenario's title, `about` and `watch`.

A value of the file, a figure of the run, or part of a name.

A path leads into the scenario file; after `run:` into the summary of its run. `NAME` is a name (PIP-33, issue
10054, version 4.0.8, message order-1) or a fact about the source that no run can show. A function takes the
run and gives the value in microseconds, or a count, or a position as text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simulator.scenarios.settings import SETTINGS

Source = str | Callable[[Any], Any]
NAME = "a name, or a fact about the source"


def _last_snapshot(run: Any) -> tuple[int, int]:
    """Of region-down: when the last snapshot that us-west completed before its crash was requested, and
    completed.
    """
    completed = run.rows("snapshot.completed", cluster="us-west")[-1]
    return run.rows("snapshot.requested", cluster="us-west", snapshot=completed["snapshot"])[0][
        "at_us"
    ], completed["at_us"]


def _count(path: str) -> Callable[[Any], int]:
    return lambda run: len(run.given(path))


def _message(sequence_id: int) -> Callable[[Any], int]:
    """The message of this number exists."""
    return lambda run: next(
        row["sequence_id"] for row in run.rows("message.published") if row["sequence_id"] == sequence_id
    )


def _at(event: str, number: int = 0, **where: Any) -> Callable[[Any], int]:
    """The instant of the n-th row of this kind."""
    return lambda run: run.rows(event, **where)[number]["at_us"]


def _whole_s(at_us: int) -> int:
    """The whole second in which an instant is."""
    return at_us // 1_000_000 * 1_000_000


def _per_second(producer: str) -> Callable[[Any], int]:
    """Messages a second."""
    return lambda run: 1_000_000 // run.us(f"producers.{producer}.every")


def _stored_at(event: str, cluster: str, **where: Any) -> Callable[[Any], list[str]]:
    """Positions of all such rows of a cluster; the number has to be one of them."""
    return lambda run: {
        f"{row['ledger']}:{row['entry']}" for row in run.rows(event, cluster=cluster, **where)
    }


_GROUP_OF_FOUR = {"four": "settings.n_shards"}
_PIP_433 = {"433": NAME}

_REACHABLE = {"6.0.4": NAME, "5.10": NAME}
_REMOTE = {"8.95 s": "sessions.ada.stop", "0.1 s": "sessions.ben.start"}

CAPTIONS: dict[str, dict[str, Source]] = {
    "ack-hole-delayed-message": {"15": NAME},
    "backlog-blocks-snapshots": {
        "3 s": "producers.bulk.start",
        "5 s": lambda run: run.given("settings.replicatedSubscriptionsSnapshotTimeoutSeconds") * 1_000_000,
        "30 s": NAME,
        "four": lambda run: run.bytes_per_s("bulk") // run.bytes_per_s_of_link(),
    },
    "backlog-quota-evicts-replication": {
        "200": lambda run: int(
            run.given("namespaces.public/default.backlogQuotas.destination_storage.limit").removesuffix("KB")
        ),
        "2 s": "commands[0].at",
        "12 s": "commands[1].at",
        "10 s": _at("topic.quota-exceeded"),
        "19 s": "commands[2].at",
    },
    "broadcast": {
        "three": _count("brokers"),
        "300": "audiences.everybody.subscriptions",
        "145 us": "brokers.one.dispatchTime",
        "30 ms": "brokers.one.connectTime",
        "180": NAME,
        "40,000": NAME,
        "2.9 s": NAME,
        "20": NAME,
        "100,000": NAME,
    },
    "clients-created-it": {
        **_PIP_433,
        "2": "settings.defaultNumPartitions",
        "3 s": "commands[0].at",
        "5 s": "consumers.billing-1.start",
    },
    "clients-created-it-before": {
        **_PIP_433,
        "2": "settings.defaultNumPartitions",
        "3 s": "commands[0].at",
        "0": NAME,
        "414": NAME,
    },
    "clients-created-it-proposed": {**_PIP_433, "3 s": "commands[0].at"},
    "consumer-drains-backlog": {
        "2.5 s": "consumers.billing-1.stop",
        "10 s": "consumers.billing-2.start",
        "33": NAME,
    },
    "crash-returns-stranded": {
        "4.5 s": "commands[0].at",
        "7": "run:failovers[0].stranded_returned",
        "4": "run:failovers[0].duplicates",
        "6 s": "commands[2].at",
        "8 s": "commands[4].at",
        "9 s": "commands[5].at",
        "3": "run:failovers[0].stranded_unprocessed",
    },
    "created-apart": {"4": "commands[0].partitions"},
    "cumulative-ack-after-failover": {
        "5.7 s": "commands[1].at",
        "8.8 s": lambda run: run.rows("consumer.connected", cluster="us-east")[0]["at_us"],
        "25291": NAME,
    },
    "drifted-partitions": {
        "2": "topics.orders.partitions",
        "4": "commands[1].partitions",
        "5 s": "commands[2].at",
        "12 s": "commands[4].at",
        "four": "run:topics.us.orders.partitions",
    },
    "drifted-partitions-before": {**_PIP_433, "5 s": "commands[2].at"},
    "lookup-failover-behind-a-proxy": {
        "23129": NAME,
        "five": "commands[0].failoverThreshold",
        "6 s": lambda run: run.given("commands[0].checkHealthyIntervalMs") * 6 * 1000,
        "10 s": "run:failovers[0].at_us",
        "12 s": "run:failovers[0].first_delivery_us",
    },
    "proxy-hides-dead-brokers": {"5.7 s": "commands[1].at"},
    "enabled-on-backlog": {"2.5 s": "commands[0].at"},
    "fail-over-and-back": {"5.7 s": "run:failovers[0].at_us", "10.7 s": "run:failovers[1].at_us"},
    "failover-before-first-update": {"900 ms": "run:failovers[0].at_us"},
    "figure-4": {
        **{str(number): _message(number) for number in range(10)},
        "three": "run:subscriptions.billing.cluster-a.backlog",
        "1:4": "run:subscriptions.billing.cluster-a.mark_delete",
        **{
            place: lambda run: run.positions_in("subscriptions.billing.cluster-a.individually_deleted")
            for place in ("1:5", "1:6", "1:8", "1:9")
        },
    },
    "figure-5-and-8": {
        "5": NAME,
        "8": NAME,
        "1:2": NAME,
        "1:4": NAME,
        "3:4": NAME,
        "1:0": _stored_at("message.stored", "cluster-a", sequence_id=0),
        "3:0": _stored_at("message.stored", "cluster-b", sequence_id=0),
        "1:6": "run:subscriptions.billing.cluster-a.mark_delete",
        "3:2": "run:subscriptions.billing.cluster-b.mark_delete",
        "1:3": _stored_at("snapshot.completed", "cluster-a"),
        "1:9": _stored_at("snapshot.completed", "cluster-a"),
        "3:7": lambda run: {
            f"{row['to_ledger']}:{row['to_entry']}" for row in run.rows("snapshot.position", peer="cluster-b")
        },
    },
    "groups-end-of-stream-as-shipped": {"5.05 s": "commands[0].at"},
    "groups-generation-ends": {"5.05 s": "commands[0].at"},
    "groups-join": {**_GROUP_OF_FOUR, "4.5 s": "sessions.ben.start"},
    "groups-killed": {**_GROUP_OF_FOUR, "9 s": "commands[0].at"},
    "groups-killed-in-a-chunk": {
        "ten": "run:groups.meters.published",
        "100 ms": "sessions.ben.processing",
        "5 s": "sessions.ada.start",
        "550 ms": lambda run: run.us("commands[0].at") - run.rows("message.delivered")[0]["at_us"],
    },
    "groups-last-generation": {"ten": "run:groups.meters.published", "5.05 s": "commands[0].at"},
    "groups-last-generation-as-shipped": {"ten": "run:groups.meters.published", "5.05 s": "commands[0].at"},
    "groups-late-revoke": {
        "4.5 s": "commands[0].by",
        "6 s": "sessions.ben.stop",
        "7.5 s": _at("lease.changed", -1, client="ada", reason="revoking"),
    },
    "groups-leader-crash-early": {
        "8 s": "commands[0].at",
        "seven": lambda run: (run.us("commands[0].at") - run.us("sessions.ada.start")) // 1_000_000,
    },
    "groups-leader-crash-late": {"12 s": "commands[0].at"},
    "groups-leave": {**_GROUP_OF_FOUR, "6.5 s": "commands[0].at"},
    "groups-more-borrowers": {"five": "run:groups.meters.sessions", "5 s": "sessions.ada.stop"},
    "groups-node-crash": {**_REACHABLE, "12 s": "commands[0].at", "2 s": "sessions.ada.reconnect"},
    "groups-node-stop": {**_REACHABLE, "12 s": "commands[0].at", "2 s": "sessions.ada.reconnect"},
    "groups-quality-0": {
        "0": "publishers.light.qos",
        "1": NAME,
        "20": "run:groups.meters.lost_qos0",
        "6 s": "commands[1].at",
        "32": lambda run: len(run.rows("message.delivered", client="ada")),
    },
    "groups-quick-resubscribe": {"5.02 s": "commands[0].at"},
    "groups-replay": {"hundred": "publishers.grid.count", "20 s": "sessions.ada.start"},
    "groups-reset-while-leaving": {
        "7.5 s": "commands[2].at",
        "8 s": _at("borrower.changed", client="ada", detail="no answer to its ping"),
    },
    "groups-reset-while-leaving-as-shipped": {
        "7.5 s": "commands[2].at",
        "8 s": _at("borrower.changed", client="ada", detail="no answer to its ping"),
    },
    "groups-remote-leader": {**_REMOTE, "6.0.4": NAME},
    "groups-remote-leader-as-shipped": {**_REMOTE, "5.10": NAME},
    "groups-rounds": {**_GROUP_OF_FOUR, "5.5 s": "sessions.ben.stop", "7.2 s": "sessions.cleo.start"},
    "groups-rounds-as-shipped": {
        **_GROUP_OF_FOUR,
        "5.5 s": "sessions.ben.stop",
        "7.2 s": "sessions.cleo.start",
    },
    "groups-slow-ping": {
        **_REACHABLE,
        "6 s": "commands[0].at",
        "11 s": "commands[1].at",
        "4.5 s": "commands[0].latency",
    },
    "groups-split-heals": {**_REACHABLE, "6 s": "commands[0].at", "20 s": "commands[1].at"},
    "groups-takeover": {**_REACHABLE, "10 s": "commands[0].at"},
    "groups-thousand-streams": {
        **_REACHABLE,
        "thousand": "run:groups.meters.streams",
        "hundred": lambda run: run.summary["groups"]["meters"]["sessions"] // 2,
    },
    "groups-timers-changed": {
        **_GROUP_OF_FOUR,
        "4 s": lambda run: SETTINGS["session_ping_leader_interval"].default,
        "6 s": "commands[0].at",
        "2.5 s": "commands[0].value",
        "20 s": "commands[1].at",
        "1 s": "commands[1].value",
        "10.5 s": _at("borrower.dropped"),
    },
    "groups-two-leaders": {
        **_REACHABLE,
        "12 s": "commands[0].at",
        "90 s": "commands[0].for",
        "20 s": _at("leader.blocked"),
        "40 s": lambda run: _whole_s(_at("leader.elected", 1)(run)),
        "80 s": _at("leader.unblocked"),
        "96 s": _at("borrower.changed", -1, client="ada", reason="gone"),
    },
    "groups-two-readers": {**_REACHABLE, "6 s": "commands[0].at"},
    "issue-10054": {
        "ten": "producers.shop.count",
        "five": "run:failovers[0].duplicates",
        "10054": NAME,
        "4": lambda run: run.last_acknowledged("us-west"),
        "5": lambda run: run.last_acknowledged("us-west") + 1,
    },
    "issue-20767": {
        "20767": NAME,
        "2.10.5": NAME,
        "2.11.2": NAME,
        "3.0.2": NAME,
        "3.1": NAME,
        "hundred": "run:clusters.us-west.topics.orders.messages",
        "ten": "producers.shop.count",
    },
    "local-subscription-earliest": {"33": NAME},
    "local-subscription-latest": {"33": NAME},
    "new-schema": {**_PIP_433, "2": NAME, "3 s": "commands[2].at"},
    "new-schema-before": {**_PIP_433, "1": NAME, "2": NAME, "3 s": "commands[2].at"},
    "one-region-only": {"4.93 s": "run:failovers[0].at_us", "eight": "run:failovers[0].lost"},
    "overhead": {
        "three": _count("topics"),
        "five": lambda run: (
            run.given("topics.rare.settings.replicatedSubscriptionsSnapshotFrequencyMillis") // 1000
        ),
    },
    "periodic-snapshots": {"3.9 s": "run:failovers[0].at_us"},
    "producers-everywhere": {"three": _count("clusters")},
    "region-down": {
        "three": _count("clusters"),
        "5.7 s": "run:failovers[0].at_us",
        "5 s": lambda run: _last_snapshot(run)[0],
        "5.3 s": lambda run: _last_snapshot(run)[1],
    },
    "region-down-twice": {
        "33": NAME,
        "4.7 s": "run:failovers[0].at_us",
        "7": "run:failovers[0].duplicates",
        "9 s": "run:failovers[1].at_us",
        "50": "run:failovers[1].duplicates",
        "11 s": "commands[3].at",
    },
    "retry-without-end": {
        "ten": lambda run: run.summary["simulated_us"] // 60_000_000,
        "0": "run:replicators.us.eu.orders.delay_s",
    },
    "schema-refused": {"3 s": "commands[0].at", "3": NAME, "8 s": "commands[1].at", "12 s": "commands[2].at"},
    "shadow-cached": {"180": NAME, "23147": NAME, "23236": NAME, "four": _count("consumers")},
    "shadow-explicit-lac": {
        "2.5 s": "commands[0].at",
        "3 s": "commands[1].at",
        "0": NAME,
        "20": "run:subscriptions.audit.eu.delivered",
        "30": "run:subscriptions.screens.eu.delivered",
    },
    "shadow-loaded-late": {"3 s": "commands[0].at", "20": "producers.till.count", "1": NAME},
    "shadow-offloaded": {"3": NAME, "4 s": "consumers.audit-1.start"},
    "shadow-retention-loss": {"18731": NAME, "0": NAME},
    "shadow-rollover": {
        "five": "settings.managedLedgerMaxEntriesPerLedger",
        "450 ms": "options.shadowMetadataLatency",
    },
    "shadow-source-unload": {
        "1 s": "commands[0].at",
        "2.2 s": _at("topic.loaded", -1, topic="orders-audit"),
        "2.3 s": "commands[1].at",
        "1": lambda run: -run.shadow_before("orders-audit", 2_299_999)[0],
        "13": lambda run: run.shadow_before("orders-audit", 2_299_999)[1],
    },
    "shadow-two-audiences": {"three": _count("topics"), "180": NAME},
    "slow-consumer-oldest-first": {
        "4.0.8": NAME,
        "50": _per_second("shop"),
        "ten": "settings.replicatedSubscriptionsSnapshotMaxCachedPerSubscription",
        "1000": NAME,
        "11 s": lambda run: (
            -(-run.rows("update.applied", cluster="us-east")[-1]["at_us"] // 1_000_000) * 1_000_000
        ),
    },
    "slow-consumer-spread": {
        "4.0.9": NAME,
        "ten": "settings.replicatedSubscriptionsSnapshotMaxCachedPerSubscription",
    },
    "starved-subscription": {
        "sixty": "audiences.newsletter.subscriptions",
        "1 ms": "brokers.main.dispatchTime",
        "3.1 s": "audiences.newsletter.stop",
    },
    "strategies-backlog": {
        "three": _count("compare"),
        "3 s": "producers.bulk.start",
        "four": lambda run: run.bytes_per_s("bulk") // run.bytes_per_s_of_link(),
        "5 s": lambda run: run.given("settings.replicatedSubscriptionsSnapshotTimeoutSeconds") * 1_000_000,
        "30 s": NAME,
        "12.9 s": "run:failovers[0].at_us",
    },
    "strategies-between-snapshots": {
        "three": _count("compare"),
        "50 ms": lambda run: run.us("commands[1].at") - run.us("commands[0].at"),
        "3.9 s": "run:failovers[0].at_us",
        "3.85 s": "commands[0].at",
        "2 s": lambda run: run.given("settings.replicatedSubscriptionsSnapshotFrequencyMillis") * 1000,
    },
    "strategies-delayed-message": {"three": _count("compare"), "15": NAME, "5.9 s": "run:failovers[0].at_us"},
    "tenant-blue-green": {"188": NAME},
    "tenant-moves": {"five": lambda run: len(run.summary["migrations"][0]["steps"])},
    "tenant-noisy-neighbour": {
        "ten": _per_second("teller"),
        "five": lambda run: len(run.summary["migrations"][0]["steps"]),
    },
    "tenant-switched-too-early": {"2": NAME},
    "three-regions": {
        "three": _count("clusters"),
        "300 ms": lambda run: run.rows("snapshot.completed", cluster="us-west")[0]["duration_us"],
    },
    "unsafe-partial-snapshot": {"33": NAME, "1.5 s": "options.unsafePartialSnapshotAfter", "0s": NAME},
}
