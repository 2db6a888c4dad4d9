"""Random traffic with every kind of interruption, cut and sought at random instants."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from simulator import World
from tests.examples import examples

UNTIL_US = 1_500_000

LATENCIES = (
    "40ms",
    "0ms",
    "{distribution: lognormal, median: 5ms, sigma: 0.8}",
    "{distribution: uniform, low: 0ms, high: 30ms}",
)
PROCESSING = (
    "500us",
    "1us",
    "3ms",
    "{distribution: uniform, low: 1us, high: 4ms}",
    "{distribution: exponential, mean: 1ms}",
)
RATES = (
    "rate: 1000/s",
    "rate: 333/s",
    "rate: 90/s",
    "rate: 90/s, arrivals: poisson",
    "rate: 2000/s, arrivals: poisson",
    "rate: 900/s, count: 700",
    "rate: 700/s, arrivals: poisson, stop: 900ms, keys: 7",
)
READERS = ("reader", "other-1", "other-2", "a-first")
COMMANDS = (
    "do: producer.publish, producer: web, count: 3",
    "do: producer.slow, producer: web, every: 1400us",
    "do: consumer.pause, consumer: reader",
    "do: topic.unload, topic: orders, cluster: a",
    "do: client.kill, client: reader",
    "do: link.slow, link: a <-> b, latency: 3ms",
    "do: consumer.hold, consumer: reader, share: 5%, for: 30ms",
    "do: consumer.hold, consumer: reader, share: 1%",
    "do: consumer.release, consumer: reader",
    "do: consumer.negative-acknowledge, consumer: reader, messages: [web/30, web/60, web/61]",
    "do: subscription.skip, subscription: billing, cluster: a, count: 3",
    "do: subscription.reset, subscription: billing, cluster: a, position: earliest",
    "do: consumer.slow, consumer: reader, processing: 5ms",
    "do: link.cut, link: a -> b",
    "do: link.partition, link: a <-> b",
    "do: link.heal, link: a -> b",
    "do: cluster.crash, cluster: a",
    "do: cluster.crash, cluster: b",
    "do: cluster.crash, cluster: b, fault: process, clients: false",
    "do: cluster.restart, cluster: b",
)


@st.composite
def scenarios(draw) -> str:
    """Evenly published messages with every kind of interruption, as a scenario's text."""

    def pick(*choices):
        return draw(st.sampled_from(choices))

    commands = sorted(draw(st.lists(st.tuples(st.integers(50, 1400), st.sampled_from(COMMANDS)), max_size=3)))
    names, type_ = (
        pick("a, b", "a, b, c"),
        pick("Exclusive", "Failover", "Shared", "Shared", "Shared", "Key_Shared"),
    )
    readers = READERS[: pick(1, 2, 3, 4)] if "Shared" in type_ else READERS[:1]
    asides = "".join(
        pick("", f", {aside}")
        for aside in (
            f"hold: {{share: 5%, for: {pick('30ms', '400ms', '1s')}}}",
            f"negativeAcknowledge: {{share: 3%}}, negativeAckRedeliveryDelay: {pick('13ms', '200ms')}",
        )
    )
    lines = [
        "format: 1",
        "name: quiet",
        "title: Quiet",
        "family: replicated-subscriptions",
        f"seed: {draw(st.integers(0, 99))}",
        "until: 1500ms",
        f"settings: {{managedLedgerMaxEntriesPerLedger: {pick(50, 700, 50000)}, "
        f"managedLedgerMinLedgerRolloverTimeMinutes: {pick(0, 0, 10)},"
        f" replicationProducerQueueSize: {pick(30, 200, 1000)}, "
        f"replicatedSubscriptionsSnapshotFrequencyMillis: {pick(200, 1000)}, "
        f"retentionCheckIntervalInSeconds: 1,"
        f" managedLedgerDefaultMarkDeleteRateLimit: {pick(1, 1, 7, 0)}, "
        f"managedLedgerCursorPositionFlushSeconds: {pick(60, 1)},"
        f" managedLedgerNewEntriesCheckDelayInMillis: {pick(0, 0, 1, 3, 10)},"
        f" maxUnackedMessagesPerConsumer: {pick(50000, 50000, 40)}, dispatcherMaxRoundRobinBatchSize: "
        f"{pick(20, 1)}}}",
        "clusters: {" + ", ".join(f"{name}: {{}}" for name in names.split(", ")) + "}",
        f"links: {{default: {{latency: {draw(st.sampled_from(LATENCIES))}}}}}",
        f"topics: {{orders: {{clusters: [{names}]}}}}",
        "producers:",
        f"  web: {{topic: orders, cluster: a, start: 1ms, {draw(st.sampled_from(RATES))}}}",
        *pick((), (), ("  other: {topic: orders, cluster: b, start: 300ms, rate: 20/s, batch: 3}",)),
        (
            f"subscriptions: {{billing: {{topic: orders, type: {type_}, replicateSubscriptionState: "
            f"{pick('true', 'false')}, initialPosition: Earliest}}}}"
        ),
        "consumers:",
        *(
            f"  {name}: {{subscription: billing, cluster: a, processing: "
            f"{draw(st.sampled_from(PROCESSING))}, receiverQueueSize: {pick(1000, 60)},"
            f" acknowledgmentGroupTime: {pick('100ms', '7ms', '1s')}, start: "
            f"{pick('0s', '0s', '200ms')}{asides}}}"
            for name in readers
        ),
        "commands:" if commands else "commands: []",
        *(f"  - {{at: {at}ms, {do}}}" for at, do in commands),
    ]
    return "\n".join(lines) + "\n"


def everything(world: World) -> tuple[str, str, str]:
    """Digest, summary and live state."""
    return (
        world.digest(),
        json.dumps(world.summary(), sort_keys=True),
        json.dumps(world.view(), sort_keys=True),
    )


def states(text: str, instants: list[int]) -> list[tuple[str, str, str]]:
    """Everything at these instants."""
    world, found = World.open(text, rows_max=None), []
    for at_us in instants:
        world.run(at_us)
        found.append(everything(world))
    return found


PLAIN = """
format: 1
name: plain
title: Plain
family: replicated-subscriptions
until: 3s
clusters: {a: {}, b: {}}
links: {default: {latency: 40ms}}
topics: {orders: {clusters: [a, b]}}
producers: {web: {topic: orders, cluster: a, start: 1ms, rate: 1000/s}}
subscriptions: {billing: {topic: orders, type: Exclusive, replicateSubscriptionState: true, initialPosition: Earliest}}
consumers: {reader: {subscription: billing, cluster: a, processing: 500us}}
"""


@examples(10)
@given(
    scenarios(),
    st.lists(st.integers(0, UNTIL_US), max_size=3),
    st.lists(st.integers(0, UNTIL_US), max_size=4),
)
def test_a_run_is_the_same_wherever_it_is_cut_and_sought(text, instants, sought):
    whole = states(text, [UNTIL_US])[-1]
    assert states(text, [*sorted(instants), UNTIL_US])[-1] == whole
    world = World.open(text, rows_max=None)
    for at_us in (*sought, UNTIL_US):
        world.seek(at_us)
    assert everything(world.fork()) == whole == everything(world)
