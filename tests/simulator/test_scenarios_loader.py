"""Tests of the loader.

What loads, what is reported for every mistake, and that the canonical text is the whole scenario.
"""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from simulator.protocols.declared import DECLARED
from simulator.protocols.emqx.verdicts.group_causes import GROUP_CAUSES
from simulator.protocols.pulsar.verdicts.causes import CAUSE_TABLES
from simulator.scenarios import ScenarioError, load_scenario, load_scenario_text, parse_overrides, shape
from simulator.scenarios.model import Distribution, Selection
from simulator.scenarios.reader import KINDS
from simulator.scenarios.shape import PROTOCOL_OF

EXAMPLE = Path(__file__).resolve().parents[2] / "docs" / "scenario-example.yaml"

SMALL = """\
format: 1
name: small
title: Two clusters
family: replicated-subscriptions
until: 5s
clusters: {a: {}, b: {}}
topics:
  t: {clusters: [a, b]}
producers:
  p: {topic: t, cluster: a, every: 10ms}
  only-b: {topic: t, cluster: b}
subscriptions:
  s: {topic: t, type: Shared}
consumers:
  c: {subscription: s, cluster: a}
"""


@pytest.fixture
def example_text():
    return EXAMPLE.read_text(encoding="utf-8")


def problems_of(text, **options):
    with pytest.raises(ScenarioError) as caught:
        load_scenario_text(text, "t.yaml", **options)
    return caught.value.problems


def small(old, new):
    assert old in SMALL
    return SMALL.replace(old, new)


def test_the_contract_example_loads_as_it_is(example_text):
    scenario = load_scenario_text(example_text)
    assert scenario.until_us == 20_000_000 and scenario.seed == 42
    assert scenario.links["us-west", "us-east"].latency == Distribution(
        "lognormal", 40_000, sigma_millionths=300_000
    )
    assert scenario.links["us-west", "us-east"].bandwidth_bytes_per_s == 100_000_000
    assert scenario.links["us-east", "us-west"].latency == Distribution(value_us=40_000)
    assert scenario.producers["web"].size_bytes == 1000 and scenario.producers["api"].every_us == 200_000
    assert scenario.consumers["billing-2"].hold == Selection((("web", 5), ("web", 7)), 10_000, 300_000)
    assert scenario.commands[0].arguments == {"link": "us-east -> us-west", "latency_us": 300_000}
    assert scenario.commands[2].arguments["limit_us"] == 30_000_000
    assert scenario.expect == {"failovers[0].lost": 0, "failovers[0].duplicates": [1, 40], "violations": []}
    assert scenario.about.endswith("us-east.")


def test_canonical_text_is_a_fixed_point_and_an_equal_scenario(example_text):
    for text in (example_text, SMALL):
        scenario = load_scenario_text(text)
        again = load_scenario_text(scenario.canonical_text)
        assert again == scenario
        assert again.canonical_text == scenario.canonical_text


def test_defaults_are_written_out():
    text = load_scenario_text(SMALL).canonical_text
    assert (
        "sendTimeout: 30s" in text and "initialPosition: Latest" in text and "a -> b: {latency: 40ms}" in text
    )


def test_scenarios_are_loaded_from_paths_and_library_names(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(SMALL, encoding="utf-8")
    assert load_scenario(path) == load_scenario(str(path)) == load_scenario(SMALL)
    with pytest.raises(ScenarioError, match="no built-in scenario"):
        load_scenario("no-such-scenario")
    with pytest.raises(ScenarioError, match="cannot be read"):
        load_scenario(str(tmp_path / "missing.yaml"))
    path.write_bytes(b"format: \xff\n")
    with pytest.raises(ScenarioError, match="not UTF-8"):
        load_scenario(path)


def test_seed_until_and_overrides_change_the_loaded_scenario():
    overrides = parse_overrides(
        ["producers.p.every=1s", "clusters.b.settings.brokerDeduplicationEnabled=true", "producers.p.count=3"]
    )
    scenario = load_scenario_text(SMALL, seed=9, until_us=1_234, overrides=overrides)
    assert (
        scenario.seed,
        scenario.until_us,
        scenario.producers["p"].every_us,
        scenario.producers["p"].count,
    ) == (9, 1_234, 1_000_000, 3)
    assert scenario.clusters["b"].settings == {"brokerDeduplicationEnabled": True}
    assert load_scenario_text(scenario.canonical_text) == scenario


def test_overrides_are_checked_like_the_file():
    problems = problems_of(
        SMALL, overrides=[("clusters.b.settings.brokerDedup", "true"), ("producers.p.cluster", "c")]
    )
    assert [problem.source for problem in problems] == [
        "--set clusters.b.settings.brokerDedup=true",
        "--set producers.p.cluster=c",
    ]
    with pytest.raises(ScenarioError) as caught:
        parse_overrides(["a", "=b", "c=d"])
    assert len(caught.value.problems) == 2


BROKEN = """\
format: 1
name: Bad Name
titel: x
family: replicated-subscription
until: 20
settings: {replicatedSubscriptionsSnapshotFreqencyMillis: 1000, brokerDeduplicationEnabled: 3}
clusters:
  a: {settings: {replicatedSubscriptionsSnapshotMaxCachedPerSubscription: 2}}
  b: {}
links:
  a -> c: {latency: 40}
  a => b: {}
topics:
  t: {clusters: [a, bb]}
  u: {clusters: [a]}
producers:
  p: {topic: tt, cluster: a, every: 1.5us, rate: 5/s, count: -1}
  q: {topic: u, cluster: b}
subscriptions:
  s: {topic: u, type: Sharde, initialPosition: Earliest}
  s2: {topic: u, type: Shared}
consumers:
  c: {subscription: s2, cluster: a, acknowledge: cumulative, hold: {messages: [p/x, z/1], share: 200%}}
commands:
  - {at: 3, do: link.slow, link: a -> b, latncy: 300ms}
  - {do: cluster.crsh, cluster: a}
  - {at: 1s, do: subscription.fail-over, subscription: s2, from: a, to: a, mode: crash}
expect:
  failovers[0.x: 1
  v: [3, 1]
v: 1
"""

EXPECTED = [
    (1, "title", "is missing"),
    (2, "name", "is not a name"),
    (3, "titel", "unknown key"),
    (4, "family", "not one of the choices"),
    (5, "until", "no unit"),
    (6, "settings.replicatedSubscriptionsSnapshotFreqencyMillis", "unknown broker setting"),
    (6, "settings.brokerDeduplicationEnabled", "not true or false"),
    (8, "clusters.a.settings.replicatedSubscriptionsSnapshotMaxCachedPerSubscription", "too small"),
    (11, "links.a -> c", "no cluster"),
    (11, "links.a -> c.latency", "no unit"),
    (12, "links.a => b", "not a link"),
    (14, "topics.t.clusters[1]", "no cluster"),
    (17, "producers.p.topic", "no topic"),
    (17, "producers.p.every", "finer"),
    (17, "producers.p.count", "too small"),
    (18, "producers.q.cluster", "topic u is not in b"),
    (20, "subscriptions.s.type", "not one of the choices"),
    (23, "consumers.c.hold.messages[0]", "not a message"),
    (23, "consumers.c.hold.messages[1]", "no producer"),
    (23, "consumers.c.hold.share", "out of range"),
    (25, "commands[0].latency", "is missing"),
    (25, "commands[0].at", "no unit"),
    (25, "commands[0].latncy", "unknown argument"),
    (26, "commands[1].at", "is missing"),
    (26, "commands[1].do", "no command"),
    (27, "commands[2].to", "is the cluster that they leave"),
    (29, "expect.failovers[0.x", "is not a path"),
    (30, "expect.v", "range is empty"),
    (31, "v", "unknown key"),
]


def test_every_problem_is_reported_at_once_with_its_place():
    problems = problems_of(BROKEN)
    seen = [(problem.line, problem.path) for problem in problems]
    assert seen == [(line, path) for line, path, _ in EXPECTED]
    for problem, (_, _, words) in zip(problems, EXPECTED, strict=True):
        assert words in problem.what and problem.right and problem.column


def test_a_problem_prints_place_path_what_is_wrong_and_what_would_be_right():
    problem = next(problem for problem in problems_of(BROKEN) if problem.path == "topics.t.clusters[1]")
    assert str(problem) == 't.yaml:14:21: topics.t.clusters[1]: there is no cluster "bb"; did you mean b?'


@pytest.mark.parametrize(
    ("old", "new", "path", "words"),
    [
        ("every: 10ms", "rate: 5/s, every: 10ms", "producers.p.rate", "means the same as every"),
        ("every: 10ms", "count: 5", "producers.p.count", "without an interval"),
        ("every: 10ms", "arrivals: poisson", "producers.p.arrivals", "without an interval"),
        ("every: 10ms", "at: [1s], every: 1s", "producers.p.every", "does not go with at"),
        ("every: 10ms", "at: [2s, 1s]", "producers.p.at", "not in order"),
        ("every: 10ms", "every: 0s", "producers.p.every", "too small"),
        ("every: 10ms", "start: 2s, stop: 1s", "producers.p.stop", "before start"),
        ("every: 10ms", "delay: {messages: [p/1]}", "producers.p.delay.for", "is missing"),
        ("every: 10ms", "delay: {for: 1s}", "producers.p.delay", "selects nothing"),
        ("every: 10ms", "replicateTo: [c]", "producers.p.replicateTo[0]", "no cluster"),
        ("  p: {", "  c: {", "producers.c", "name of a consumer"),
        (
            "t: {clusters: [a, b]}",
            "t-partition-1: {clusters: [a, b]}\n  t: {clusters: [a, b]}",
            "topics.t-partition-1",
            "looks like a partition",
        ),
        ("[a, b]", "[]", "topics.t.clusters", "is empty"),
        ("[a, b]", "[a, a]", "topics.t.clusters[1]", "is given twice"),
        ("[a, b]}", "[a, b], replication: [a -> a]}", "topics.t.replication[0]", "to itself"),
        (
            "clusters: [a, b]}",
            "clusters: [b], replication: [a -> b]}",
            "topics.t.replication",
            "not in the list",
        ),
        ("[a, b]}", "[a, b], namespace: orders}", "topics.t.namespace", "not a namespace"),
        ("[a, b]}", "[a, b], namespace: acme/}", "topics.t.namespace", "not a name"),
        ("[a, b]}", "[a, b], namespace: acme/or_ders}", "topics.t.namespace", "not a name"),
        (
            "cluster: a}",
            "cluster: a, acknowledge: cumulative}",
            "consumers.c.acknowledge",
            "refuse cumulative",
        ),
        ("cluster: a}", "cluster: a, ackTimeout: 5ms}", "consumers.c.ackTimeout", "under a second"),
        (
            "cluster: a}",
            "cluster: a, processing: {distribution: uniform, low: 2s, high: 1s}}",
            "consumers.c.processing",
            "low is above high",
        ),
        (
            "cluster: a}",
            "cluster: a, processing: {distribution: lognormal, median: 2s}}",
            "consumers.c.processing.sigma",
            "is missing",
        ),
        ("until: 5s", "until: 0s", "until", "too small"),
        ("format: 1", "format: 2", "format", "too large"),
        ("title: Two clusters", 'title: "\\aTwo"', "title", "control character"),
        ("title: Two clusters", 'title: " "', "title", "is empty"),
        ("until: 5s", "until: 5s\nlinks: []", "links", "not a mapping"),
        ("until: 5s", "until: 5s\ncommands: {}", "commands", "not a list"),
        ("until: 5s", "until: 5s\ncommands: [1]", "commands[0]", "not a command"),
        (
            "until: 5s",
            "until: 5s\ncommands: [{at: 1s, do: topic.grow, topic: t, partitions: 3}]",
            "commands[0].topic",
            "no partitions",
        ),
        (
            "until: 5s",
            "until: 5s\ncommands: [{at: 1s, do: topic.unload, cluster: a, topic: t-partition-1}]",
            "commands[0].topic",
            "no partitions",
        ),
        ("clusters: {a: {}, b: {}}", "clusters: 3", "clusters", "not a mapping"),
        ("clusters: {a: {}, b: {}}", "clusters: {a: 1, b: {}}", "clusters.a", "not a mapping"),
    ],
)
def test_each_single_mistake_is_reported(old, new, path, words):
    problems = problems_of(small(old, new))
    found = [problem for problem in problems if problem.path == path]
    assert found and words in found[0].what, [str(problem) for problem in problems]


def test_a_consumer_of_partitions_needs_a_receiver_queue():
    text = small("cluster: a}", "cluster: a, receiverQueueSize: 0}")
    assert load_scenario_text(text).consumers["c"].receiver_queue_size == 0
    (problem,) = problems_of(text.replace("[a, b]}", "[a, b], partitions: 1}"))
    assert problem.path == "consumers.c.receiverQueueSize" and "t has partitions" in problem.what


def test_a_topic_has_a_namespace_and_its_tenant():
    plain = load_scenario_text(SMALL).topics["t"]
    assert (plain.namespace, plain.tenant) == ("public/default", "public")
    scenario = load_scenario_text(small("[a, b]}", "[a, b], namespace: acme/orders}"))
    assert (scenario.topics["t"].namespace, scenario.topics["t"].tenant) == ("acme/orders", "acme")
    assert load_scenario_text(scenario.canonical_text).topics == scenario.topics


def test_a_cluster_added_later_may_hold_clients():
    text = (
        SMALL.replace("[a, b]", "[a]")
        + "commands:\n  - {at: 1s, do: replication.add-cluster, topic: t, cluster: b}\n"
    )
    assert load_scenario_text(text).topics["t"].clusters == ("a",)


def test_links_are_filled_in_for_every_ordered_pair():
    text = (
        SMALL.replace("{a: {}, b: {}}", "{a: {}, b: {}, c: {}}")
        + """\
links:
  a -> b: {latency: 1ms}
  a <-> b: {latency: 2ms, bandwidth: 1MB/s}
  default: {latency: 9ms}
  c <-> a: {latency: 3ms}
  a <-> c: {latency: 4ms}
"""
    )
    links = load_scenario_text(text).links
    assert {pair: link.latency.value_us for pair, link in links.items()} == {
        ("a", "b"): 1000,
        ("b", "a"): 2000,
        ("a", "c"): 4000,
        ("c", "a"): 4000,
        ("b", "c"): 9000,
        ("c", "b"): 9000,
    }
    assert (
        links["a", "b"].bandwidth_bytes_per_s == 1_000_000 and links["b", "c"].bandwidth_bytes_per_s is None
    )


def test_replication_pairs_and_first_ledger():
    text = SMALL.replace("[a, b]}", "[a, b], replication: [a -> b]}").replace(
        "b: {}}", "b: {firstLedger: 3}}"
    )
    scenario = load_scenario_text(text)
    assert scenario.topics["t"].replication == (("a", "b"),)
    assert (scenario.clusters["a"].first_ledger, scenario.clusters["b"].first_ledger) == (None, 3)
    assert load_scenario_text(scenario.canonical_text) == scenario


def test_numeric_names_and_special_texts_are_restored():
    text = (
        SMALL.replace("{a: {}, b: {}}", "{001: {}, b: {}, 1e3: {}}")
        .replace("[a, b]", "[001, b, 1e3]")
        .replace("cluster: a", "cluster: 1e3")
    )
    text = (
        text.replace("Two clusters", '"it\'s: \\"1:4\\" # [x]\\u2028, ü"')
        + 'about: "a\\n\\n  b: c  \\n# d"\nwatch: "true"\n'
    )
    scenario = load_scenario_text(text)
    assert scenario.title == 'it\'s: "1:4" # [x]\u2028, ü' and scenario.watch == "true"
    assert load_scenario_text(scenario.canonical_text) == scenario


@pytest.mark.parametrize("section", shape.sections(), ids=lambda section: section.name)
def test_declared_keys_and_model_fields_agree(section):
    declared = {key.field for key in section.keys}
    assert declared == {field.name for field in fields(section.model)} - {"name"}
    assert all(key.kind in KINDS and key.says for key in section.keys)


def test_every_family_has_its_causes():
    assert set(PROTOCOL_OF) == set(CAUSE_TABLES) | {"durable-shared-subscriptions"}
    assert [name for name, _holds in GROUP_CAUSES] == [
        "progress_unreported",
        "progress_unpersisted",
        "owner_declared_dead",
        "progress_rewound",
        "chunk_repeated",
        "leader_outdated",
    ]


@pytest.mark.parametrize("protocol", DECLARED)
def test_head_and_sections_cover_the_scenario(protocol):
    declared = (
        {key.field for key in shape.head()} - {"format"}
        | {section.name for section in DECLARED[protocol].sections}
        | {"links", "commands", "expect", "compare", "tour"}
    )
    assert declared == {field.name for field in fields(DECLARED[protocol].scenario)} - {"canonical_text"}


@pytest.mark.parametrize("protocol", DECLARED)
def test_the_canonical_text_has_a_place_for_every_section(protocol):
    assert {section.name for section in DECLARED[protocol].sections} == {*DECLARED[protocol].order} - {
        "links"
    }


def test_sections_of_another_protocol_are_empty_and_unknown_names_raise():
    scenario = load_scenario_text(SMALL)
    assert scenario.topics and scenario.sessions == {}
    with pytest.raises(AttributeError, match="a scenario has no colours"):
        _ = scenario.colours
