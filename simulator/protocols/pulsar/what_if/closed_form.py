"""The number of duplicates of a failover in closed form, for regular traffic and in-order acks.

Messages are published in A each e, their processing takes p < e, acks are sent at multiples of g, the links
take L (A to B) and M (back), snapshots are requested in A at multiples of T. N(t) is the number of messages
published up to t. Then (docs/counting.md, docs/evidence.md):

- The request of instant t reaches B at t + L, after exactly the N(t) messages published before it, since a
  replicator sends first in, first out. B's response names this position.
- The response is stored in A at c = t + L + M. A uses the snapshot once its mark-delete has passed the
  response: all N(c) messages are acked. That is u: c itself if they are by then, else the first multiple of g
  that is at least c and not before the last of them has been processed.
- The update reaches B at v = u + L and moves the cursor there to the N(t) messages.
- The failover is commanded at F. In the mode crash the consumer's successor reads in B at X = F, in the mode
  planned at X, when the message in processing at F is done. Acknowledged by then are the messages that have
  been processed by F (crash), or all N(F) (planned).
- Duplicates: the acknowledged ones less N(t) of the last snapshot with v <= X.

An ack that is due exactly at the end of its group may be sent with it or with the next one, so there are two
values for u. Where they give different results, the result is a range.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from simulator.counting import CountedFailover
from simulator.protocols.pulsar.scenario.model import ConsumerSpec, ProducerSpec, PulsarScenario
from simulator.protocols.pulsar.views import strategies
from simulator.scenarios.model import CommandSpec, LinkSpec
from simulator.scenarios.settings import SETTINGS
from simulator.system.measured import Case, Compared, Figure, Price, figure_words, per_second

PERIOD = "replicatedSubscriptionsSnapshotFrequencyMillis"
FREE_OPTIONS = ("snapshotCacheRule",)
"""Options that change nothing while few snapshots are cached."""
UNUSED = ("brokers", "namespaces", "schemas", "roles", "audiences", "tenants")
"""Sections that a covered scenario does not have."""
IN_FLIGHT_MAX = 900
"""Messages in flight or in a group, below the limits of 1,000 of replicators, receiver queues, ack groups."""
CACHED_MAX = 10
"""Snapshots waiting in the cache, below its default size of 30."""
AFTERWARDS_US = 1_000_000
"""Least time from the last delivery of the backlog to the end of the run."""


def expected(scenario: PulsarScenario) -> dict[str, tuple[int, int]] | None:
    """By measure the least and the greatest value; None if the scenario is outside the assumptions."""
    regular = _regular(scenario)
    if regular is None:
        return None
    early, late = regular.duplicates(late=False), regular.duplicates(late=True)
    if early is None or late is None or max(early, late) >= IN_FLIGHT_MAX:
        return None
    low, high = sorted((early, late))
    ends_us = regular.failover_us + regular.link_us + (high + 1) * regular.processing_us + AFTERWARDS_US
    return {"duplicates": (low, high)} if ends_us <= scenario.until_us else None


@dataclass(frozen=True, slots=True)
class Regular:
    """The quantities of the derivation; instants and spans in microseconds."""

    start_us: int
    every_us: int
    processing_us: int
    group_us: int
    link_us: int
    back_us: int
    period_us: int
    failover_us: int
    planned: bool

    def published(self, at_us: int) -> int:
        """N(t), where a message published at t precedes what the broker does at t."""
        return max(0, (at_us - self.start_us) // self.every_us + 1)

    def duplicates(self, late: bool) -> int | None:
        """The duplicates, None if no update has reached the target; `late`: a due ack misses its group."""
        done_us, acknowledged = self.failover_us, self.published(self.failover_us - self.processing_us)
        if self.planned:
            last_us = self.start_us + (self.published(self.failover_us) - 1) * self.every_us
            # the end of processing comes before what arrives at the same instant
            done_us = max(done_us, last_us + self.processing_us - 1)
            acknowledged = self.published(self.failover_us)
        number = self.failover_us // self.period_us
        while number > 0 and self._applied_us(number * self.period_us, late) > done_us:
            number -= 1
        requested_us = number * self.period_us
        # the first snapshots wait for data and for each other
        if requested_us <= self.start_us + self.link_us + self.back_us + self.period_us:
            return None
        return acknowledged - self.published(requested_us)

    def _applied_us(self, requested_us: int, late: bool) -> int:
        """v: when the update of a snapshot reaches the target."""
        stored_us = requested_us + self.link_us + self.back_us
        last_us = self.start_us + (self.published(stored_us) - 1) * self.every_us + self.processing_us
        if not self.group_us:
            return max(stored_us, last_us) + self.link_us
        sent_us = -(-(last_us + late) // self.group_us) * self.group_us
        return max(stored_us, sent_us) + self.link_us


def _regular(scenario: PulsarScenario) -> Regular | None:
    """The scenario's quantities if it is regular in every respect."""
    command, topic = _only_failover(scenario), _only(scenario.topics)
    producer, consumer = _only(scenario.producers), _only(scenario.consumers)
    subscription = _only(scenario.subscriptions)
    if not (command and producer and subscription and consumer and topic and _plain(scenario)):
        return None
    source, target = command.arguments["from"], command.arguments["to"]
    there, back = scenario.links[source, target], scenario.links[target, source]
    if (
        producer.cluster != source
        or consumer.cluster != source
        or not subscription.replicate_subscription_state
        or subscription.acknowledgement_sync != "none"
        or topic.partitions
        or topic.settings
        or topic.replication is not None
        or set(topic.clusters) != {source, target}
        or not _publishes_regularly(producer)
        or not _acknowledges_in_order(consumer)
        or not (_constant(there) and _constant(back))
    ):
        return None
    regular = Regular(
        start_us=producer.start_us,
        every_us=producer.every_us,
        processing_us=consumer.processing.value_us,
        group_us=consumer.acknowledgment_group_time_us,
        link_us=there.latency.value_us,
        back_us=back.latency.value_us,
        period_us=1000 * scenario.settings.get(PERIOD, SETTINGS[PERIOD].default_under(scenario.options)),
        failover_us=command.at_us,
        planned=command.arguments["mode"] == "planned",
    )
    return regular if _within_limits(regular, producer) else None


def _only(section: dict[str, Any]) -> Any:
    """The only entry of a section, None if there is another number of them."""
    return next(iter(section.values())) if len(section) == 1 else None


def _only_failover(scenario: PulsarScenario) -> CommandSpec | None:
    """The scenario's only command, if it is a failover that a closed form covers."""
    if len(scenario.commands) != 1 or scenario.commands[0].do != "subscription.fail-over":
        return None
    command = scenario.commands[0]
    covered = command.arguments["mode"] in ("planned", "crash") and not command.arguments["producers"]
    return command if covered else None


def _plain(scenario: PulsarScenario) -> bool:
    """Whether brokers, settings and options have their defaults, except those that the formula has."""
    return (
        not scenario.recording
        and len(scenario.clusters) == 2
        and not any(getattr(scenario, section) for section in UNUSED)
        and not any(cluster.settings for cluster in scenario.clusters.values())
        and all(name == PERIOD for name in scenario.settings)
        and all(name in FREE_OPTIONS for name in scenario.options)
    )


def _publishes_regularly(producer: ProducerSpec) -> bool:
    return (
        bool(producer.every_us)
        and producer.arrivals == "regular"
        and producer.at_us is None
        and producer.stop_us is None
        and producer.batch == 1
        and producer.delay is None
        and producer.replicate_to is None
        and not producer.paused
    )


def _acknowledges_in_order(consumer: ConsumerSpec) -> bool:
    return (
        consumer.processing.kind == "constant"
        and consumer.acknowledge == "individual"
        and consumer.hold is None
        and consumer.negative_acknowledge is None
        and consumer.receiver_queue_size >= IN_FLIGHT_MAX
        and not consumer.start_us
        and consumer.stop_us is None
        and not consumer.ack_timeout_us
        and not consumer.paused
    )


def _constant(link: LinkSpec) -> bool:
    faults = (link.bandwidth_bytes_per_s, link.loss, link.duplication, link.reordering)
    return link.latency.kind == "constant" and link.latency.value_us > 0 and faults == (None,) * 4


def _within_limits(regular: Regular, producer: ProducerSpec) -> bool:
    """Whether no queue, group or cache is full, and the traffic lasts beyond the failover."""
    every_us, group_us = regular.every_us, regular.group_us
    last_us = None if producer.count is None else producer.start_us + (producer.count - 1) * every_us
    return (
        regular.processing_us < every_us < regular.period_us
        and regular.link_us + regular.back_us < IN_FLIGHT_MAX * every_us
        and group_us < IN_FLIGHT_MAX * every_us
        and group_us + every_us + regular.processing_us < CACHED_MAX * regular.period_us
        and (last_us is None or last_us > regular.failover_us + regular.period_us)
    )


# --- the figures by which changed reruns of a run with failovers are compared


FIGURES = (
    Figure("duplicates", "duplicates", "duplicates", grows=True),
    Figure("redeliveries", "redelivered", "redelivered", grows=True),
    Figure("stranded", "not replicated", "not replicated"),
    Figure("lost", "lost", "lost"),
    Figure("outage_us", "delivery gap", "delivery gap", "us"),
    Figure("markers", "markers at the source"),
)

PRICES = (
    Price("markers_per_s", "markers/s"),
    Price("marker_bytes_per_s", "bytes/s of markers"),
    Price("outage_us", "delivery gap", "us"),
)


def _cases(world: Any) -> list[Case]:
    """The failovers as in the summary, each with `moved`, `markers` and the run's rates of markers.

    `markers` is the number of marker entries in the logs of the cluster that was left. The rates count the
    markers that all regions' logs stored.
    """
    summary = world.summary()
    costs = strategies.costs(world)
    rates = {
        "markers_per_s": per_second(costs["marker_entries"], world.now_us),
        "marker_bytes_per_s": per_second(costs["marker_bytes"], world.now_us),
    }
    markers = {
        cluster: sum(sum(topic["markers"].values()) for topic in figures["topics"].values())
        for cluster, figures in summary["clusters"].items()
    }
    return [
        {
            **figures,
            "label": f"{figures['subscription']} from {figures['from']} to {figures['to']}",
            "moved": _moved(world, counted),
            "markers": markers[figures["from"]],
            **rates,
        }
        for figures, counted in zip(summary["failovers"], world.counted().failovers, strict=True)
    ]


def _moved(world: Any, failover: CountedFailover) -> bool:
    """Whether the consumers had subscribed at the target by the end of the window."""
    trace = world.trace
    finished = (
        trace.row(seq)
        for seq in trace.seqs(
            failover.opened_seq, failover.closed_seq, types=("failover.finished",), limit=None
        )
    )
    return any(
        (row["subscription"], row["peer"]) == (failover.subscription, failover.target) for row in finished
    )


def _difference(real: Case, other: Case) -> str:
    if not other["moved"]:
        return "the consumers had not moved by the end of the run"
    parts = figure_words(FIGURES, real, other)
    if real["first_delivery_us"] is not None and other["first_delivery_us"] is None:
        parts.append("nothing left to deliver")
    return ", ".join(parts) or "no difference"


def _harm(real: Case, other: Case) -> tuple[int, ...]:
    """The harm of a case, as a sort key: worst is that the consumers never moved.

    Otherwise a loss is worse than any number of duplicates.
    """
    if not other["moved"]:
        return (1,)
    return (
        0,
        *(other[name] for name in ("lost", "duplicates", "stranded", "redeliveries")),
        other["outage_us"] or 0,
    )


ASSUMPTIONS = {
    "planned": "assumes a planned move while the region was still up",
    "drained": "assumes a planned move while the region was still up",
    "all-up": "assumes that no region fails",
}
"""Changes, by key, that are impossible when a region crashes without notice."""


def _assumes(real: Case, key: str) -> str | None:
    return ASSUMPTIONS.get(key) if real["mode"] in ("crash", "auto") else None


COMPARED = Compared(
    "failover",
    _cases,
    FIGURES,
    _difference,
    _harm,
    "no failover",
    ("This run has no failover, so there is nothing to compare. Press O to fail over."),
    _assumes,
    PRICES,
)
