"""A broker's metrics about replicated subscriptions, one topic's replication and its subscriptions.

Rules: names, types and labels are Pulsar's. The broker-wide metrics carry no topic, because a broker adds up
all its topics. They are in the broker's memory: after a crash of the cluster they begin at 0. OpenTelemetry's
instruments are shown as its Prometheus exporter prints them, with the SDK's own bucket borders. A cluster is
one broker here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from simulator.protocols.pulsar.admin import printed
from simulator.protocols.pulsar.admin.printed import Line
from simulator.protocols.pulsar.admin.stats import TopicStats, oldest_pending_us
from simulator.protocols.pulsar.scenario.policies import MESSAGE_AGE, SIZE

if TYPE_CHECKING:
    from simulator.protocols.pulsar.admin.tallies import SnapshotRow, Tallies
    from simulator.protocols.pulsar.broker.topic import Topic

PENDING = "pulsar_replicated_subscriptions_pending_snapshots"
TIMED_OUT = "pulsar_replicated_subscriptions_timedout_snapshots"
SNAPSHOT_MS = "pulsar_replicated_subscriptions_snapshot_ms"
OPERATIONS = "pulsar_broker_replication_subscription_snapshot_operation_count"
DURATION = "pulsar_broker_replication_subscription_snapshot_operation_duration_seconds"
RESULT = "pulsar_replication_subscription_snapshot_operation_result"
SCOPE = "org.apache.pulsar.broker"
BUCKETS = (0, 5, 10, 25, 50, 75, 100, 250, 500, 750, 1000, 2500, 5000, 7500, 10000)
"""Upper bounds of the SDK's default histogram, here in seconds: Pulsar sets no others."""

OF_SUBSCRIPTION = (
    ("pulsar_subscription_back_log", "msgBacklog"),
    ("pulsar_subscription_back_log_no_delayed", "msgBacklogNoDelayed"),
    ("pulsar_subscription_delayed", "msgDelayed"),
    ("pulsar_subscription_in_replay", "msgInReplay"),
    ("pulsar_subscription_msg_rate_redeliver", "msgRateRedeliver"),
    ("pulsar_subscription_unacked_messages", "unackedMessages"),
    ("pulsar_subscription_blocked_on_unacked_messages", "blockedSubscriptionOnUnackedMsgs"),
    ("pulsar_subscription_msg_rate_out", "msgRateOut"),
    ("pulsar_subscription_msg_ack_rate", "messageAckRate"),
    ("pulsar_subscription_msg_throughput_out", "msgThroughputOut"),
    ("pulsar_out_bytes_total", "bytesOutCounter"),
    ("pulsar_out_messages_total", "msgOutCounter"),
    ("pulsar_subscription_last_expire_timestamp", "lastExpireTimestamp"),
    ("pulsar_subscription_last_acked_timestamp", "lastAckedTimestamp"),
    ("pulsar_subscription_last_consumed_timestamp", "lastConsumedTimestamp"),
    ("pulsar_subscription_last_mark_delete_advanced_timestamp", "lastMarkDeleteAdvancedTimestamp"),
    ("pulsar_subscription_msg_rate_expired", "msgRateExpired"),
    ("pulsar_subscription_total_msg_expired", "totalMsgExpired"),
    ("pulsar_subscription_msg_drop_rate", "msgDropRate"),
    ("pulsar_subscription_consumers_count", "consumersCount"),
    ("pulsar_subscription_filter_processed_msg_count", "filterProcessedMsgCount"),
    ("pulsar_subscription_filter_accepted_msg_count", "filterAcceptedMsgCount"),
    ("pulsar_subscription_filter_rejected_msg_count", "filterRejectedMsgCount"),
    ("pulsar_subscription_filter_rescheduled_msg_count", "filterRescheduledMsgCount"),
)
"""Each metric of a subscription and its field, in the order of `TopicStats.printTopicStats`.

Two of that method's metrics are not printed, because no row has their value: permits
(`pulsar_subscription_last_consumed_flow_timestamp`) and the memory of a delayed delivery tracker.
"""


OF_BACKLOG = (
    ("pulsar_storage_backlog_size", "backlogSize"),
    ("pulsar_storage_backlog_quota_limit", "backlogQuotaLimitSize"),
    ("pulsar_storage_backlog_quota_limit_time", "backlogQuotaLimitTime"),
    ("pulsar_storage_backlog_age_seconds", "oldestBacklogMessageAgeSeconds"),
)
EVICTIONS = "pulsar_storage_backlog_quota_exceeded_evictions_total"


class SnapshotCounts(NamedTuple):
    """Snapshots of a cluster's broker since it started."""

    started: int
    completed_us: tuple[int, ...]
    timed_out_us: tuple[int, ...]
    abandoned: int
    failed_ticks: int
    began_us: int

    @property
    def gauge(self) -> int:
        """The gauge of pending snapshots, which also counts those of closed controllers and failed ticks.

        `ReplicatedSubscriptionsController.close` does not subtract them. A failed first tick has increased
        the gauge for a snapshot that never exists (option firstSnapshotTickFails).
        """
        return self.started + self.failed_ticks - len(self.completed_us) - len(self.timed_out_us)


def snapshot_counts(tallies: Tallies, cluster: int) -> SnapshotCounts:
    """Count a cluster's snapshots, from 0 after each restart of its brokers."""
    mine = [row for row in tallies.snapshots if row.cluster == cluster]
    restarts = [place for place, row in enumerate(mine) if row.event == "cluster.restarted"]
    began_us = mine[restarts[-1]].at_us if restarts else 0
    mine = mine[restarts[-1] + 1 :] if restarts else mine
    started_us = {
        row.snapshot: row.at_us for row in mine if row.event == "snapshot.requested" and row.round == 1
    }
    completed = tuple(row.duration_us for row in mine if row.event == "snapshot.completed")
    timed_out = tuple(
        row.at_us - started_us[row.snapshot] for row in mine if row.event == "snapshot.timed-out"
    )
    abandoned, failed = _rows(mine, "snapshot.abandoned"), _rows(mine, "controller.tick-failed")
    return SnapshotCounts(len(started_us), completed, timed_out, abandoned, failed, began_us)


def _rows(rows: Iterable[SnapshotRow], event: str) -> int:
    return sum(1 for row in rows if row.event == event)


class Exposition:
    """Collects lines of the text format, a TYPE line before the first sample of each metric."""

    def __init__(self) -> None:
        self.lines: list[Line] = []

    def comment(self, text: str) -> None:
        """A comment line; an empty one separates groups."""
        self.lines.append(Line(f"# {text}" if text else "", (), None))

    def type(self, name: str, kind: str) -> None:
        self.lines.append(Line(f"# TYPE {name} {kind}", (), None))

    def sample(self, name: str, labels: dict[str, str], value: str) -> None:
        """One sample; its path omits the cluster, so that clusters can be compared."""
        shown = ",".join(f'{label}="{text}"' for label, text in labels.items())
        path = (name, *(f"{label}={text}" for label, text in labels.items() if label != "cluster"))
        self.lines.append(Line(f"{name}{{{shown}}} {value}", path, value))


def lines(stats: TopicStats, counts: SnapshotCounts) -> list[Line]:
    """All lines for one cluster and topic."""
    out, cluster = Exposition(), stats.topic.cluster.name
    out.comment("Prometheus, broker wide: GET /metrics/")
    _broker_wide(out, cluster, counts)
    out.comment("")
    out.comment("Prometheus, this topic (exposeTopicLevelMetricsInPrometheus=true)")
    _topic_level(out, stats)
    out.comment("")
    out.comment("OpenTelemetry, as its Prometheus exporter prints it")
    _open_telemetry(out, counts)
    return out.lines


def _broker_wide(out: Exposition, cluster: str, counts: SnapshotCounts) -> None:
    labels, began_s = {"cluster": cluster}, printed.double(counts.began_us // 1000 / 1000)
    out.type(PENDING, "gauge")
    out.sample(PENDING, labels, printed.double(counts.gauge))
    out.type(TIMED_OUT, "counter")
    out.sample(f"{TIMED_OUT}_total", labels, printed.double(len(counts.timed_out_us)))
    out.sample(f"{TIMED_OUT}_created", labels, began_s)
    out.type(SNAPSHOT_MS, "summary")
    out.sample(f"{SNAPSHOT_MS}_count", labels, printed.double(len(counts.completed_us)))
    out.sample(f"{SNAPSHOT_MS}_sum", labels, printed.double(sum(us // 1000 for us in counts.completed_us)))
    out.sample(f"{SNAPSHOT_MS}_created", labels, began_s)


def _topic_level(out: Exposition, stats: TopicStats) -> None:
    topic, tree = stats.topic, stats.tree()
    labels = {"cluster": topic.cluster.name, "namespace": "public/default", "topic": full_name(topic)}
    subscriptions = {
        # only topics that are not persistent drop messages
        name: {**one, "consumersCount": len(one["consumers"]), "msgDropRate": 0.0}
        for name, one in tree["subscriptions"].items()
    }
    _backlog(out, labels, stats, tree)
    for name, field in OF_SUBSCRIPTION:
        _family(out, name, labels, "subscription", subscriptions, field)
    _throttled(out, labels, subscriptions)
    of_replicator = (
        ("rate_in", "msgRateIn"),
        ("rate_out", "msgRateOut"),
        ("throughput_in", "msgThroughputIn"),
        ("throughput_out", "msgThroughputOut"),
        ("backlog", "replicationBacklog"),
        ("connected_count", "connected"),
        ("disconnected_count", "disconnected"),
        ("rate_expired", "msgRateExpired"),
        ("delay_in_seconds", "delay"),
    )
    remotes = {
        peer: {
            **one,
            "disconnected": not one["connected"],
            "delay": oldest_pending_us(topic.replicators[peer]) // 1_000_000 + 0.0,
        }
        for peer, one in tree["replication"].items()
        if peer in topic.replicators
    }
    for suffix, field in of_replicator:
        _family(out, f"pulsar_replication_{suffix}", labels, "remote_cluster", remotes, field)


def _backlog(out: Exposition, labels: dict[str, str], stats: TopicStats, tree: dict[str, Any]) -> None:
    """The topic's backlog and its quotas, in the order of `TopicStats.printTopicStats`."""
    for name, field in OF_BACKLOG:
        out.type(name, "gauge")
        out.sample(name, labels, _plain(tree[field]))
    out.type(EVICTIONS, "gauge")
    for type_, label in ((SIZE, "size"), (MESSAGE_AGE, "time")):
        count = stats.topic.timers.evictions[type_]
        out.sample(EVICTIONS, {**labels, "quota_type": label}, _plain(count))


def _family(
    out: Exposition,
    name: str,
    labels: dict[str, str],
    label: str,
    members: dict[str, dict[str, Any]],
    field: str,
) -> None:
    if members:
        out.type(name, "gauge")
    for member, fields in members.items():
        out.sample(name, {**labels, label: member}, _plain(fields[field]))


def _throttled(out: Exposition, labels: dict[str, str], members: dict[str, dict[str, Any]]) -> None:
    """Times that a dispatch rate limit held a subscription's dispatcher back, by the limit."""
    for unit, field in (("msg", "Msg"), ("bytes", "Bytes")):
        name = f"pulsar_subscription_dispatch_throttled_{unit}_events"
        if members:
            out.type(name, "gauge")
        for member, fields in members.items():
            for reason in ("subscription", "topic", "broker"):
                value = fields[f"dispatchThrottled{field}EventsBy{reason.title()}Limit"]
                out.sample(name, {**labels, "subscription": member, "reason": reason}, _plain(value))


def _plain(value: float | int | bool) -> str:
    """A value as Pulsar's own writer prints it: doubles are cut after three decimals."""
    if isinstance(value, float):
        numerator, denominator = value.as_integer_ratio()
        return printed.three_decimals(numerator, denominator)
    return str(int(value))


def full_name(topic: Topic) -> str:
    """The topic as Pulsar names it, in its namespace."""
    return f"persistent://{topic.runtime.scenario.topics[topic.base].namespace}/{topic.name}"


def _open_telemetry(out: Exposition, counts: SnapshotCounts) -> None:
    scope = {"otel_scope_name": SCOPE}
    out.type(f"{OPERATIONS}_total", "counter")
    out.sample(f"{OPERATIONS}_total", scope, printed.double(counts.started))
    out.type(DURATION, "histogram")
    for result, durations_us in (("success", counts.completed_us), ("timeout", counts.timed_out_us)):
        if not durations_us:
            continue  # an attribute set appears with its first value
        labels = {**scope, RESULT: result}
        durations_ms = [us // 1000 for us in durations_us]
        for bound in BUCKETS:
            out.sample(
                f"{DURATION}_bucket",
                {**labels, "le": printed.double(bound)},
                str(sum(ms <= bound * 1000 for ms in durations_ms)),
            )
        out.sample(f"{DURATION}_bucket", {**labels, "le": "+Inf"}, str(len(durations_ms)))
        out.sample(f"{DURATION}_count", labels, str(len(durations_ms)))
        out.sample(f"{DURATION}_sum", labels, printed.double(sum(durations_ms) / 1000))
