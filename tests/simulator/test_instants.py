"""One instant may hold any amount of work.

It is cut into slices, finished or undone, and none of that is visible in the rows.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator import ScenarioError, World, load_scenario_text
from simulator.scenarios.limits import PUBLISHED_AT_ONCE_MAX

HEAD = (
    "{format: 1, name: x, title: x, family: replicated-subscriptions, about: x, until: 2s, clusters: {a: "
    "{}, b: {}}, topics: {t: {clusters: [a, b]}}, "
)
CLIENTS = """producers: {web: {topic: t, cluster: a, every: 10ms}}, subscriptions: {s: {topic: t, replicateSubscriptionState: true}, r: {topic: t, type: Shared}},
consumers: {c: {subscription: s, cluster: a, processing: 1ms}, d: {subscription: r, cluster: a, receiverQueueSize: 5000, processing: 0s}, e: {subscription: r, cluster: a}}, """
ALONE = "producers: {web: {topic: t, cluster: a}}, "
UNTIL_US = 2_000_000
ROWS_OF_AN_EVENT = 3_000
"""More than any event writes: a portion of 50 published messages with the events that they trigger, or
1,000 dispatched entries.
"""


def text(*commands: str, clients: str = CLIENTS) -> str:
    return HEAD + clients + f"commands: [{', '.join(commands)}]}}"


def publish(at: str, count: int) -> str:
    return f"{{at: {at}, do: producer.publish, producer: web, count: {count}}}"


BUSY = text(
    publish("0s", 300),
    publish("500ms", 2500),
    "{at: 600ms, do: consumer.stop, consumer: d}",
    publish("700ms", 1500),
    "{at: 700ms, do: subscription.skip, subscription: r, cluster: a, count: 900}",
    "{at: 900ms, do: subscription.reset, subscription: s, cluster: a, position: earliest}",
    "{at: 1s, do: subscription.clear, subscription: s, cluster: a}",
)


def run(scenario: str, events: int, rows_max: int | None = None) -> tuple:
    """Final state of a run cut into slices of so many events; no slice writes more than its events can."""
    world, before = World.from_scenario(load_scenario_text(scenario), rows_max=rows_max, begun=False), 0
    while True:
        more = world.advance(UNTIL_US, events)
        assert len(world.trace) - before <= max(ROWS_OF_AN_EVENT, 30 * events) or world.whole
        before = len(world.trace)
        if not more:
            break
    assert world.whole
    return world.now_us, len(world.trace), world.digest(), world.limit_reached


@pytest.fixture(scope="module")
def uncut() -> tuple:
    return run(BUSY, 1_000_000)


@settings(max_examples=15, deadline=None)
@given(events=st.integers(1, 500))
def test_slicing_an_instant_changes_no_row(uncut, events):
    assert run(BUSY, events) == uncut


@settings(max_examples=15, deadline=None)
@given(events=st.integers(1, 2000), rows_max=st.sampled_from([100, 2_000, 9_000, 20_000]))
def test_the_row_limit_holds_within_an_instant_however_it_is_cut(events, rows_max):
    assert run(BUSY, events, rows_max) == run(BUSY, 10**6, rows_max)
    now_us, rows, _digest, limit = run(BUSY, events, rows_max)
    assert rows <= rows_max and (limit is None) == (now_us == UNTIL_US)


def test_an_undone_instant_leaves_no_rows_behind():
    """The lab is at the end of the last complete instant, and can be sought in, branched, commanded and
    replayed.
    """
    world = World.open(text(publish("500ms", 5_000)), rows_max=6_000)
    world.run()
    assert (
        world.now_us == 499_999 == world.furthest_us
        and "0.500000 s" in world.limit_reached
        and "6,000" in world.limit_reached
    )
    whole = World.open(text(publish("500ms", 5_000)), rows_max=None)
    whole.run(499_999)
    assert (world.digest(), world.view()["clusters"]) == (whole.digest(), whole.view()["clusters"])
    assert len(world.trace) == len(whole.trace) and len(world.runtime.messages) == len(whole.runtime.messages)
    world.seek(at_us=200_000)
    world.seek(at_us=499_999)
    assert world.digest() == whole.digest() and not world.violations
    assert world.apply({"do": "producer.pause", "producer": "web"}).ok and world.branch == 0
    replayed = World.replay(world.scenario, world.seed, world.command_log, world.now_us, rows_max=6_000)
    assert replayed.digest() == world.digest()


@pytest.mark.parametrize("at_us", [300_000, 200_000])
def test_a_command_that_would_overflow_is_refused_and_changes_nothing(at_us):
    """At the front of the run, and in its past, where it would have begun a branch."""
    world, same = (World.open(text(), rows_max=5_000) for _ in range(2))
    for one in (world, same):
        one.run(300_000)
        one.seek(at_us=at_us)
    result = world.apply({"do": "producer.publish", "producer": "web", "count": 50_000})
    assert (
        (result.ok, result.code) == (False, "limit")
        and "5,000 rows" in result.error
        and "smaller" in result.hint
    )
    assert (world.now_us, world.furthest_us, world.branch, world.command_log, len(world.branches)) == (
        at_us,
        300_000,
        0,
        [],
        1,
    )
    assert world.view() == same.view() and len(world.trace) == len(same.trace) and world.command_results == []
    assert world.apply({"do": "producer.publish", "producer": "web", "count": 5}).ok
    assert same.apply({"do": "producer.publish", "producer": "web", "count": 5}).ok
    world.run(400_000)
    same.run(400_000)
    assert world.digest() == same.digest()


def test_a_first_instant_that_does_not_fit_pauses_the_lab_at_the_start():
    world = World.open(text(publish("0s", 5_000)), rows_max=1_000)
    assert world.now_us == 0 and world.whole and world.limit_reached and len(world.trace) < 100
    world.run()
    assert world.now_us == 0 and world.view()


def test_fifty_of_the_largest_commands_in_one_instant_respect_the_row_limit():
    scenario = text(*[publish("10ms", PUBLISHED_AT_ONCE_MAX)] * 50, clients=ALONE)
    assert run(scenario, 200, 30_000)[:2] == run(scenario, 10_000, 30_000)[:2]
    now_us, rows, _digest, limit = run(scenario, 200, 30_000)
    assert now_us == 9_999 and rows < 1_000 and limit


def test_a_seek_and_a_fork_from_within_an_instant_see_whole_instants():
    scenario = text(publish("500ms", 1_000))
    world, whole = World.open(scenario), World.open(scenario)
    whole.run(500_000)
    while world.whole or world.now_us < 500_000:
        world.advance(UNTIL_US, 10)
    assert world.furthest_us < 500_000 and world.unchecked_rows == 0
    assert world.fork().digest() == whole.digest()
    while world.whole or world.now_us < 510_000:
        world.advance(UNTIL_US, 1)
    seeking = world.begin_seek(at_us=400_000)
    while seeking.step(20):
        pass
    whole.seek(at_us=400_000)
    assert world.now_us == 400_000 and world.digest() == whole.digest() and world.furthest_us >= 510_000


def test_a_million_messages_at_once_are_refused_in_file_and_command():
    with pytest.raises(ScenarioError, match="too large; at most 100000"):
        load_scenario_text(text(publish("0s", 1_000_000)))
    result = World.open(text()).apply({"do": "producer.publish", "producer": "web", "count": 1_000_000})
    assert not result.ok and "at most 100000" in result.hint


def test_messages_published_to_emqx_at_once_are_cut_too():
    scenario = """{format: 1, name: x, title: x, family: durable-shared-subscriptions, about: x, until: 1s, nodes: {n: {}}, publishers: {p: {topic: t/1, clients: 3}},
    sessions: {e: {node: n, subscriptions: ["$share/g/t/#"]}}, commands: [{at: 500ms, do: publisher.publish, publisher: p, count: 3000}]}"""
    assert run(scenario, 1) == run(scenario, 100) == run(scenario, 10**6)
    assert run(scenario, 3, 2_000) == run(scenario, 10**6, 2_000)
