"""Tests of the claim about retries.

How long a refused replicator waits, and that it retries; its rules violated on purpose.
"""

import pytest

from simulator.checks.checks import Checks
from simulator.protocols.pulsar.checks.copies import StartRetries
from simulator.protocols.pulsar.client import backoff
from simulator.protocols.pulsar.replication.connecting import Connecting
from simulator.protocols.pulsar.replication.replicator import Replicator
from tests.simulator.checked import broken_claims
from tests.simulator.written_trace import WrittenTrace, scenario

CLAIM = StartRetries.claim


def written(commands=(), until="8s", exists="{a: 2, b: 3}", latency="10ms"):
    return (
        f"format: 1\nname: mutation\ntitle: Mutation\nfamily: topic-creation\nuntil: "
        f"{until}\nclusters: {{a: {{}}, b: {{}}}}\nlinks: {{default: {{latency: {latency}}}}}\n"
        "namespaces: {public/default: {replicationClusters: [a, b], overrides: {b: "
        "{replicationClusters: [b]}}}}\n"
        f"topics: {{orders: {{clusters: [a, b], exists: {exists}}}}}\nproducers: {{web: {{topic: "
        f"orders, cluster: a, every: 500ms}}}}\ncommands: [{', '.join(commands)}]\n"
    )


PARTITIONS_MATCHED = "{at: 1s, do: topic.update-partitions, cluster: a, topic: orders, partitions: 3}"
CUT = "{at: 2s, do: link.cut, link: a -> b}"
EXCLUDED = "{at: 2s, do: namespace.set-clusters, cluster: b, namespace: public/default, clusters: [a]}"
DELETED = "{at: 2s, do: topic.delete, cluster: b, topic: orders, force: true}"
FORBIDDEN = (
    "{at: 1s, do: namespace.set-auto-topic-creation, cluster: b, namespace: public/default, "
    "allowAutoTopicCreation: false}"
)
CRASHED = "{at: 300ms, do: cluster.crash, cluster: b}, {at: 5s, do: cluster.restart, cluster: b}"
REFUSED = written()
REFUSED_LATER = written([PARTITIONS_MATCHED, EXCLUDED])
CLOSED = written([PARTITIONS_MATCHED, FORBIDDEN, DELETED], until="80s")


@pytest.mark.parametrize(
    "text",
    [
        REFUSED,
        REFUSED_LATER,
        CLOSED,
        written([CRASHED]),
        written([CUT], until="200s"),
        written(until="300s"),
        written(exists="{a: 2}"),
        written(
            [
                "{at: 1s, do: topic.unload, cluster: a, topic: orders}",
                "{at: 3s, do: topic.unload, cluster: b, topic: orders}",
            ],
            until="80s",
        ),
        written(latency="900ms"),
        written(["{at: 1s, do: link.slow, link: a -> b, latency: 3s}"], until="20s"),
        written(
            ["{at: 1s, do: namespace.set-clusters, cluster: a, namespace: public/default, clusters: [a]}"]
        ),
    ],
    ids=[
        "refused",
        "refused-later",
        "closed",
        "crash",
        "cut",
        "long",
        "topic-created",
        "unloaded",
        "far",
        "slowed",
        "removed-from-list",
    ],
)
def test_correct_retries_have_no_violations(text):
    assert broken_claims(text) == set()


@pytest.mark.parametrize(
    "name, value, until",
    [
        ("FIRST_US", 200_000, "8s"),
        ("FIRST_US", 0, "150ms"),
        ("MAX_US", 1_000_000, "8s"),
        ("MAX_US", 90_000_000, "200s"),
        ("JITTER_PERCENT", 60, "8s"),
    ],
)
def test_other_wait_times_are_detected(name, value, until, monkeypatch):
    monkeypatch.setattr(backoff, name, value)
    assert broken_claims(written(until=until)) == {CLAIM}


def test_waits_that_are_not_doubled_are_detected(monkeypatch):
    retry = Connecting._retry

    def never_longer(self, why, now_us):
        self.retries = 0
        return retry(self, why, now_us)

    monkeypatch.setattr(Connecting, "_retry", never_longer)
    assert broken_claims(REFUSED) == {CLAIM}


def test_a_backoff_that_is_not_reset_by_a_start_is_detected(monkeypatch):
    checked = Connecting.checked

    def remembers(self, verdict, now_us):
        retries = self.retries
        effects = checked(self, verdict, now_us)
        if self.state == "started":
            self.retries = retries
        return effects

    monkeypatch.setattr(Connecting, "checked", remembers)
    assert broken_claims(REFUSED) == set() and broken_claims(REFUSED_LATER) == {CLAIM}


@pytest.mark.parametrize("text", [REFUSED, written([CRASHED], until="90s")], ids=["at-once", "after-a-crash"])
def test_retries_that_stop_are_detected(text, monkeypatch):
    again = Replicator.retry_now
    monkeypatch.setattr(
        Replicator,
        "retry_now",
        lambda self, connection: again(self, connection) if self.failed_starts < 3 else None,
    )
    assert broken_claims(text) == {CLAIM}


def test_retries_before_their_time_are_detected(monkeypatch):
    refused = Connecting.refused

    def early(self, reason, why, now_us):
        retry, refuse = refused(self, reason, why, now_us)
        return [retry._replace(at_us=now_us + refuse.wait_us // 4), refuse]

    monkeypatch.setattr(Connecting, "refused", early)
    assert CLAIM in broken_claims(REFUSED)


def test_violations_do_not_depend_on_how_the_trace_is_cut(monkeypatch):
    again = Replicator.retry_now
    monkeypatch.setattr(
        Replicator,
        "retry_now",
        lambda self, connection: again(self, connection) if self.failed_starts < 3 else None,
    )
    assert broken_claims(written([CRASHED], until="70s"), 1, 5)


# --- rows by hand


def refusals(*counted, between=()):
    """Violations of these refusals (count, wait in ms), each long after the one before.

    `between` is written before the last.
    """
    trace = WrittenTrace()
    trace.write("replicator.created", cluster="a", peer="b", ledger=1, entry=-1)
    for number, (count, wait_ms) in enumerate(counted):
        for event, fields in between if number == len(counted) - 1 else ():
            trace.write(event, cluster="a", **fields)
        trace.write(
            "replicator.start-refused",
            cluster="a",
            peer="b",
            count=count,
            duration_us=1000 * wait_ms,
            reason="conflict",
            detail="no",
        )
        trace.write("topic.unloaded", cluster="a", topic="other", reason="unload")
    checks = Checks(scenario())
    checks.read(trace.trace)
    return [
        violation.reason.partition(" -> b ")[2]
        for violation in checks.violations
        if violation.claim == CLAIM and "before its wait" not in violation.reason
    ]


STARTED = ("replicator.started", {"peer": "b"})
UNLOADED = ("topic.unloaded", {"reason": "unload"})


@pytest.mark.parametrize(
    "counted, between, broken",
    [
        ([(1, 100), (2, 200), (3, 400)], (), []),
        ([(1, 95), (2, 210), (5, 1600)], (), []),  # two starts failed because the link was cut
        ([(9, 25_600), (10, 51_200), (11, 60_000), (12, 63_000), (40, 57_000)], (), []),
        ([(1, 100), (2, 200), (3, 100)], [STARTED], []),
        ([(1, 100), (2, 200), (5, 200)], [STARTED], []),
        ([(1, 100), (2, 200), (3, 100)], [UNLOADED], []),
        ([(1, 94)], (), ["waits 0.094 s, which is 100 ms doubled no number of times"]),
        ([(1, 100), (2, 100)], (), ["waits 0.100 s after 2 failed starts"]),
        ([(1, 100), (5, 200)], (), ["waits 0.200 s after 5 failed starts"]),
        (
            [(1, 100), (1, 200)],
            (),
            ["waits 0.200 s after 1 failed starts", "was refused for the 1. time after 1 failed starts"],
        ),
        (
            [(1, 100), (2, 200), (3, 400)],
            [STARTED],
            ["waits 0.400 s after a new beginning, as after 3 failed starts"],
        ),
    ],
)
def test_each_wait_is_checked_by_its_retry_number(counted, between, broken):
    assert refusals(*counted, between=between) == broken
