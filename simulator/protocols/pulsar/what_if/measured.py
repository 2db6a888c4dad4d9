"""What an experiment measures in a run with failovers, and the period with which its faults are moved."""

from __future__ import annotations

from simulator.protocols.pulsar.scenario.model import PulsarScenario
from simulator.protocols.pulsar.what_if.closed_form import expected
from simulator.protocols.pulsar.what_if.load import load_of
from simulator.protocols.pulsar.what_if.reduced import reduced
from simulator.protocols.pulsar.what_if.settled import settled
from simulator.scenarios.settings import SETTINGS
from simulator.system.measured import Failure, Measure, Measured, MeasuredRun

PERIOD = "replicatedSubscriptionsSnapshotFrequencyMillis"

SUMS = (
    Measure("duplicates", "duplicates"),
    Measure("extra_deliveries", "extra deliveries"),
    Measure("redeliveries", "redelivered"),
    Measure("stranded", "not replicated"),
    Measure("stranded_unprocessed", "not replicated (unread)"),
    Measure("stranded_missing", "not replicated by the end (unread)"),
    Measure("lost", "lost"),
    Measure("reordered", "reordered"),
)
"""Messages of a run: the sum over its failovers."""

LONGEST = (
    Measure("outage_us", "delivery gap", "us"),
    Measure("drained_us", "until the backlog was acked", "us"),
)
"""The longest of the run's failovers, `drained_us` from the failover on; none if one has no value."""

FAULTS = {
    "subscription.fail-over": "consumers of {subscription} move from {from} to {to}",
    "cluster.crash": "{cluster} goes down",
    "cluster.lose": "{cluster} is lost permanently",
    "client.kill": "{client} is killed",
    "link.cut": "the link {link} is cut",
    "link.partition": "the link {link} is partitioned",
    "link.slow": "the link {link} takes {latency}",
    "topic.unload": "{topic} is unloaded in {cluster}",
    "topic.crash": "the broker of {topic} in {cluster} crashes",
    "subscription.reset": "the cursor of {subscription} in {cluster} is reset",
}


def _of(run: MeasuredRun) -> dict[str, int | None]:
    failovers = run.counted().failovers
    found: dict[str, int | None] = {
        one.name: sum(getattr(each, one.name) for each in failovers) for one in SUMS
    }
    drained = [None if one.drained_us is None else one.drained_us - one.at_us for one in failovers]
    return {
        **found,
        "outage_us": _longest([one.outage_us for one in failovers]),
        "drained_us": _longest(drained),
    }


def _period_us(scenario: PulsarScenario) -> int | None:
    """The longest period in force at the beginning with which a subscription reports its progress."""
    subscriptions = scenario.subscriptions.values()
    periods_us = [one.ack_sync_period_us for one in subscriptions if one.acknowledgement_sync == "periodic"]
    if any(one.replicate_subscription_state for one in subscriptions):
        otherwise_ms = scenario.settings.get(PERIOD, SETTINGS[PERIOD].default_under(scenario.options))
        own = [cluster.settings for cluster in scenario.clusters.values()]
        own += [topic.settings for topic in scenario.topics.values()]
        given_ms = [settings[PERIOD] for settings in own if PERIOD in settings]
        periods_us += [1000 * period_ms for period_ms in (otherwise_ms, *given_ms)]
    return max(periods_us, default=None)


def _late(scenario: PulsarScenario) -> tuple[str, ...]:
    """Where messages may come out of order at any time: several consumers, or several partitions."""
    for name, subscription in scenario.subscriptions.items():
        consumers = [one for one in scenario.consumers.values() if one.subscription == name]
        if len(consumers) > 1 or scenario.topics[subscription.topic].partitions > 1:
            return ("reordered",)
    return ()


def _uncounted(scenario: PulsarScenario) -> str:
    """Why no run can have a duplicate: nothing moves, by a failover or a migration."""
    if any(spec.do.startswith(("subscription.fail-over", "migration.")) for spec in scenario.commands):
        return ""
    return (
        "Duplicates are counted for a move of a subscription to another cluster (subscription.fail-over, or "
        "a migration), and this scenario has none, so there are 0. What is delivered again within one "
        "cluster is counted in the lab of a run, as repeated."
    )


def _longest(spans_us: list[int | None]) -> int | None:
    known = [span for span in spans_us if span is not None]
    return max(known) if known and len(known) == len(spans_us) else None


def _failures(run: MeasuredRun) -> list[Failure]:
    return [
        Failure(one.at_us, f"{one.subscription} from {one.source} to {one.target}")
        for one in run.counted().failovers
    ]


def _causes(run: MeasuredRun) -> dict[str, int]:
    found: dict[str, int] = {}
    for one in run.counted().failovers:
        for cause, count in one.by_cause.items():
            found[cause] = found.get(cause, 0) + count
    return found


def _delivering(run: MeasuredRun) -> int:
    return sum(bool(one.pending_repeats) for one in run.counted().failovers)


MEASURED = Measured(
    (*SUMS, *LONGEST),
    _of,
    _period_us,
    FAULTS,
    settled,
    expected,
    _late,
    _failures,
    causes=_causes,
    delivering=_delivering,
    load=load_of,
    reduced=reduced,
    uncounted=_uncounted,
    period_says="snapshot period",
)
