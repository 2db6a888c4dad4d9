"""What limits replication between the clusters of a set-up, in the sentences beside its answer."""

from __future__ import annotations

import re

import pytest

from simulator import World, load_scenario_text
from simulator.experiments import assumed

TEXT = """\
format: 1
name: limited
title: More is published than the replicator carries
family: replicated-subscriptions
until: 24s
options: {{timing: measured}}
settings: {{replicationProducerQueueSize: {queue}}}
clusters: {{a: {{}}, b: {{}}}}
links: {{default: {{latency: 40ms{link}}}}}
topics: {{t: {{clusters: [a, b], partitions: {partitions}}}}}
producers: {{p: {{topic: t, cluster: a, rate: {rate}/s, batch: {batch}}}}}
subscriptions: {{s: {{topic: t, type: Shared, replicateSubscriptionState: true}}}}
consumers: {{c: {{subscription: s, cluster: a}}, d: {{subscription: s, cluster: a}}}}
commands:
  - {{at: {at}s, do: cluster.crash, cluster: a}}
  - {{at: {at}s, do: subscription.fail-over, subscription: s, from: a, to: b, mode: crash}}
"""


def text_of(**given: object) -> str:
    whole = {"queue": 100, "link": "", "partitions": 0, "rate": 2500, "batch": 1, "at": 4}
    return TEXT.format(**whole | given)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "replicationProducerQueueSize is 100, and a receipt takes a round trip of 80 ms"),
        ({"queue": 150}, "a replicationProducerQueueSize of at least 200 would carry it"),
        ({"partitions": 2, "rate": 5000}, "entries of a partition per second, of 2,500"),
        ({"queue": 1000, "link": ", bandwidth: 1MB/s"}, "the link a -> b has 1.0 MB/s"),
    ],
)
def test_the_sentence_has_the_rate_that_the_engine_carries(given: dict, words: str) -> None:
    text = text_of(**given)
    [sentence] = assumed(load_scenario_text(text))
    assert words in sentence
    found = re.search(r"carries about ([0-9,]+) entries", sentence)
    assert found
    carried = int(found[1].replace(",", "")) * max(1, given.get("partitions", 0))
    world = World.from_scenario(load_scenario_text(text.replace("at: 4s", "at: 20s")))
    world.run(until_us=7_000_000)
    rows = world.trace.rows(0, world.seq, types=["message.stored"])
    stored = sum(row["cluster"] == "b" and row["at_us"] >= 2_000_000 for row in rows) / 5
    assert abs(stored - carried) < 0.05 * carried


@pytest.mark.parametrize(
    "given",
    [
        {"queue": 201},
        {"partitions": 3, "queue": 100},
        {"batch": 5},
        {"queue": 1000, "link": ", bandwidth: 3MB/s"},
    ],
)
def test_nothing_is_said_where_replication_carries_what_is_published(given: dict) -> None:
    assert assumed(load_scenario_text(text_of(**given))) == []


def test_what_it_means_for_the_figures_is_so() -> None:
    """More traffic before the failure: more messages that are not replicated, and more duplicates."""
    figures = []
    for at in (2, 4):
        world = World.from_scenario(load_scenario_text(text_of(at=at)))
        world.run()
        figures.append(world.summary()["failovers"][0])
    short, long = figures
    assert long["duplicates"] > 1.5 * short["duplicates"] and long["stranded"] > 1.5 * short["stranded"]
