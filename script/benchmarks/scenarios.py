"""Scenario texts of the benchmarks.

They are the two mixes of `simpy_baseline.py` with everything it leaves out, and runs for single benchmarks.
"""

from __future__ import annotations

RATE_PER_S = 1000
"""Messages per second of simulated time, as in `simpy_baseline.py`."""

TAIL_S = 15
"""Simulated time after the last message: held acks follow after 10 s, nacked messages after 1 s."""


def plain(messages: int) -> str:
    """The plain mix: two clusters, one Exclusive consumer at A, replicated, snapshots each second.

    Latency is constant, 40 ms, processing takes 0.5 ms.
    """
    return f"""
format: 1
name: benchmark-plain
title: Plain traffic
family: replicated-subscriptions
seed: 1
until: {messages // RATE_PER_S + TAIL_S}s
clusters: {{a: {{}}, b: {{}}}}
links:
  default: {{latency: 40ms}}
topics:
  orders: {{clusters: [a, b]}}
producers:
  web: {{topic: orders, cluster: a, start: 1ms, rate: {RATE_PER_S}/s, count: {messages}}}
subscriptions:
  billing: {{topic: orders, type: Exclusive, replicateSubscriptionState: true, initialPosition: Earliest}}
consumers:
  billing-1: {{subscription: billing, cluster: a, processing: 500us}}
"""


def hard(messages: int) -> str:
    """The hard mix: three clusters, Shared with four consumers at A.

    Latency is lognormal, processing takes 2 ms, 1 % of messages are nacked, 5 % of acks are held for 10 s.
    """
    consumers = "\n".join(
        f"  billing-{number}: {{subscription: billing, cluster: a, processing: 2ms, "
        f"negativeAckRedeliveryDelay: 1s, "
        "negativeAcknowledge: {share: 1%}, hold: {share: 5%, for: 10s}}"
        for number in range(1, 5)
    )
    return f"""
format: 1
name: benchmark-hard
title: Hard traffic
family: replicated-subscriptions
seed: 1
until: {messages // RATE_PER_S + TAIL_S}s
clusters: {{a: {{}}, b: {{}}, c: {{}}}}
links:
  default: {{latency: {{distribution: lognormal, median: 40ms, sigma: 0.3}}}}
topics:
  orders: {{clusters: [a, b, c]}}
producers:
  web: {{topic: orders, cluster: a, start: 1ms, rate: {RATE_PER_S}/s, count: {messages}}}
subscriptions:
  billing: {{topic: orders, type: Shared, replicateSubscriptionState: true, initialPosition: Earliest}}
consumers:
{consumers}
"""


def holes(messages: int) -> str:
    """A run for seeking: ten pending snapshots and a thousand holes.

    A link of 5 s keeps the snapshots pending, a share of acks held for long keeps the holes. The replicator's
    queue is longer than Pulsar's default, which would limit such a link to 100 messages a second.
    """
    return f"""
format: 1
name: benchmark-holes
title: A thousand holes and ten pending snapshots
family: replicated-subscriptions
seed: 1
until: {messages // RATE_PER_S + TAIL_S}s
settings: {{replicationProducerQueueSize: 10000}}
clusters: {{a: {{}}, b: {{}}}}
links:
  default: {{latency: 5s}}
topics:
  orders: {{clusters: [a, b]}}
producers:
  web: {{topic: orders, cluster: a, start: 1ms, rate: {RATE_PER_S}/s, count: {messages}}}
subscriptions:
  billing: {{topic: orders, type: Shared, replicateSubscriptionState: true, initialPosition: Earliest}}
consumers:
  billing-1: {{subscription: billing, cluster: a, processing: 500us, hold: {{share: 5%, for: 25s}}}}
"""


def crowded(regions: int, latency_s: int) -> str:
    """A run for the page: every log full of entries, the links full of messages in flight."""
    names = [f"region-{number:02}" for number in range(1, regions + 1)]
    return f"""
format: 1
name: benchmark-crowded
title: Crowded lanes
family: replicated-subscriptions
seed: 1
until: 600s
clusters: {{{", ".join(f"{name}: {{}}" for name in names)}}}
links:
  default: {{latency: {latency_s}s}}
topics:
  orders: {{clusters: [{", ".join(names)}]}}
producers:
  web: {{topic: orders, cluster: {names[0]}, start: 1ms, rate: 300/s}}
subscriptions:
  billing: {{topic: orders, type: Shared, replicateSubscriptionState: true, initialPosition: Earliest}}
consumers:
  billing-1: {{subscription: billing, cluster: {names[0]}, processing: 2ms, hold: {{share: 2%, for: 5s}}}}
"""


def fail_over(messages: int) -> str:
    """A run for reports: plain traffic whose region crashes half-way.

    Everything afterwards is delivered in the other region.
    """
    half_s = messages // RATE_PER_S // 2
    return (
        plain(messages).replace("name: benchmark-plain", "name: benchmark-fail-over")
        + f"""commands:
  - {{at: {half_s}s, do: cluster.crash, cluster: a}}
  - {{at: {half_s}s, do: subscription.fail-over, subscription: billing, from: a, to: b, mode: crash, producers: true}}
"""
    )


def shared(messages: int, troubled: bool) -> str:
    """A group of 200 sessions on two nodes that shares 1,000 streams (125 topics, 8 shards).

    If `troubled`, a session dies each second, and the leader at 12 s and every 45 s.
    """
    last_s = messages // RATE_PER_S
    sessions = "\n".join(
        (
            f"  s{number:03}: {{node: n{1 + number % 2}, start: 100ms, reconnect: 2s, processing: 1ms, "
            f'subscriptions: ["$share/meters/meters/#"]}}'
        )
        for number in range(200)
    )
    kills = [
        f"  - {{at: {second}s, do: session.kill, session: s{second % 200:03}}}"
        for second in range(5, last_s)
        if troubled
    ]
    crashes = [
        f"  - {{at: {second}s, do: leader.crash, group: meters}}"
        for second in range(12, last_s, 45)
        if troubled
    ]
    commands = "\n".join(["commands:", *kills, *crashes] if troubled else [])
    return f"""
format: 1
name: benchmark-shared
title: A thousand streams, two hundred sessions
family: durable-shared-subscriptions
seed: 1
until: {last_s + 60}s
settings: {{n_shards: 8}}
nodes: {{n1: {{}}, n2: {{}}}}
links: {{default: {{latency: 1ms}}}}
groups: {{meters: {{filter: "meters/#"}}}}
publishers: {{grid: {{topic: meters, topics: 125, start: 1s, rate: {RATE_PER_S}/s, count: {messages}}}}}
sessions:
{sessions}
{commands}
"""
