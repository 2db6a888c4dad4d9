"""Quiet stretches in columns: the same rows, figures and live state as event by event, wherever they begin and end."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator import World
from simulator.pulsar import producer
from simulator.pulsar.quiet import groups, running

UNTIL_US = 1_500_000

LATENCIES = ("40ms", "0ms", "{distribution: lognormal, median: 5ms, sigma: 0.8}", "{distribution: uniform, low: 0ms, high: 30ms}")
PROCESSING = ("500us", "1us", "3ms", "{distribution: uniform, low: 1us, high: 4ms}", "{distribution: exponential, mean: 1ms}")
RATES = ("rate: 1000/s", "rate: 333/s", "rate: 2000/s, arrivals: poisson", "rate: 900/s, count: 700", "rate: 700/s, arrivals: poisson, stop: 900ms, keys: 7")
COMMANDS = (
    "do: producer.publish, producer: web, count: 3", "do: producer.slow, producer: web, every: 1400us", "do: consumer.pause, consumer: reader",
    "do: topic.unload, topic: orders, cluster: a", "do: client.kill, client: reader", "do: link.slow, link: a <-> b, latency: 3ms",
    "do: consumer.hold, consumer: reader, share: 5%, for: 30ms", "do: consumer.hold, consumer: reader, share: 1%", "do: consumer.release, consumer: reader",
    "do: link.cut, link: a -> b", "do: link.heal, link: a -> b", "do: cluster.crash, cluster: a", "do: cluster.crash, cluster: b",
)  # fmt: skip


@st.composite
def scenarios(draw) -> str:
    """Evenly published messages with everything that may come between, as a scenario's text."""
    def pick(*choices):
        return draw(st.sampled_from(choices))

    commands = sorted(draw(st.lists(st.tuples(st.integers(50, 1400), st.sampled_from(COMMANDS)), max_size=3)))
    names = pick("a, b", "a, b, c")
    lines = [
        "format: 1", "name: quiet", "title: Quiet", "family: replicated-subscriptions", f"seed: {draw(st.integers(0, 99))}", "until: 1500ms",
        f"settings: {{managedLedgerMaxEntriesPerLedger: {pick(50, 700, 50000)}, managedLedgerMinLedgerRolloverTimeMinutes: {pick(0, 0, 10)},"
        f" replicationProducerQueueSize: {pick(30, 200, 1000)}, replicatedSubscriptionsSnapshotFrequencyMillis: {pick(200, 1000)}, retentionCheckIntervalInSeconds: 1,"
        f" managedLedgerDefaultMarkDeleteRateLimit: {pick(1, 1, 7, 0)}, managedLedgerCursorPositionFlushSeconds: {pick(60, 1)}}}",
        "clusters: {" + ", ".join(f"{name}: {{}}" for name in names.split(", ")) + "}", f"links: {{default: {{latency: {draw(st.sampled_from(LATENCIES))}}}}}",
        f"topics: {{orders: {{clusters: [{names}]}}}}", "producers:", f"  web: {{topic: orders, cluster: a, start: 1ms, {draw(st.sampled_from(RATES))}}}",
        *pick((), (), ("  other: {topic: orders, cluster: b, start: 300ms, rate: 20/s, batch: 3}",)),
        f"subscriptions: {{billing: {{topic: orders, type: {pick('Exclusive', 'Failover')}, replicateSubscriptionState: {pick('true', 'false')}, initialPosition: Earliest}}}}",
        f"consumers: {{reader: {{subscription: billing, cluster: a, processing: {draw(st.sampled_from(PROCESSING))}, receiverQueueSize: {pick(1000, 60)},"
        f" acknowledgmentGroupTime: {pick('100ms', '7ms', '1s')}, start: {pick('0s', '200ms')}}}}}",
        "commands:" if commands else "commands: []", *(f"  - {{at: {at}ms, {do}}}" for at, do in commands),
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def everything(world: World) -> tuple[str, str, str]:
    """Digest, summary and live state."""
    return world.digest(), json.dumps(world.summary(), sort_keys=True), json.dumps(world.view(), sort_keys=True)


def states(text: str, instants: list[int]) -> list[tuple[str, str, str]]:
    """Everything at these instants."""
    world, found = World.open(text, rows_max=None), []
    for at_us in instants:
        world.run(at_us)
        found.append(everything(world))
    return found


@pytest.fixture(scope="module", autouse=True)
def as_short_as_can_be():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running, "MESSAGES_MIN", 1)
        patch.setattr(running, "MESSAGES_BETWEEN_LOOKS_MAX", 0)
        yield


def event_by_event(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(producer, "run_quietly", lambda _producer: None)


@settings(max_examples=25, deadline=None)
@given(scenarios(), st.lists(st.integers(0, UNTIL_US), max_size=3), st.lists(st.integers(0, UNTIL_US), max_size=4))
def test_the_same_as_event_by_event(text, instants, sought):
    instants = [*sorted(instants), UNTIL_US]
    with pytest.MonkeyPatch.context() as patch:
        event_by_event(patch)
        wanted = states(text, instants)
    assert states(text, instants) == wanted
    world = World.open(text, rows_max=None)
    for at_us in (*sought, UNTIL_US):
        world.seek(at_us)
    assert everything(world.fork()) == wanted[-1] == everything(world)


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


def test_plain_traffic_is_quiet_nearly_always(monkeypatch):
    published = []

    def counting(one):
        before = one.scheduled
        events = running.run_quietly(one)
        published.append(one.scheduled - before)
        return events

    monkeypatch.setattr(producer, "run_quietly", counting)
    World.open(PLAIN).run()
    assert sum(published) > 2_800
    assert max(published) > 800, "groups of acks end no stretch"


def test_a_full_lab_pauses_at_the_same_instant(monkeypatch):
    full = World.open(PLAIN, rows_max=9_000)
    full.run()
    event_by_event(monkeypatch)
    wanted = World.open(PLAIN, rows_max=9_000)
    wanted.run()
    assert (full.now_us, everything(full)) == (wanted.now_us, everything(wanted)) and full.limit_reached


def survey_late(monkeypatch):
    """The snapshots' clock is passed over by ten milliseconds."""
    survey = running._survey

    def late(one):
        busy_us, timer_us, horizon_us, sent = survey(one)
        return busy_us, timer_us, horizon_us + 10_000, sent

    monkeypatch.setattr(running, "_survey", late)


def forget_snapshots(monkeypatch):
    """A group of acks is sent in a stretch though an Update follows from it."""
    gather = groups.Groups._gather

    def forgetting(one):
        gather(one)
        one._usable_from = groups.NEVER

    monkeypatch.setattr(groups.Groups, "_gather", forgetting)


@pytest.mark.parametrize("mistake", [survey_late, forget_snapshots])
def test_a_stretch_that_passes_over_something_else_is_found_out(monkeypatch, mistake):
    """The comparison notices what it is there for."""
    with monkeypatch.context() as patch:
        event_by_event(patch)
        wanted = states(PLAIN, [3_000_000])
    mistake(monkeypatch)
    assert states(PLAIN, [3_000_000]) != wanted
