"""Re-runs with fresh draws: figures, probabilities and bounds, recounted from plain separate runs."""

from __future__ import annotations

from dataclasses import asdict
from math import sqrt

import pytest

from simulator import World, Wrong, inevitable, normalise_command
from simulator.counting import wilson_interval
from simulator.inevitable import Asked, Draws, Outcome, Point, Reruns, carried_out, curve, decided, typical
from simulator.runs import Runs
from simulator.scenarios.loader import load_scenario, load_scenario_text

PULSAR = """
format: 1
name: crash
title: Crash
family: replicated-subscriptions
until: 6s
clusters: {a: {}, b: {}}
links: {default: {latency: 40ms}}
topics: {orders: {clusters: [a, b]}}
producers: {web: {topic: orders, cluster: a, start: 50ms, every: 40ms}}
subscriptions: {billing: {topic: orders, type: Shared, replicateSubscriptionState: true, initialPosition: Earliest}}
consumers: {one: {subscription: billing, cluster: a, processing: 2ms}}
"""
CRASH = {"do": "cluster.crash", "cluster": "a"}
MOVE = {"do": "subscription.fail-over", "subscription": "billing", "from": "a", "to": "b", "mode": "crash"}


def logged(*commands: tuple[int, dict]) -> list[dict]:
    """The log of commands given by hand."""
    scenario = load_scenario_text(PULSAR)
    return [
        {"at_us": at_us, "number": number, **normalise_command(command, scenario)}
        for number, (at_us, command) in enumerate(commands)
    ]


BY_HAND = logged((3_600_000, CRASH), (3_600_000, MOVE))
PLANNED = PULSAR + (
    "commands:\n"
    "  - {at: 3600ms, do: cluster.crash, cluster: a}\n"
    "  - {at: 3600ms, do: subscription.fail-over, subscription: billing, from: a, to: b, mode: crash}\n"
)


def asked(**changed) -> Asked:
    scenario = load_scenario_text(PULSAR)
    inputs = {"commands": BY_HAND, "instants": 4, "reruns": 6, "periods": 2, **changed}
    return Asked(inputs.pop("scenario", scenario), 3, until_us=6_000_000, **inputs)


@pytest.fixture(scope="module")
def ran() -> Reruns:
    return carried_out(Reruns(asked()))


def plain(question: Asked, at_us: int, number: int) -> World:
    """The same re-run from the beginning, without a fork."""
    log = inevitable.rerun_commands(question.commands, question.seed, at_us, number, question.draws)
    return World.replay(question.scenario, question.seed, log, question.until_us)


def harm(world: World) -> tuple[int, int]:
    summary = world.summary()
    cases = summary["failovers"] or list(summary["groups"].values())
    return sum(case["duplicates"] for case in cases), sum(case["lost"] for case in cases)


def recounted(hits: int, runs: int) -> tuple[float, float]:
    """Wilson's interval in floating point, as textbooks print it."""
    z, share = 1.959964, hits / runs
    middle = share + z * z / (2 * runs)
    spread = z * sqrt(share * (1 - share) / runs + z * z / (4 * runs * runs))
    return (middle - spread) / (1 + z * z / runs), (middle + spread) / (1 + z * z / runs)


def check_against_plain_runs(question: Asked, reruns: Reruns, more_than: int) -> None:
    found = curve(reruns.points, more_than)
    assert len(found) == len(reruns.points) > 1
    for point, described in zip(reruns.points, found, strict=True):
        separate = [harm(plain(question, point.at_us, number)) for number in range(question.reruns)]
        assert [(one.duplicates, one.lost) for one in point.outcomes] == separate
        for name, hits in (
            ("more", sum(duplicates > more_than for duplicates, _lost in separate)),
            ("loss", sum(lost > 0 for _duplicates, lost in separate)),
        ):
            share = described[name]
            assert share["hits"] == hits and share["share"] == 1_000_000 * hits // question.reruns
            assert (share["low"] / 1e6, share["high"] / 1e6) == pytest.approx(
                recounted(hits, question.reruns), abs=2e-6
            )
        worst = described["worst"]
        assert (worst["lost"], worst["duplicates"]) == max((lost, dup) for dup, lost in separate)


def test_probabilities_are_those_of_plain_separate_runs(ran):
    more_than = typical(ran.points, 6)
    check_against_plain_runs(asked(), ran, more_than)
    assert any(0 < point["more"]["hits"] < 6 for point in curve(ran.points, more_than))
    assert (ran.actual.duplicates, ran.actual.lost) == harm(
        World.replay(load_scenario_text(PULSAR), 3, BY_HAND, 6_000_000)
    )


def test_groups_are_run_again_from_before_a_crash_of_their_leader():
    scenario = load_scenario("groups-leader-crash-early")
    question = Asked(scenario, scenario.seed, [], scenario.until_us, instants=2, reruns=5, periods=1)
    reruns = carried_out(Reruns(question))
    assert [failure.label for failure in reruns.failures] == ["leader.crash"]
    assert reruns.points[-1].at_us == reruns.failures[0].at_us
    check_against_plain_runs(question, reruns, typical(reruns.points, 5))


def test_the_past_of_a_rerun_is_the_run_as_it_was_and_its_future_is_its_own():
    question, at_us = asked(), 2_500_000
    real = World.replay(load_scenario_text(PULSAR), 3, BY_HAND, 6_000_000)
    one, other = plain(question, at_us, 0), plain(question, at_us, 1)
    for world in (real, one, other):
        world.seek(at_us=at_us - 1)
    assert real.digest() == one.digest() == other.digest()
    for world in (real, one, other):
        world.seek(at_us=6_000_000)
    published = [
        [
            row["at_us"]
            for row in map(world.trace.row, world.trace.seqs(0, world.seq, types=("message.published",)))
        ]
        for world in (real, one, other)
    ]
    assert [times[:62] == published[0][:62] for times in published] == [True] * 3
    assert len({tuple(times) for times in published}) == 3


def test_equal_inputs_give_equal_results_however_the_work_is_cut(ran):
    sliced = Reruns(asked())
    work, sent, pieces = sliced.work(Runs(lambda: 37, figures_only=True)), None, 0
    while True:
        try:
            wanted = work.send(sent)
        except StopIteration:
            break
        pieces += 1
        sent = wanted() if wanted is not None else None
    assert [asdict(point) for point in sliced.points] == [asdict(point) for point in ran.points]
    assert sliced.actual == ran.actual and pieces > 60
    other = carried_out(Reruns(asked(draws=Draws(0, "as-declared"))))
    assert inevitable.same_in_all(other.points) and not inevitable.same_in_all(ran.points)


def test_a_run_whose_commands_are_in_the_file_has_the_same_figures(ran):
    scenario = load_scenario_text(PLANNED)
    reruns = carried_out(Reruns(asked(scenario=scenario, commands=[])))
    assert [asdict(point) for point in reruns.points] == [asdict(point) for point in ran.points]


def test_instants_lie_evenly_before_the_failover_and_end_with_it(ran):
    assert [point.at_us for point in ran.points] == [1_600_000, 2_266_666, 2_933_333, 3_600_000]
    assert inevitable.instants_before(500_000, 1_000_000, 3, 3) == [0, 250_000, 500_000]
    assert inevitable.instants_before(0, 1_000_000, 3, 16) == [0]
    seeds = [one.seed for point in ran.points for one in point.outcomes]
    assert len(set(seeds)) == len(seeds) and all(0 <= seed < 2**53 for seed in seeds)
    assert inevitable.fresh_seed(3, 1_600_000, 0) == 8_604_649_224_199_912 == seeds[0]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("instants", inevitable.INSTANTS_MIN - 1),
        ("instants", inevitable.INSTANTS_MAX + 1),
        ("reruns", inevitable.RERUNS_MIN - 1),
        ("reruns", inevitable.RERUNS_MAX + 1),
        ("periods", inevitable.PERIODS_MIN - 1),
        ("periods", inevitable.PERIODS_MAX + 1),
        ("failure", -1),
    ],
)
def test_inputs_out_of_bounds_are_refused(name, value):
    with pytest.raises(Wrong, match=f"{name} is {value}") as refused:
        asked(**{name: value})
    assert "Give a whole number from" in str(refused.value.right)


def test_draws_out_of_bounds_are_refused():
    with pytest.raises(Wrong, match="spread_millionths is 900001"):
        Draws(900_001)
    with pytest.raises(Wrong, match="arrivals is 'never'"):
        Draws(0, "never")


def test_a_run_without_failover_and_a_failover_that_is_not_there_are_refused():
    with pytest.raises(Wrong, match="no failover and no fault"):
        carried_out(Reruns(asked(commands=[])))
    with pytest.raises(Wrong, match="failure is 1, and this run has 1 "):
        carried_out(Reruns(asked(failure=1)))


def test_the_rows_of_all_reruns_together_are_limited(ran, monkeypatch):
    monkeypatch.setattr(inevitable, "ROWS_MAX", ran.rows * 4 * 6 - 1)
    with pytest.raises(Wrong, match="so 4 x 6 re-runs") as refused:
        carried_out(Reruns(asked()))
    assert str(refused.value.right) == "Take at most 4 instants with 5 re-runs each."
    monkeypatch.setattr(inevitable, "ROWS_MAX", ran.rows * 4 * 6)
    assert carried_out(Reruns(asked())).done == 24
    monkeypatch.setattr(inevitable, "ROWS_MAX", ran.rows)
    with pytest.raises(Wrong) as refused:
        carried_out(Reruns(asked()))
    assert str(refused.value.right) == "Let the run publish fewer messages, or end earlier."


def test_a_recorded_command_that_a_rerun_refuses_changes_nothing_there():
    release = {"do": "consumer.release", "consumer": "one"}  # it holds none
    commands = [*logged((2_000_000, release)), *BY_HAND]
    reruns = carried_out(Reruns(asked(commands=commands, instants=2)))
    assert {one.reason for point in reruns.points for one in point.outcomes} == {""}


@pytest.mark.parametrize("runs", [1, 2, 5, 30, 100])
def test_wilson_intervals_are_those_of_the_formula(runs):
    for hits in range(runs + 1):
        low, high = wilson_interval(hits, runs)
        assert (low / 1e6, high / 1e6) == pytest.approx(recounted(hits, runs), abs=2e-6)
        assert 0 <= low <= 1_000_000 * hits // runs <= high <= 1_000_000
    assert wilson_interval(0, 30) == (0, 113_514) and wilson_interval(30, 30) == (886_486, 1_000_000)
    with pytest.raises(ValueError, match="31 of 30 runs"):
        wilson_interval(31, 30)


def points(*duplicates: tuple[int, ...]) -> list[Point]:
    return [
        Point(at, [Outcome(number, 0, count) for number, count in enumerate(counts)])
        for at, counts in enumerate(duplicates)
    ]


def test_it_is_decided_from_the_first_instant_after_which_all_reruns_agree():
    late = curve(points((0, 9), (9, 9), (0, 9), (8, 9), (7, 9)), 5)
    assert decided(late, "more") == {"at_us": 3, "yes": True}
    assert decided(late, "loss") == {"at_us": 0, "yes": False}
    assert decided(curve(points((9, 9), (0, 0)), 5), "more") == {"at_us": 1, "yes": False}
    assert decided(curve(points((9, 9), (0, 9)), 5), "more") is None
    assert decided([], "more") is None


def test_typical_is_the_lower_median_of_the_earliest_instant_once_it_has_run():
    assert typical(points((5, 1, 9, 3), (0,)), 4) == 3
    assert typical(points((5, 1, 9)), 4) == 0 == typical([], 4)


def test_a_rerun_that_failed_is_counted_apart():
    failing = [Point(7, [Outcome(0, 0, 4), Outcome(1, 0, reason="too many rows")])]
    (found,) = curve(failing, 3)
    assert (found["runs"], found["failed"], found["more"]["hits"]) == (1, 1, 1)
    assert curve([Point(7, failing[0].outcomes[1:]), Point(8)], 3) == []
