"""Tests of the checks on audiences.

Each rule of the fan-out violated on purpose is detected, by its own claim only.
"""

import numpy as np

from simulator.checks.checks import CLAIMS
from simulator.protocols.pulsar.broadcast import fan_out as fan_out_rows
from simulator.protocols.pulsar.broadcast.audience import Audience
from simulator.protocols.pulsar.broadcast.broker import Broker
from simulator.protocols.pulsar.broadcast.fan_out import Run
from tests.simulator.audience_runs import finished_world
from tests.simulator.checked import claims_broken_in

(SERVED,) = [claim for claim in CLAIMS if claim.startswith("Every member of an audience")]
(LIMITS,) = [claim for claim in CLAIMS if claim.startswith("A broker serves one dispatch")]

BROADCAST = """
clusters: {a: {}}
topics: {t: {clusters: [a]}, u: {clusters: [a]}}
brokers: {x: {cluster: a, dispatchTime: 1ms, bandwidth: 10MB/s, connectTime: 1ms}}
producers: {p: {topic: t, cluster: a, start: 100ms, every: 25ms, count: 40}, q: {topic: u, cluster: a, start: 110ms, every: 90ms, count: 8, batch: 2}}
audiences:
  readers: {topic: t, cluster: a, subscriptions: 30}
  viewers: {topic: u, cluster: a, subscriptions: 6, initialPosition: Earliest, start: 300ms}
subscriptions: {s: {topic: t}}
consumers: {c: {subscription: s, cluster: a}}
commands: [{at: 700ms, do: topic.unload, cluster: a, topic: t}]
"""


def broken_claims():
    return claims_broken_in(finished_world(BROADCAST))


def test_a_correct_run_has_no_violations():
    assert broken_claims() == set()


def test_an_entry_dispatched_to_no_member_is_detected(monkeypatch):
    fan_out = Broker.fan_out
    monkeypatch.setattr(
        Broker,
        "fan_out",
        lambda self, run, requested_us=None: (
            None if run.entries == (7,) else fan_out(self, run, requested_us)
        ),
    )
    assert broken_claims() == {SERVED}


def test_a_skipped_member_is_detected(monkeypatch):
    """The last connected member does not get every third entry."""
    begin = Run.__init__

    def short(self, audience, entries, first, members, *rest):
        begin(self, audience, entries, first, max(1, members - 1) if entries[0] % 3 == 0 else members, *rest)

    monkeypatch.setattr(Run, "__init__", short)
    assert broken_claims() == {SERVED}


def test_catching_up_from_one_entry_too_early_is_detected(monkeypatch):
    connect = Audience.connect

    def too_early(self, count, instants):
        self.marks[: self.opened] = np.maximum(self.marks[: self.opened] - 1, -1)
        connect(self, count, instants)

    monkeypatch.setattr(Audience, "connect", too_early)
    assert broken_claims() == {SERVED}


def test_an_unload_that_forgets_cursors_is_detected(monkeypatch):
    unloaded = Audience.topic_unloaded

    def forgets_cursors_at_unload(self, reason, cause):
        unloaded(self, reason, cause)
        self.opened = 0  # as if every member were new, at Latest

    monkeypatch.setattr(Audience, "topic_unloaded", forgets_cursors_at_unload)
    assert broken_claims() == {SERVED}


def test_dispatches_out_of_order_are_detected(monkeypatch):
    """Newest first: entries are delivered out of order."""
    fan_out = Broker.fan_out

    def newest_first(self, run, requested_us=None):
        fan_out(self, run, requested_us)
        other = self.runs[-2] if len(self.runs) > 1 else run
        if other.done == 0 and other.audience is run.audience and len(other.entries) == len(run.entries) == 1:
            other.entries, run.entries = run.entries, other.entries

    monkeypatch.setattr(Broker, "fan_out", newest_first)
    assert broken_claims() == {SERVED}


def test_a_dispatch_that_begins_before_the_broker_is_free_is_detected(monkeypatch):
    fan_out = Broker.fan_out

    def too_early(self, run, requested_us=None):
        self.free_us -= 300
        fan_out(self, run, requested_us)

    monkeypatch.setattr(Broker, "fan_out", too_early)
    assert broken_claims() == {LIMITS}


def test_dispatches_faster_than_the_bandwidth_are_detected(monkeypatch):
    of_entry = fan_out_rows._of_entry

    def bigger(run, place, count):
        items = of_entry(run, place, count)
        items[:, fan_out_rows.SIZE] *= 11
        return items

    monkeypatch.setattr(fan_out_rows, "_of_entry", bigger)
    assert broken_claims() == {LIMITS}
