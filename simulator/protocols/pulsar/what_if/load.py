"""How busy the consumers of the first failover are, and how long its backlog takes to drain.

Rules: nothing is simulated. The rates are means, so they are for a text beside an answer and for estimating
the time that runs take; no figure of a run depends on them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.scenarios.settings import SETTINGS
from simulator.system.measured import Flow, Load

if TYPE_CHECKING:
    from simulator.protocols.pulsar.scenario.client_model import ProducerSpec
    from simulator.protocols.pulsar.scenario.model import PulsarScenario
    from simulator.scenarios.model import CommandSpec

PERIOD = "replicatedSubscriptionsSnapshotFrequencyMillis"
ENDS = ("cluster.crash", "cluster.lose")
"""The commands that end the traffic of a cluster's producers."""

RECONNECT_S = 0.5
"""Until the consumers have subscribed again; the receiver queues are empty until then."""


def load_of(scenario: PulsarScenario) -> Load | None:
    """The load of the consumers that the first failover moves; None without a failover."""
    moves = [spec for spec in scenario.commands if spec.do == "subscription.fail-over"]
    if not moves:
        return None
    move = min(moves, key=lambda spec: spec.at_us)
    subscription = scenario.subscriptions[move.arguments["subscription"]]
    consumers = [one for one in scenario.consumers.values() if one.subscription == subscription.name]
    producers = [one for one in scenario.producers.values() if one.topic == subscription.topic]
    flows = tuple(_flow(one, scenario) for one in producers if one.every_us)
    rate = sum(flow.rate for flow in flows)
    spans_s = [one.processing.mean_us() / 1e6 for one in consumers]
    if not consumers or not all(spans_s):
        return Load(rate, None, RECONNECT_S, flows)
    partitions = max(1, scenario.topics[subscription.topic].partitions)
    working = spans_s if "Shared" in subscription.type else spans_s[:partitions]
    capacity = sum(1 / span for span in working)
    unread = max(0.0, rate - capacity) * move.at_us / 1e6
    backlog = rate * (_behind_s(scenario, move) + RECONNECT_S) + unread
    # the consumer that subscribes first fills its receiver queue before the others are there
    prefetched = min(backlog, max(one.receiver_queue_size for one in consumers))
    return Load(rate, capacity, RECONNECT_S + max(prefetched * max(working), backlog / capacity), flows)


def _flow(producer: ProducerSpec, scenario: PulsarScenario) -> Flow:
    """What it publishes until it stops, or until its cluster crashes and is not started again."""
    ends_us = [] if producer.stop_us is None else [producer.stop_us]
    restarted = any(spec.do == "cluster.restart" for spec in scenario.commands)
    for spec in scenario.commands:
        if spec.do in ENDS and spec.arguments["cluster"] == producer.cluster and not restarted:
            ends_us.append(spec.at_us)
    assert producer.every_us, "it has a rate"
    return Flow(producer.every_us, producer.start_us, min(ends_us, default=None), producer.count)


def _behind_s(scenario: PulsarScenario, move: CommandSpec) -> float:
    """By how much the target's cursor is behind the source's: half a period, and a snapshot's own time."""
    source = move.arguments["from"]
    own = scenario.clusters[source].settings if source in scenario.clusters else {}
    settings = {**scenario.settings, **own}
    period_s = settings.get(PERIOD, SETTINGS[PERIOD].default_under(scenario.options)) / 1000
    latency_s = max((link.latency.nominal_us for link in scenario.links.values()), default=0) / 1e6
    return period_s / 2 + 3 * latency_s
