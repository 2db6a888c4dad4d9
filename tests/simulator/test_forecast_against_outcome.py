"""The forecast equals the actual figures.

Note it at a random instant, crash a, move to b in mode crash, continue, compare.

Design, "Before anyone fails over": "the forecast for each remote B is a pure function of the present state:
duplicates and losses as counted if A crashed at this instant, nothing more left A, and S moved to B at once".
"""

import json

from hypothesis import HealthCheck, assume, given, note, settings
from hypothesis import strategies as st

from simulator import World, load_scenario_text
from tests.simulator.engine_runs import MS, do

END_MS = 14_000


@st.composite
def scenarios(draw):
    """Three regions with producers in each, a subscription of any type in a.

    Traffic until 5 s; some faults before.
    """
    type_ = draw(st.sampled_from(["Exclusive", "Failover", "Shared", "Key_Shared"]))
    several = type_ != "Exclusive"
    single = "Shared" not in type_
    consumers = {}
    for number in range(2 if several else 1):
        consumer = {
            "subscription": "s",
            "cluster": "a",
            "start": draw(st.sampled_from(["0s", "0s", "1500ms"])),
            "processing": draw(
                st.sampled_from(["0s", "3ms", {"distribution": "lognormal", "median": "8ms", "sigma": 0.5}])
            ),
            "acknowledgmentGroupTime": draw(st.sampled_from(["0s", "100ms"])),
            "receiverQueueSize": draw(st.sampled_from([3, 1000])),
            "acknowledge": draw(st.sampled_from(["individual", "cumulative"] if single else ["individual"])),
        }
        if consumer["acknowledge"] == "individual" and draw(st.booleans()):
            consumer["hold"] = {"share": "3%", "for": "1s"}
        if consumer["acknowledge"] == "individual" and draw(st.booleans()):
            consumer |= {"negativeAcknowledge": {"share": "3%"}, "negativeAckRedeliveryDelay": "500ms"}
        consumers[f"c{number}"] = consumer
    trouble = st.sampled_from(
        [
            {"do": "link.cut", "link": "a -> b"},
            {"do": "link.cut", "link": "b -> a"},
            {"do": "link.cut", "link": "c -> b"},
            {"do": "link.heal", "link": "a -> b"},
            {"do": "link.heal", "link": "b -> a"},
            {"do": "link.slow", "link": "a -> b", "latency": "400ms"},
            {"do": "topic.unload", "cluster": "a", "topic": "t"},
            {"do": "topic.unload", "cluster": "b", "topic": "t"},
            {"do": "consumer.pause", "consumer": "c0"},
            {"do": "client.close", "client": "c0"},
            {"do": "subscription.skip", "subscription": "s", "cluster": "a", "count": 7},
            {"do": "subscription.reset", "subscription": "s", "cluster": "a", "time": "1s"},
            {"do": "cluster.crash", "cluster": "c"},
        ]
    )
    commands = [
        {"at": f"{at}ms", **command}
        for at, command in draw(st.lists(st.tuples(st.integers(200, 4500), trouble), max_size=3))
    ]
    sync = draw(st.sampled_from(["none", "none", "periodic"]))
    return {
        "format": 1,
        "name": "forecast",
        "title": "Forecast",
        "family": "replicated-subscriptions" if sync == "none" else "tenant-migration",
        "seed": draw(st.integers(0, 999)),
        "until": f"{END_MS}ms",
        "settings": {
            "replicatedSubscriptionsSnapshotFrequencyMillis": draw(st.sampled_from([200, 1000])),
            "brokerDeduplicationEnabled": draw(st.booleans()),
        },
        "clusters": {"a": {}, "b": {}, "c": {}},
        "links": {
            "default": {
                "latency": draw(
                    st.sampled_from(["40ms", {"distribution": "lognormal", "median": "40ms", "sigma": 0.5}])
                )
            }
        },
        "topics": {"t": {"clusters": ["a", "b", "c"], "partitions": draw(st.sampled_from([0, 0, 2]))}},
        "producers": {
            "p": {
                "topic": "t",
                "cluster": "a",
                "rate": "40/s",
                "keys": 5,
                "stop": "5s",
                "batch": draw(st.sampled_from([1, 1, 4])),
            },
            "q": {
                "topic": "t",
                "cluster": "b",
                "rate": "20/s",
                "arrivals": "poisson",
                "stop": "5s",
                "keys": 5,
            },
            "r": {
                "topic": "t",
                "cluster": "c",
                "rate": "10/s",
                "arrivals": "poisson",
                "stop": "5s",
                "keys": 5,
            },
        },
        "subscriptions": {
            "s": {
                "topic": "t",
                "type": type_,
                "initialPosition": draw(st.sampled_from(["Latest", "Earliest"])),
                "replicateSubscriptionState": draw(st.sampled_from([True, True, True, False]))
                and sync == "none",
                "acknowledgementSync": sync,
                "ackSyncPeriod": draw(st.sampled_from(["300ms", "1s"])),
            }
        },
        "consumers": consumers,
        "commands": commands,
    }


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(scenarios(), st.integers(200, 6000), st.sampled_from("bc"))
def test_the_five_forecast_figures_equal_the_actual_ones(scenario, at_ms, to):
    # the forecast excludes later actions of an operator
    scenario["commands"] = [command for command in scenario["commands"] if int(command["at"][:-2]) <= at_ms]
    text = json.dumps(scenario, indent=1)
    note(text)
    note(f"crash of a at {at_ms} ms, moved to {to}")
    world = World.from_scenario(load_scenario_text(text))
    world.run(at_ms * MS)
    assume(world.view()["clusters"][to]["state"] == "up")
    forecast = world.forecast("s", "a")[to]
    assert sorted(forecast) == ["duplicates", "lost", "redeliveries", "stranded", "stranded_unprocessed"]
    do(world, "cluster.crash", cluster="a")
    do(world, "subscription.fail-over", subscription="s", from_="a", to=to, mode="crash")
    # healed, so that everything that can arrive does arrive
    for link in ("c -> b", "b -> c"):
        world.apply({"do": "link.heal", "link": link})
    world.run(END_MS * MS)
    summary = world.summary()
    outcome = summary["failovers"][-1]
    assert {name: outcome[name] for name in forecast} == forecast
    assert outcome["forecast"] == {name: forecast[name] for name in outcome["forecast"]}
