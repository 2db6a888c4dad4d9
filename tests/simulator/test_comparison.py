"""One run under every strategy.

What a strategy changes and what it keeps, the comparison's figures, and each message as the diagram shows it.
"""

from __future__ import annotations

import json
from io import StringIO

import pytest

from simulator import World, load_scenario, load_scenario_text
from simulator.comparison import STRATEGIES, column, costs, strategy_named, strategy_runs, under
from simulator.headless import EXIT_BAD_INPUT, compare, simulate
from simulator.runs import Runs, finished
from simulator.scenarios.canonical import Variant
from simulator.scenarios.tree import ScenarioError

HOLE, PERIOD = "strategies-delayed-message", "strategies-between-snapshots"
LOCAL, SNAPSHOTS, SYNC = (strategy.name for strategy in STRATEGIES)


def ran(name: str, strategy: str, commands=()) -> tuple[Variant, World]:
    """A variant, and its world at its end."""
    scenario = load_scenario(name)
    variant = next(made for made in strategy_runs(scenario, list(commands)) if made.key == strategy)
    return variant, finished(Runs().run(variant))


def test_a_strategy_changes_only_the_settings_of_subscriptions():
    scenario = load_scenario(PERIOD)
    specs = {strategy.name: under(scenario, strategy) for strategy in STRATEGIES}
    asked = {
        name: (
            made.subscriptions["billing"].replicate_subscription_state,
            made.subscriptions["billing"].acknowledgement_sync,
        )
        for name, made in specs.items()
    }
    assert asked == {LOCAL: (False, "none"), SNAPSHOTS: (True, "none"), SYNC: (False, "once")}
    for made in specs.values():
        assert (
            made.seed,
            made.until_us,
            made.links,
            made.topics,
            made.producers,
            made.consumers,
            made.settings,
        ) == (
            scenario.seed,
            scenario.until_us,
            scenario.links,
            scenario.topics,
            scenario.producers,
            scenario.consumers,
            scenario.settings,
        )
        assert load_scenario(made.canonical_text) == made
    assert [command.do for command in specs[LOCAL].commands] == ["subscription.fail-over"], (
        "a command that only sync obeys is left out"
    )


def test_any_scenario_can_be_compared_and_its_published_messages_stay_the_same():
    runs = [World.from_scenario(made.scenario) for made in strategy_runs(load_scenario("region-down"))]
    published = []
    for world in runs:
        world.run()
        published.append(
            [
                (row["producer"], row["sequence_id"], row["at_us"])
                for row in world.trace.rows(types=["message.published"])
            ]
        )
    assert published[0] and published[0] == published[1] == published[2]
    twice = [world.summary()["failovers"][0]["duplicates"] for world in runs]
    assert twice[0] > twice[1] > 0 and twice[2] <= twice[1]


def test_comparison_as_table_and_as_json():
    out, err = StringIO(), StringIO()
    assert compare(PERIOD, out, err) == 0 and err.getvalue() == ""
    assert "All 12 expectations of the comparison are met." in out.getvalue()
    line = next(line for line in out.getvalue().splitlines() if line.startswith("duplicates"))
    assert line.split() == ["duplicates", "39", "19", "1"]
    out = StringIO()
    assert compare(PERIOD, out, err, as_json=True) == 0
    told = json.loads(out.getvalue())
    assert [(entry["strategy"], entry["failovers"][0]["duplicates"]) for entry in told["comparison"]] == [
        (LOCAL, 39),
        (SNAPSHOTS, 19),
        (SYNC, 1),
    ]
    assert told["scenario"] == PERIOD and told["failovers"][0]["duplicates"] == 1, (
        "the run as written, as ever"
    )


def test_a_run_of_one_strategy_is_an_ordinary_run():
    out, err = StringIO(), StringIO()
    assert simulate(PERIOD, out, err, strategy=SNAPSHOTS) == 0
    assert (
        "19 duplicates" in out.getvalue() and "All 4 expectations of the scenario are met." in out.getvalue()
    )
    assert simulate(PERIOD, out, err, strategy="snapshot") == EXIT_BAD_INPUT
    assert "there is no such strategy; did you mean snapshots?" in err.getvalue()
    with pytest.raises(ScenarioError):
        strategy_named("none")


def test_a_scenario_without_subscriptions_is_refused_with_a_reason():
    bare = load_scenario(PERIOD).canonical_text.split("subscriptions:")[0]
    err = StringIO()
    assert compare(bare, StringIO(), err) == EXIT_BAD_INPUT
    assert (
        "there is none whose acknowledgements could be replicated; compare a scenario of Pulsar's with subscriptions"
        in err.getvalue()
    )


def test_a_compare_block_is_read_like_expectations():
    text = load_scenario(PERIOD).canonical_text
    assert load_scenario_text(text).compare == load_scenario(PERIOD).compare
    wrong = text.replace("  snapshots: {", "  snapshot: {").replace(
        'local: {"failovers[0].duplicates"', 'local: {"failovers[0] duplicates"'
    )
    with pytest.raises(ScenarioError) as raised:
        load_scenario_text(wrong)
    assert [problem.path for problem in raised.value.problems] == [
        "compare.local.failovers[0] duplicates",
        "compare.snapshot",
    ]
    assert "did you mean snapshots?" in raised.value.problems[1].right


def test_replication_costs_by_strategy():
    assert costs(ran(PERIOD, LOCAL)[1]) == {
        "marker_entries": 0,
        "marker_bytes": 0,
        "requests": 0,
        "request_bytes": 0,
    }
    told = costs(ran(PERIOD, SYNC)[1])
    assert (told["requests"], told["request_bytes"], told["marker_entries"]) == (1, 64, 0)
    assert costs(ran(PERIOD, SNAPSHOTS)[1])["marker_entries"] > 10


def test_a_migration_carries_progress_over_by_the_compared_strategy():
    scenario = load_scenario("tenant-moves")
    made = {strategy.name: under(scenario, strategy) for strategy in STRATEGIES}
    asked = {
        name: (
            one.commands[0].arguments["strategy"],
            one.subscriptions["billing"].acknowledgement_sync,
            one.subscriptions["billing"].replicate_subscription_state,
        )
        for name, one in made.items()
    }
    assert asked == {
        LOCAL: ("none", "none", False),
        SNAPSHOTS: ("snapshots", "none", False),
        SYNC: ("acknowledgement-sync", "none", False),
    }
    told = {name: ran("tenant-moves", name)[1].summary() for name in made}
    assert told[SYNC]["failovers"][0]["duplicates"] == 31 < told[LOCAL]["failovers"][0]["duplicates"]
    assert told[SYNC]["ack_sync"]["billing"]["green"]["filtered"] == 459 and told[LOCAL]["ack_sync"] == {}


def test_a_failover_that_happens_under_some_strategies_only_is_reported_as_such():
    # web/50 is held, so no snapshot ever covers enough for the switch to be safe: it is refused.
    out = StringIO()
    assert compare("tenant-moves", out, StringIO()) == 0
    line = next(line for line in out.getvalue().splitlines() if line.startswith("duplicates"))
    assert line.split() == ["duplicates", "490", "-", "31"]
    assert "Refused under snapshots at 5.000 s: migration.switch" in out.getvalue()


# --- each message as the diagram shows it


def messages(name: str, strategy: str) -> dict:
    told = column(*ran(name, strategy))
    assert told["followed"][0]["messages"]["producer"]
    return told["followed"][0]["messages"]


@pytest.mark.parametrize("name", [HOLE, PERIOD, "strategies-backlog"])
@pytest.mark.parametrize("strategy", [LOCAL, SNAPSHOTS, SYNC])
def test_the_diagram_agrees_with_the_counts(name, strategy):
    variant, world = ran(name, strategy)
    told, counted = column(variant, world), world.summary()["failovers"][0]
    shown = told["followed"][0]["messages"]
    assert shown["delivery"].count("duplicate") == counted["duplicates"]
    assert shown["delivery"].count("redelivered") == counted["redeliveries"]
    assert {cause: shown["cause"].count(cause) for cause in counted["by_cause"]} == counted["by_cause"]
    assert sum(shown["lost"]) == counted["lost"]
    assert shown["stored_us"] == sorted(shown["stored_us"])


def test_a_message_is_a_duplicate_unless_its_ack_was_at_the_target_before_the_move():
    # At the move everything acknowledged is in green. Messages whose acks green has by then are not
    # delivered, the others are.
    for strategy in (LOCAL, SNAPSHOTS, SYNC):
        shown = messages(HOLE, strategy)
        for acknowledged, known, delivery in zip(
            shown["acknowledged_us"], shown["known_us"], shown["delivery"], strict=True
        ):
            if 0 <= acknowledged <= 5_900_000:
                assert (delivery == "duplicate") == (not 0 <= known <= 5_900_000)


@pytest.mark.parametrize(
    "name",
    [
        HOLE,
        "region-down",
        "producers-everywhere",
        "update-in-flight",
        "local-subscription-latest",
        "local-subscription-earliest",
    ],
)
@pytest.mark.parametrize("strategy", [LOCAL, SNAPSHOTS, SYNC])
def test_forecast_duplicates_of_the_diagram_are_those_of_the_engine(name, strategy):
    variant, world = ran(name, strategy)
    followed = column(variant, world)["followed"][0]
    shown, subscription = followed["messages"], followed["subscription"]
    world, compared = World(variant.scenario, world.seed), 0
    for step in range(1, 41):
        world.run(at_us := followed["at_us"] * step // 41)
        forecast = world.forecast(subscription).get(followed["to"])
        if forecast is None:
            continue
        counted = sum(
            0 <= begins <= at_us and not 0 <= ends <= at_us
            for begins, ends in zip(shown["forecast_us"], shown["known_us"], strict=True)
        )
        assert counted == forecast["duplicates"], at_us
        compared += 1
    assert compared > 20


def test_instants_of_one_message():
    shown = messages(HOLE, SYNC)
    at = shown["sequence_id"].index(20)  # published at 2.05 s, synced by the request of 3 s
    assert (
        shown["stored_us"][at],
        shown["at_target_us"][at],
        shown["acknowledged_us"][at],
        shown["known_us"][at],
    ) == (2_050_000, 2_090_000, 2_052_000, 3_040_000)
    assert shown["delivered_us"][at] == -1 and shown["delivery"][at] == ""
    snapshots = messages(HOLE, SNAPSHOTS)
    assert (
        snapshots["known_us"][5] > 1_000_000
        and snapshots["known_us"][20] == -1
        and snapshots["delivery"][20] == "duplicate"
    )


def test_requests_and_markers_that_travelled_between_the_clusters():
    passages = column(*ran(HOLE, SYNC))["followed"][0]["passages"]
    first = passages[0]
    assert first == {
        "kind": "request",
        "from": "blue",
        "left_us": 1_000_000,
        "arrived_us": 1_040_000,
        "lost": False,
    }
    kinds = {passage["kind"] for passage in column(*ran(HOLE, SNAPSHOTS))["followed"][0]["passages"]}
    assert kinds == {"snapshot_request", "snapshot_response", "subscription_update"}


def test_a_run_with_more_messages_than_a_diagram_takes_is_not_drawn(monkeypatch):
    monkeypatch.setattr("simulator.protocols.pulsar.views.strategies.MESSAGES_MOST", 79)
    assert column(*ran(HOLE, SYNC))["followed"][0]["messages"] is None
    monkeypatch.setattr("simulator.protocols.pulsar.views.strategies.PASSAGES_MOST", 3)
    assert len(column(*ran(HOLE, SYNC))["followed"][0]["passages"]) == 3


def test_live_commands_are_part_of_every_compared_run():
    crash = [{"at_us": 3_000_000, "number": 0, "do": "link.cut", "link": "blue -> green"}]
    for strategy in (LOCAL, SNAPSHOTS, SYNC):
        variant, world = ran(HOLE, strategy, crash)
        assert world.trace.rows(types=["link.cut"])
        assert column(variant, world)["text"] is None, "the scenario alone is not the whole run"
