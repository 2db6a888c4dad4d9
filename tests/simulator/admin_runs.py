"""Small runs for tests of what pulsar-admin prints.

Two clusters, ten messages a second, one subscription; answers as trees and notes.
"""

import json

TWO = """
clusters: {a: {}, b: {}}
links: {default: {latency: 20ms}}
topics: {t: {clusters: [a, b]}}
"""
FEED = "producers: {p: {topic: t, cluster: a, start: 50ms, every: 100ms, size: 1KB}}\n"
BILLING = (
    "subscriptions: {s: {topic: t, type: %s, replicateSubscriptionState: %s, initialPosition: Earliest}}\n"
)
READS = "consumers: {c: {cluster: a, subscription: s, acknowledgmentGroupTime: 0s%s}}\n"


def body(type_="Shared", replicated="true", consumer="", more=""):
    return TWO + FEED + BILLING % (type_, replicated) + READS % consumer + more


def tree(world, tool="stats", cluster="a", topic="t"):
    return json.loads(world.admin(tool, cluster, topic)["text"])


def note(world, tool, field, cluster="a", topic="t", after=""):
    """The note beside the first line that shows `field`, at or after the line that contains `after`."""
    answer = world.admin(tool, cluster, topic)
    lines = answer["text"].splitlines()
    start = next(number for number, line in enumerate(lines) if after in line)
    number = next(number for number, line in enumerate(lines) if number >= start and field in line)
    return dict(answer["notes"])[number]
