"""Tests of the batched fast path.

The same rows, figures and live state as event by event, wherever it begins and ends.
"""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator import World, load_scenario_text
from simulator.protocols.pulsar.broker import dispatch_shared
from simulator.protocols.pulsar.client import producer
from simulator.protocols.pulsar.fast_path import flow, groups, peer_events, running, survey, wire, work
from simulator.protocols.pulsar.storage import tail_read
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


@pytest.fixture(scope="module", autouse=True)
def as_short_as_can_be():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running, "MESSAGES_MIN", 1)
        patch.setattr(running, "MESSAGES_MIN_PER_CONSUMER", 0)
        patch.setattr(running, "MESSAGES_BETWEEN_LOOKS_MAX", 0)
        yield


def event_by_event(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(producer, "run_stretch", lambda _producer: None)


@examples(10)
@given(
    scenarios(),
    st.lists(st.integers(0, UNTIL_US), max_size=3),
    st.lists(st.integers(0, UNTIL_US), max_size=4),
)
def test_batched_fast_path_equals_event_by_event(text, instants, sought):
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

CLOSED = (
    PLAIN
    + """commands:
  - {at: 1100ms, do: cluster.crash, cluster: b, fault: process, clients: false}
  - {at: 1101ms, do: cluster.restart, cluster: b}
"""
)


SHARED = """
format: 1
name: shared
title: Shared
family: replicated-subscriptions
until: 4s
clusters: {a: {}, b: {}, c: {}}
links: {default: {latency: {distribution: lognormal, median: 40ms, sigma: 0.3}}}
topics: {orders: {clusters: [a, b, c]}}
producers: {web: {topic: orders, cluster: a, start: 1ms, rate: 1000/s}}
subscriptions: {billing: {topic: orders, type: Shared, replicateSubscriptionState: true, initialPosition: Earliest}}
consumers:
""" + "".join(
    (
        f"  {name}: {{subscription: billing, cluster: a, processing: 2ms, negativeAckRedeliveryDelay: 1s, "
        f"negativeAcknowledge: {{share: 1%}}, hold: {{share: 5%, for: 2s}}}}\n"
    )
    for name in ("one", "two", "three", "four")
)
TAIL = PLAIN.replace("until: 3s", "until: 3s\nsettings: {managedLedgerNewEntriesCheckDelayInMillis: 10}")
SLOW_TAIL = TAIL.replace("rate: 1000/s", "rate: 90/s")
UNEVEN_TAIL = TAIL.replace("rate: 1000/s", "rate: 64/s").replace(
    "latency: 40ms", "latency: {distribution: uniform, low: 0ms, high: 30ms}"
)
RANDOM_TAIL = TAIL.replace("rate: 1000/s", "rate: 60/s, arrivals: poisson").replace(
    "latency: 40ms", "latency: 5ms"
)
HELD_SHORTLY = SHARED.replace("for: 2s", "for: 30ms")


def batched_messages(monkeypatch, text: str) -> list[int]:
    """How many messages each search for a batched stretch found."""
    published = []

    def counting(one):
        before = one.scheduled
        events = running.run_stretch(one)
        published.append(one.scheduled - before)
        return events

    monkeypatch.setattr(producer, "run_stretch", counting)
    World.open(text).run()
    return published


def test_plain_traffic_takes_the_batched_fast_path_nearly_always(monkeypatch):
    published = batched_messages(monkeypatch, PLAIN)
    assert sum(published) > 2_800
    assert max(published) > 800, "groups of acks end no stretch"


@pytest.mark.parametrize("tracker", ["bitmap", "rounds"])
@pytest.mark.parametrize("delay", ["300ms", "1s"])
def test_negative_acks_are_requested_on_the_same_timer(monkeypatch, tracker: str, delay: str):
    """Consumers of Shared whose requests are grouped by the client's timer."""
    negative = f"negativeAckRedeliveryDelay: {delay}, negativeAcknowledge: {{share: 8%}}"
    text = NEGATIVE_ACKS.format(tracker=tracker, negative=negative)
    fast = World.from_scenario(load_scenario_text(text))
    fast.run()
    monkeypatch.setattr(producer, "run_stretch", lambda _producer: None)
    slow = World.from_scenario(load_scenario_text(text))
    slow.run()
    assert fast.trace.digest() == slow.trace.digest() and fast.violations == []


NEGATIVE_ACKS = """\
format: 1
name: negative
title: Negative acks of two consumers
family: replicated-subscriptions
until: 12s
options: {{negativeAckTracker: {tracker}}}
clusters: {{a: {{}}, b: {{}}}}
topics: {{t: {{clusters: [a, b]}}}}
producers: {{p: {{topic: t, cluster: a, rate: 100/s, count: 800, arrivals: poisson}}}}
subscriptions: {{s: {{topic: t, type: Shared, replicateSubscriptionState: true}}}}
consumers:
  c: {{subscription: s, cluster: a, processing: 2ms, {negative}}}
  d: {{subscription: s, cluster: a, processing: 2ms, {negative}}}
"""


def test_held_and_negatively_acked_messages_of_four_consumers_do_not_end_the_fast_path(monkeypatch):
    published = batched_messages(monkeypatch, SHARED)
    assert sum(published) > 3_800
    assert max(published) > 400, "in 400 messages are 20 to hold and 9 to give back, and as many come back"


def test_looks_for_new_entries_that_are_late_are_left_to_the_event_engine(monkeypatch):
    late = SLOW_TAIL.replace("settings:", "options: {newEntriesCheckLateness: 3ms}\nsettings:")
    assert sum(batched_messages(monkeypatch, SLOW_TAIL)) > 0
    assert sum(batched_messages(monkeypatch, late)) == 0
    at_once = late.replace("CheckDelayInMillis: 10", "CheckDelayInMillis: 0")
    assert sum(batched_messages(monkeypatch, at_once)) > 0, "without the delay nothing is late"


def test_markers_at_a_peer_do_not_end_the_fast_path(monkeypatch):
    """In one second of the plain mix a request, a response and an Update arrive at b, and b has a tick.

    Only the snapshot's way through a ends the fast path.
    """
    published = batched_messages(monkeypatch, PLAIN)
    assert sum(1 for count in published if count) <= 4 * 3, "in three seconds"


def test_traffic_slower_than_the_check_of_new_entries_takes_the_fast_path(monkeypatch):
    """A message every 11 ms finds every reader notified, except after a marker; a faster one does not."""
    assert sum(batched_messages(monkeypatch, SLOW_TAIL)) > 180
    assert sum(batched_messages(monkeypatch, TAIL)) == 0


def test_a_lab_at_its_row_limit_pauses_at_the_same_instant_on_the_fast_path(monkeypatch):
    full = World.open(PLAIN, rows_max=9_000)
    full.run()
    event_by_event(monkeypatch)
    wanted = World.open(PLAIN, rows_max=9_000)
    wanted.run()
    assert (full.now_us, everything(full)) == (wanted.now_us, everything(wanted)) and full.limit_reached


def survey_late(monkeypatch):
    """A snapshot tick runs up to ten milliseconds late."""
    sort = survey.Survey._sort

    def late(one, own):
        one.horizon_us += 10_000
        sort(one, own)

    monkeypatch.setattr(survey.Survey, "_sort", late)


def forget_snapshots(monkeypatch):
    """A group of acks is sent on the fast path though an Update follows from it."""
    gather = groups.Groups._gather

    def forgetting(one, *more):
        one._usable_from = work.NEVER
        return gather(one, *more)

    monkeypatch.setattr(groups.Groups, "_gather", forgetting)
    monkeypatch.setattr(flow.Flow, "_update_us", lambda _one, _survey: work.NEVER)


def forget_answers(monkeypatch):
    """The fast path continues past the answer to a request that it sent."""
    before = peer_events.PeerEvents.before
    monkeypatch.setattr(
        peer_events.PeerEvents, "before", lambda one, horizon_us: (before(one, horizon_us)[0], horizon_us)
    )
    run_peer_events = running.run_peer_events
    monkeypatch.setattr(
        running, "run_peer_events", lambda one: run_peer_events(one) and one.stretch.horizon_us
    )


def forget_what_is_held(monkeypatch):
    """The fast path continues past the due time of a message that was put aside in it."""
    monkeypatch.setattr(work.Work, "_later_us", lambda _one: [])


def forget_turns(monkeypatch):
    """Messages are assigned from the first consumer on, whichever consumer is next."""
    monkeypatch.setattr(dispatch_shared.SharedDispatcher, "in_turn", lambda one: one.sessions)


def forget_waiting_reads(monkeypatch):
    """A message that follows another one is read at once, though its readers wait."""
    monkeypatch.setattr(flow.Flow, "_read_at_once", lambda _one, _first_us: flow.MESSAGES_AT_ONCE)


def forget_what_peers_skip(monkeypatch):
    """A peer's replicator does not wait after it has skipped a message of a batch."""
    store, skip = wire.Wire.store, tail_read.TailRead.skip

    def storing(*arguments):
        with monkeypatch.context() as patch:
            patch.setattr(tail_read.TailRead, "skip", lambda *_arguments: None)
            store(*arguments)

    monkeypatch.setattr(wire.Wire, "store", storing)
    assert tail_read.TailRead.skip is skip


def forget_the_end_of_a_connection(monkeypatch):
    """Messages are carried on a connection whose peer's process is dead, until the sender notices."""
    sends_only = flow._sends_only

    def forgetting(replicator, remote):
        closing, replicator.broken.closing = replicator.broken.closing, None
        sends = sends_only(replicator, remote)
        replicator.broken.closing = closing
        return sends

    monkeypatch.setattr(flow, "_sends_only", forgetting)


def test_no_batch_runs_on_a_connection_whose_peer_is_dead(monkeypatch):
    with monkeypatch.context() as patch:
        event_by_event(patch)
        wanted = states(CLOSED, [2_500_000])
    assert states(CLOSED, [2_500_000]) == wanted
    forget_the_end_of_a_connection(monkeypatch)
    with pytest.raises(KeyError):  # an entry on the wire that will not arrive
        states(CLOSED, [2_500_000])


@pytest.mark.parametrize(
    ("mistake", "text"),
    [
        (survey_late, PLAIN),
        (forget_snapshots, PLAIN),
        (forget_answers, PLAIN),
        (forget_what_is_held, HELD_SHORTLY),
        (forget_turns, SHARED),
        (forget_waiting_reads, RANDOM_TAIL),
        (forget_what_peers_skip, UNEVEN_TAIL),
    ],
)
def test_a_fast_path_that_skips_an_event_is_detected(monkeypatch, mistake, text):
    """The comparison detects each planted fault."""
    with monkeypatch.context() as patch:
        event_by_event(patch)
        wanted = states(text, [2_500_000])
    assert states(text, [2_500_000]) == wanted
    mistake(monkeypatch)
    assert states(text, [2_500_000]) != wanted
