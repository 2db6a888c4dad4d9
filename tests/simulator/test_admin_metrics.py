"""The metrics endpoints in constructed situations.

Snapshots counted, timed out, left on the gauge; the text format.
"""

from tests.simulator.admin_runs import BILLING, FEED, READS, body, note
from tests.simulator.engine_runs import MS, SECOND, do, open_world, rows, run


def metric(world, name, cluster="a"):
    """The value of the first sample that begins with this name."""
    return next(
        line.rsplit(" ", 1)[1]
        for line in world.admin("metrics", cluster)["text"].splitlines()
        if line.startswith(name)
    )


def test_snapshots_in_prometheus_and_open_telemetry():
    world = run(body(), until="5500ms")
    done = rows(world, "snapshot.completed", cluster="a")
    asked = rows(world, "snapshot.requested", cluster="a", count=1)
    assert (
        len(done) >= 4
        and metric(world, "pulsar_replicated_subscriptions_snapshot_ms_count") == f"{len(done)}.0"
    )
    assert (
        metric(world, "pulsar_replicated_subscriptions_snapshot_ms_sum")
        == f"{sum(row['duration_us'] for row in done) // 1000}.0"
    )
    assert metric(world, "pulsar_replicated_subscriptions_pending_snapshots") == f"{len(asked) - len(done)}.0"
    assert (
        metric(world, "pulsar_broker_replication_subscription_snapshot_operation_count_total")
        == f"{len(asked)}.0"
    )
    text = world.admin("metrics", "a")["text"]
    assert (
        f'_result="success",le="5.0"}} {len(done)}\n' in text
        and '_result="success",le="0.0"} 0\n' in text
        and '_result="timeout"' not in text
    )


def test_timeouts_are_counted_and_a_controller_that_closes_leaves_the_gauge_too_high():
    one_way = (
        """
clusters: {a: {}, b: {}}
links: {default: {latency: 20ms}}
topics: {t: {clusters: [a, b], replication: [a -> b]}}
settings: {replicatedSubscriptionsSnapshotTimeoutSeconds: 2}
"""
        + FEED
        + BILLING % ("Shared", "true")
        + READS % ""
    )
    world = open_world(one_way, until="20s")
    world.run(5 * SECOND)
    # Requested at 1 s; swept at the first tick with start + 2,000 ms < now: 4 s, when the next one is
    # requested.
    assert metric(world, "pulsar_replicated_subscriptions_timedout_snapshots_total") == "1.0"
    assert metric(world, "pulsar_replicated_subscriptions_pending_snapshots") == "1.0"
    assert '_result="timeout",le="5.0"} 1\n' in world.admin("metrics", "a")["text"]
    do(world, "topic.unload", cluster="a", topic="t")
    world.run(5_500 * MS)
    pending = sum(
        len(found["pending"]) for found in [world.view()["clusters"]["a"]["topics"]["t"]["controller"]]
    )
    assert metric(world, "pulsar_replicated_subscriptions_pending_snapshots") == f"{pending + 1}.0"
    assert "1 of these was given up when a controller closed" in note(
        world, "metrics", "pulsar_replicated_subscriptions_pending_snapshots{"
    )


def test_metrics_restart_with_the_brokers():
    world = open_world(body(), until="9s")
    world.run(4 * SECOND)
    assert float(metric(world, "pulsar_replicated_subscriptions_snapshot_ms_count")) >= 2
    do(world, "cluster.crash", cluster="a", clients=False)
    world.run(5 * SECOND)
    do(world, "cluster.restart", cluster="a")
    assert metric(world, "pulsar_replicated_subscriptions_snapshot_ms_count") == "0.0"
    assert metric(world, "pulsar_replicated_subscriptions_snapshot_ms_created") == "5.0"
    assert metric(world, "pulsar_replicated_subscriptions_pending_snapshots") == "0.0"


def test_metrics_are_in_the_prometheus_text_format():
    text = run(body(), until="2s").admin("metrics", "a")["text"]
    assert (
        "# TYPE pulsar_replicated_subscriptions_pending_snapshots "
        'gauge\npulsar_replicated_subscriptions_pending_snapshots{cluster="a"} '
    ) in text
    assert (
        'pulsar_subscription_back_log{cluster="a",namespace="public/default",topic="persistent://public/default/t",subscription="s"} '
        "0\n"
    ) in text
    assert (
        'pulsar_replication_connected_count{cluster="a",namespace="public/default",topic="persistent://public/default/t",remote_cluster="b"} '
        "1\n"
    ) in text


OF_SUBSCRIPTION = [
    "back_log",
    "back_log_no_delayed",
    "delayed",
    "in_replay",
    "msg_rate_redeliver",
    "unacked_messages",
    "blocked_on_unacked_messages",
    "msg_rate_out",
    "msg_ack_rate",
    "msg_throughput_out",
    "last_expire_timestamp",
    "last_acked_timestamp",
    "last_consumed_timestamp",
    "last_mark_delete_advanced_timestamp",
    "msg_rate_expired",
    "total_msg_expired",
    "msg_drop_rate",
    "consumers_count",
    "filter_processed_msg_count",
    "filter_accepted_msg_count",
    "filter_rejected_msg_count",
    "filter_rescheduled_msg_count",
    "dispatch_throttled_msg_events",
    "dispatch_throttled_bytes_events",
]
"""The metrics of `TopicStats.printTopicStats` that the lab has values for, in its order."""


def test_a_subscription_has_every_metric_that_the_run_has_a_value_for():
    world = run(body(), until="5500ms")
    text = world.admin("metrics", "a")["text"]
    names = [
        line.split()[2].removeprefix("pulsar_subscription_")
        for line in text.splitlines()
        if line.startswith("# TYPE pulsar_subscription_")
    ]
    assert names == OF_SUBSCRIPTION
    delivered = rows(world, "message.delivered", cluster="a")
    assert metric(world, "pulsar_out_messages_total{") == str(len(delivered))
    assert metric(world, "pulsar_out_bytes_total{") == str(1000 * len(delivered))
    assert metric(world, "pulsar_subscription_consumers_count") == "1"
    assert metric(world, "pulsar_subscription_last_acked_timestamp") == str(
        rows(world, "message.registered", cluster="a")[-1]["at_us"] // 1000
    )
    assert metric(world, "pulsar_subscription_last_consumed_timestamp") == str(
        rows(world, "message.delivered", cluster="a")[-1]["at_us"] // 1000
    )
    assert text.count("pulsar_subscription_dispatch_throttled_msg_events{") == 3
    assert 'subscription="s",reason="broker"} 0\n' in text


def test_the_mark_delete_timestamp_follows_acks_updates_and_expiry_but_no_command():
    advanced = "pulsar_subscription_last_mark_delete_advanced_timestamp"
    world = open_world(body(), until="9s")
    world.run(5_500 * MS)
    for cluster in ("a", "b"):  # acks in a, Updates of a in b
        moved = rows(world, "cursor.moved", cluster=cluster)
        own = [row["at_us"] for row in moved if row["reason"] in ("acknowledgement", "update")]
        assert metric(world, advanced, cluster) == str(own[-1] // 1000)
    before = metric(world, advanced, "b")
    do(world, "subscription.clear", subscription="s", cluster="b")
    assert rows(world, "cursor.moved", cluster="b")[-1]["reason"] == "clear"
    assert metric(world, advanced, "b") == before
    expiring = body(
        consumer=", processing: 1h",
        more="settings: {ttlDurationDefaultInSeconds: 1, messageExpiryCheckIntervalInMinutes: 1}\n",
    )
    world = run(expiring, until="61s")
    at_us = rows(world, "cursor.moved", cluster="a", reason="expiry")[-1]["at_us"]
    assert metric(world, advanced) == str(at_us // 1000)
    assert metric(world, "pulsar_subscription_last_expire_timestamp") == str(at_us // 1000)
    expired = rows(world, "message.expired", cluster="a")
    assert metric(world, "pulsar_subscription_total_msg_expired") == str(len(expired))
