"""Open batches: which messages may overtake them and which may not."""

from __future__ import annotations

import pytest

from simulator import World, load_scenario

TEXT = """format: 1
name: batches
title: A delayed message among batches
family: replicated-subscriptions
until: 10s
settings: {brokerDeduplicationEnabled: %s}
clusters: {a: {}, b: {}}
links: {default: {latency: 40ms}}
topics: {t: {clusters: [a, b]}}
producers: {p: {topic: t, cluster: a, every: 10ms, count: 20, batch: 5, delay: {messages: [p/2], for: 1s}}}
subscriptions: {s: {topic: t, type: Shared, initialPosition: Earliest}}
consumers: {c: {subscription: s, cluster: a}}
"""


@pytest.mark.parametrize("deduplication", ["false", "true"])
def test_a_message_that_cannot_be_batched_sends_the_open_batch_first(deduplication):
    # Pulsar's ProducerImpl sends the current batch before a single message. So the log keeps the producer's
    # order, and deduplication, which compares with the highest id, mistakes no message for a repeat.
    world = World.from_scenario(load_scenario(TEXT % deduplication))
    world.run()
    for cluster in ("a", "b"):
        stored = [
            row["sequence_id"]
            for row in world.trace.rows(types=["message.stored"])
            if row["cluster"] == cluster
        ]
        assert stored == list(range(20))
    assert world.trace.rows(types=["message.deduplicated"]) == []
    assert world.violations == []
