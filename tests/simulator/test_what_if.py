"""What would have helped: one definition of variants, each a separate run that anyone can repeat."""

from __future__ import annotations

from dataclasses import replace

import pytest

from simulator import World, load_scenario, load_scenario_text, scenario_names, what_if
from simulator.runs import Runs, finished
from simulator.scenarios.canonical import NO_SETTING
from simulator.what_if import answer, beside, variants


def outcome(variant, until_us=None, events=500):
    variant = replace(variant, until_us=until_us)
    return what_if.outcome(variant, finished(Runs(lambda: events).run(variant)))


def by_key(scenario, commands=()):
    return {variant.key: variant for variant in variants(scenario, list(commands))}


@pytest.mark.parametrize("name", scenario_names())
def test_every_variant_of_every_scenario_is_a_scenario_that_can_be_saved(name):
    found = variants(load_scenario(name), [])
    assert len({variant.key for variant in found}) == len({variant.name for variant in found}) == len(found)
    for variant in found:
        again = load_scenario_text(variant.scenario.canonical_text)
        assert again == variant.scenario, variant.key
    texts = [variant.scenario.canonical_text for variant in found]
    assert len(set(texts)) == len(texts), "each changes something, and no two the same"


@pytest.mark.parametrize(
    ("name", "section"), [("region-down", "failovers"), ("groups-two-readers", "groups")]
)
def test_the_unchanged_variant_has_the_same_bytes_as_the_run(name, section):
    scenario = load_scenario(name)
    world = World.from_scenario(scenario)
    world.run()
    real, summary = outcome(variants(scenario, [])[0]), world.summary()
    assert real["digest"] == world.digest()
    counted = summary[section] if section == "failovers" else list(summary[section].values())
    assert [
        {key: case[key] for key in told} for case, told in zip(real["cases"], counted, strict=True)
    ] == counted


@pytest.mark.parametrize(
    ("name", "key", "fewer"),
    [
        ("periodic-snapshots", "period-halved", "duplicates"),
        ("issue-10054", "no-holds", "redeliveries"),
        ("ack-hole-delayed-message", "no-delays", "duplicates"),
        ("ack-hole-delayed-message", "acks-told", "duplicates"),
        ("slow-consumer-oldest-first", "cache-rule", "duplicates"),
        ("enabled-on-backlog", "replicated", "duplicates"),
        ("one-way-replication", "two-ways", "duplicates"),
        ("region-down-twice", "all-up", "duplicates"),
        ("crash-returns-stranded", "links-up", "stranded"),
        ("update-in-flight", "markers-safe", "duplicates"),
        ("region-down", "drained", "duplicates"),
        ("slow-consumer-spread", "small-queues", "duplicates"),
        ("slow-consumer-spread", "cache-doubled", "duplicates"),
        ("groups-killed-in-a-chunk", "chunks-of-one", "duplicates"),
        ("groups-killed-in-a-chunk", "prompt-clients", "redeliveries"),
        ("groups-quality-0", "quality-1", "lost_qos0"),
        ("groups-two-readers", "patient-leader", "two_readers_us"),
        ("groups-two-readers", "short-leases", "duplicates"),
        ("groups-two-readers", "links-up", "duplicates"),
        ("groups-leader-crash-early", "heartbeat-faster", "duplicates"),
        ("groups-leader-crash-early", "claim-shorter", "unowned_us"),
        ("groups-leader-crash-early", "leader-stopped", "duplicates"),
        ("groups-leave", "rounds-faster", "unowned_us"),
        ("groups-killed", "leases-halved", "unowned_us"),
        ("groups-killed", "sessions-told", "unowned_us"),
        ("groups-node-crash", "nodes-up", "duplicates"),
        ("groups-node-crash", "nodes-stopped", "duplicates"),
        ("groups-node-stop", "nodes-evacuated", "unowned_us"),
        ("groups-node-stop", "claim-shorter", "unowned_us"),
        ("groups-takeover", "closed-first", "unowned_us"),
        ("groups-takeover", "leases-halved", "unowned_us"),
        ("groups-two-leaders", "store-up", "duplicates"),
        ("groups-timers-changed", "timers-kept", "duplicates"),
        ("groups-late-progress-as-shipped", "repaired-lateProgress", "duplicates"),
        ("groups-late-progress-as-shipped", "messages-safe", "duplicates"),
        ("groups-late-revoke", "repaired-revokeCarriesEpoch", "waiting"),
    ],
)
def test_a_helpful_variant_has_fewer_duplicates_or_losses(name, key, fewer):
    scenario = load_scenario(name)
    found = by_key(scenario)
    real, other = (outcome(found[one]) for one in ("as-it-was", key))
    assert sum(one[fewer] for one in other["cases"]) < sum(one[fewer] for one in real["cases"])
    assert any(case["difference"] != "no difference" for case in beside(scenario, [real, other])[1]["cases"])


def test_a_variant_that_delivers_less_is_no_help():
    scenario = load_scenario("groups-two-readers")
    [real] = outcome(variants(scenario, [])[0])["cases"]
    idle = {**real, "duplicates": 0, "waiting": real["waiting"] + real["duplicates"] + 1}
    outcomes = [
        {"key": key, "name": key, "digest": "", "settings": [], "no_setting": "", "cases": cases}
        for key, cases in (("real", [real]), ("idle", [idle]), ("none", []))
    ]
    _, [told], [missing] = (outcome["cases"] for outcome in beside(scenario, outcomes))
    assert told["difference"] == "31 fewer duplicates, 32 more unread at the end" and not told["helps"]
    assert (missing["figures"], missing["harm"], missing["difference"]) == (
        None,
        None,
        "the group was not declared",
    )


def test_a_live_command_is_varied_like_a_planned_one():
    scenario = load_scenario("two-regions")
    world = World.from_scenario(scenario)
    world.run(3_000_000)
    assert world.apply({"do": "cluster.crash", "cluster": "us-west"}).ok
    assert world.apply(
        {
            "do": "subscription.fail-over",
            "subscription": "billing",
            "from": "us-west",
            "to": "us-east",
            "mode": "crash",
        }
    ).ok
    world.run(6_000_000)
    found = by_key(scenario, world.command_log)
    assert outcome(found["as-it-was"], 6_000_000)["digest"] == world.digest()
    assert [entry["do"] for entry in found["planned"].commands] == ["subscription.fail-over"]
    assert outcome(found["planned"], 6_000_000)["cases"][0]["mode"] == "planned"


def test_a_variant_has_the_same_outcome_however_it_is_cut():
    variant = by_key(load_scenario("region-down"))["period-halved"]
    assert outcome(variant) == outcome(variant, events=100_000)


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (None, "no failover"),
        ({}, "no difference"),
        ({"duplicates": 3, "lost": 2}, "4 fewer duplicates, 2 more lost"),
        ({"outage_us": 1_500_000}, "delivery gap 1.40 s longer"),
        (
            {"first_delivery_us": None, "outage_us": None, "duplicates": 0},
            "7 fewer duplicates, nothing left to deliver",
        ),
        (
            {"first_delivery_us": None, "outage_us": None, "moved": False},
            "the consumers had not moved by the end of the run",
        ),
    ],
)
def test_differences_are_described_with_numbers(other, words):
    real = {
        "duplicates": 7,
        "redeliveries": 0,
        "stranded": 0,
        "lost": 0,
        "outage_us": 100_000,
        "first_delivery_us": 5,
        "mode": "crash",
        "moved": True,
        "markers": 9,
        "markers_per_s": 9.5,
        "marker_bytes_per_s": 900.0,
        "label": "s from a to b",
        "at_us": 5,
    }
    outcomes = [
        {"key": key, "name": key, "digest": "", "settings": [], "no_setting": "", "cases": cases}
        for key, cases in (("real", [real]), ("other", [] if other is None else [{**real, **other}]))
    ]
    [told] = beside(load_scenario("region-down"), outcomes)[1]["cases"]
    assert told["difference"] == words
    assert told["helps"] == (other is not None and "fewer duplicates" in words and "lost" not in words)


def test_after_a_crash_a_planned_failover_is_shown_with_its_assumption():
    scenario = load_scenario("region-down")
    wanted = [
        variant
        for variant in variants(scenario, [])
        if variant.key in ("as-it-was", "period-halved", "planned", "drained")
    ]
    assumed = {
        one["key"]: one["cases"][0]["assumes"]
        for one in beside(scenario, [outcome(variant) for variant in wanted])
    }
    assert assumed["planned"] == assumed["drained"] == "assumes a planned move while the region was still up"
    assert assumed["as-it-was"] is assumed["period-halved"] is None


def ordered(name, *keys, done=True):
    """The answer for these variants of a scenario."""
    scenario = load_scenario(name)
    wanted = [one for one in variants(scenario, []) if not keys or one.key in ("as-it-was", *keys)]
    return answer(scenario, [outcome(variant) for variant in wanted], done=done)


def test_a_procedure_is_shown_last_and_never_recommended():
    told = ordered("fail-over-and-back", "drained", "period-halved")
    assert [row["group"] for row in told["order"][0]["rows"]][-1] == "assumed"
    assert told["order"][0]["rows"][-1]["key"] == "drained"
    drained = next(one for one in told["variants"] if one["key"] == "drained")
    assert drained["cases"][0]["assumes"] == "a procedure, not a setting" and drained["settings"] == []
    assert all(order["best"] != "drained" for order in told["order"])


@pytest.mark.parametrize(
    ("name", "impossible", "best"),
    [
        ("periodic-snapshots", "drained", "period-halved"),
        ("groups-two-readers", "links-up", "leases-halved"),
        ("groups-node-crash", "nodes-up", None),
    ],
)
def test_the_recommended_change_is_a_setting_although_an_impossible_one_helps_more(name, impossible, best):
    told = ordered(name)
    [order] = told["order"]
    by_key = {one["key"]: one for one in told["variants"]}
    assert by_key[impossible]["cases"][0]["helps"]
    if best is not None:
        assert by_key[impossible]["cases"][0]["harm"] <= by_key[best]["cases"][0]["harm"]
        assert order["best"] == best
    assert order["best"] is None or by_key[order["best"]]["settings"]
    groups = [row["group"] for row in order["rows"]]
    assert groups == sorted(groups, key=["real", "changed", "same", "assumed"].index)


def test_nothing_is_recommended_before_all_variants_have_run():
    before, after = (ordered("periodic-snapshots", "period-halved", done=done) for done in (False, True))
    assert (before["order"][0]["best"], after["order"][0]["best"]) == (None, "period-halved")
    assert before["variants"] == after["variants"] and not before["done"] and after["done"]


@pytest.mark.parametrize("name", scenario_names())
def test_every_change_has_its_settings_or_says_that_it_is_no_setting(name):
    first, *changed = variants(load_scenario(name), [])
    assert first.settings == () and first.no_setting == ""
    for variant in changed:
        assert bool(variant.settings) != (variant.no_setting in NO_SETTING), variant.key
        for one in variant.settings:
            assert one.key and one.where and one.key in one.paste and one.value in one.paste, variant.key


@pytest.mark.parametrize(
    ("name", "key", "pasted"),
    [
        (
            "region-down",
            "period-halved",
            [
                (
                    "replicatedSubscriptionsSnapshotFrequencyMillis=500",
                    "broker.conf of every broker of every region; takes effect after a restart",
                )
            ],
        ),
        (
            "region-down",
            "acks-at-once",
            [(".acknowledgmentGroupTime(0, TimeUnit.MILLISECONDS)", "Java client, ConsumerBuilder")],
        ),
        (
            "enabled-on-backlog",
            "replicated",
            [(".replicateSubscriptionState(true)", "Java client, ConsumerBuilder")],
        ),
        (
            "groups-two-readers",
            "patient-leader",
            [
                (
                    "durable_queues.leader_borrower_timeout = 9s",
                    "emqx.conf or emqx ctl conf load, cluster-wide",
                )
            ],
        ),
        ("groups-quality-0", "quality-1", [("qos = 1", "MQTT clients, PUBLISH")]),
    ],
)
def test_a_setting_is_written_as_the_broker_or_client_takes_it(name, key, pasted):
    variant = by_key(load_scenario(name))[key]
    assert [(one.paste, one.where) for one in variant.settings] == pasted


def test_an_override_of_a_region_is_changed_and_named_there():
    scenario = load_scenario(
        "region-down",
        overrides=[("clusters.us-west.settings.replicatedSubscriptionsSnapshotFrequencyMillis", "400")],
    )
    placed = by_key(scenario)["period-halved"].settings
    assert [(one.value, one.where.split(";")[0]) for one in placed] == [
        ("500", "broker.conf of every broker of every region"),
        ("200", "broker.conf of every broker of us-west"),
    ]


def test_the_price_is_what_the_rerun_costs_more():
    """Twice the snapshots: in periodic-snapshots each has the same markers, so their rate is doubled, too."""
    scenario = load_scenario("periodic-snapshots")
    real, halved = (outcome(by_key(scenario)[key]) for key in ("as-it-was", "period-halved"))
    [case] = beside(scenario, [real, halved])[1]["cases"]
    rates = [one["cases"][0]["markers_per_s"] for one in (real, halved)]
    world = World.from_scenario(scenario)
    world.run()
    stored = [row for row in world.trace.rows() if row["type"] in ("marker.written", "marker.stored")]
    assert rates[0] == round(len(stored) * 1_000_000 / world.now_us, 1)
    assert case["price"]["markers_per_s"] == round(rates[1] - rates[0], 1) > 0.5 * rates[0]
    assert case["price"]["outage_us"] == halved["cases"][0]["outage_us"] - real["cases"][0]["outage_us"]
    assert (
        f"{case['price']['markers_per_s']:,.1f}".removesuffix(".0") + " more markers/s" in case["price_words"]
    )
    assert "more bytes/s of markers" in case["price_words"]
