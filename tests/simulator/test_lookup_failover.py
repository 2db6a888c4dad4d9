"""Clients that move by themselves by lookups: `probe: lookup` of a failover with mode auto.

Source: `SameAuthParamsLookupAutoClusterFailover` of pulsar-client 4.2.4, 4.0.7 and 4.0.5 (apache/pulsar#23129, #23336,
#25388, #25826). `Provider` is the class in plain Python, with its own names. The recordings are of the real class.
"""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator import ScenarioError, World, load_scenario_text
from simulator.protocols.pulsar.failover.failover import (
    FAILED,
    HEALTHY,
    PRE_FAIL,
    PRE_RECOVER,
    SERVICE_MOVES,
    LookupProbing,
    Probe,
)
from tests.simulator.engine_runs import at_ms, numbers, rows

RELEASES = ("4.2.4", "4.0.7", "4.0.5")
SECOND = 1_000_000


# --- the class in plain Python


class Provider:
    """SameAuthParamsLookupAutoClusterFailover, line by line. `available` answers a probe of an index."""

    def __init__(self, count, failover_threshold, recover_threshold, release):
        self.failover_threshold, self.recover_threshold = failover_threshold, recover_threshold
        self.release = release
        self.states = ["Healthy"] * count
        self.counters = [0] * count
        self.index = 0

    def run(self, available):
        """The task of one period. Raises IndexError where 4.0.5 does."""
        self.check_pulsar_services(available)
        first = next((i for i in range(self.index + 1) if self.states[i] in ("Healthy", "PreFail")), -1)
        if first == self.index:
            return
        if first < 0:
            to = self.find_failover_to(available)
            if to >= 0:
                self.update_service_url(to)
        else:
            self.update_service_url(first)

    def check_pulsar_services(self, available):
        for i in range(self.index + 1):
            state = self.states[i]
            if available(i):
                if state == "PreFail":
                    self.states[i], self.counters[i] = "Healthy", 0
                elif state == "Failed":
                    self.states[i], self.counters[i] = "PreRecover", 1
                elif state == "PreRecover":
                    self.counters[i] += 1
                    if self.counters[i] >= self.recover_threshold:
                        self.states[i], self.counters[i] = "Healthy", 0
            elif state == "Healthy":
                self.states[i], self.counters[i] = "PreFail", 1
            elif state == "PreFail":
                self.counters[i] += 1
                if self.counters[i] >= self.failover_threshold:
                    self.states[i], self.counters[i] = "Failed", 0
            elif state == "PreRecover":
                self.states[i], self.counters[i] = "Failed", 0

    def find_failover_to(self, available):
        for i in range(self.index + 1, len(self.states) + (self.release == "4.0.5")):
            if i == len(self.states):
                raise IndexError(i)
            if available(i):
                return i
            if self.release == "4.2.4":
                self.states[i], self.counters[i] = "Failed", 0
        return -1

    def update_service_url(self, target):
        if self.release == "4.2.4" and target < self.index:
            for i in range(target + 1, len(self.states)):
                self.states[i], self.counters[i] = "Healthy", 0
        self.index = target


def probing(count=2, failover=5, recover=5, release="4.2.4"):
    return LookupProbing(
        tuple("abcd"[:count]),
        failover,
        recover,
        stale=release != "4.2.4",
        ends_without=release == "4.0.5",
    )


def checked(one, available):
    """A check of the engine's; returns the indexes that it probed."""
    probed, step = [], one.check(0)
    while isinstance(step, Probe):
        probed.append("abcd".index(step.service))
        step = one.answered(available(probed[-1]), 0)
    assert step is None or step.service == one.in_use
    return probed


@given(
    st.integers(2, 4),
    st.integers(1, 4),
    st.integers(1, 4),
    st.sampled_from(RELEASES),
    st.lists(st.tuples(*[st.booleans()] * 4), min_size=1, max_size=60),
)
def test_the_engine_decides_as_the_class_does(count, failover, recover, release, answers):
    engine, plain = probing(count, failover, recover, release), Provider(count, failover, recover, release)
    for up in answers:
        asked = []
        probed = checked(engine, up.__getitem__)
        try:
            plain.run(lambda i, up=up, asked=asked: asked.append(i) or up[i])
        except IndexError:
            assert engine.ended and probed == asked
            return
        assert not engine.ended and probed == asked
        assert (engine.states, engine.counts, engine.current) == (
            tuple(plain.states),
            tuple(plain.counters),
            plain.index,
        )


@given(st.lists(st.tuples(*[st.booleans()] * 3), max_size=60), st.integers(1, 3), st.sampled_from(RELEASES))
def test_services_make_only_the_moves_of_the_table(answers, threshold, release):
    one = probing(3, threshold, threshold, release)
    for up in answers:
        before, found = one.states, one.current
        checked(one, up.__getitem__)
        for index, (old, new) in enumerate(zip(before, one.states, strict=True)):
            skipped = index > found and new == FAILED
            assert (
                new == old or new in SERVICE_MOVES[old] or skipped or (index > one.current and new == HEALTHY)
            )


@pytest.mark.parametrize(("threshold", "checks"), [(1, 2), (2, 2), (3, 3), (5, 5)])
def test_two_checks_at_least_make_a_service_failed_and_healthy_again(threshold, checks):
    one = probing(2, threshold, threshold)
    states = []
    for _ in range(checks):
        checked(one, [False, True].__getitem__)
        states.append(one.states[0])
    assert states == [PRE_FAIL] * (checks - 1) + [FAILED] and one.in_use == "b"
    for _ in range(checks):
        assert one.in_use == "b"
        checked(one, [True, True].__getitem__)
    assert one.states == (HEALTHY, HEALTHY) and one.in_use == "a"


def test_a_skipped_service_is_not_taken_for_healthy_since_25388():
    """Before, index 1 keeps its first state: the clients move from 2 to it, although it does not answer."""
    course = {}
    for release in ("4.2.4", "4.0.7"):
        one = probing(3, 2, 2, release)
        course[release] = [checked(one, [False, False, True].__getitem__) and one.current for _ in range(6)]
    assert course == {"4.2.4": [0, 2, 2, 2, 2, 2], "4.0.7": [0, 2, 1, 2, 2, 2]}


def test_a_service_that_is_left_for_an_earlier_one_begins_anew_since_25826():
    left = {}
    for release in ("4.2.4", "4.0.7"):
        one = probing(2, 2, 2, release)
        for up in ([False, True], [False, True], [True, True], [True, False]):
            checked(one, up.__getitem__)
        left[release] = (one.in_use, one.states[1])
    assert left == {"4.2.4": ("a", HEALTHY), "4.0.7": ("a", PRE_FAIL)}


def test_a_failed_probe_interrupts_a_recovery():
    one = probing(2, 2, 3)
    for up in (False, False, True, True, False):
        checked(one, [up, True].__getitem__)
    assert one.states[0] == FAILED and one.in_use == "b"
    checked(one, [True, True].__getitem__)
    assert (one.states[0], one.counts[0]) == (PRE_RECOVER, 1)


# --- the real class

RECORDED = sorted((Path(__file__).parent / "lookup_failover").glob("*.txt"))


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_states_and_moves_are_those_of_the_recorded_class(path):
    """Each line of a recording is a state that the class had, in order; services change between checks."""
    lines = path.read_text().splitlines()
    count, interval_ms, failover, recover = map(int, lines[0].split()[1:5])
    marks = lines[0].split()[5] == "true"
    one, up = probing(count, failover, recover), [True] * count
    answered = {"OK", *({"NOT_READY", "NOT_READY_ERROR", "TOPIC_NOT_FOUND"} if marks else ())}
    for line, following in zip(lines[1:], [*lines[2:], ""], strict=True):
        at, words = line.split(" ", 1)
        if words.startswith("set "):
            _set, index, mode = words.split()
            up[int(index)] = mode in answered
            continue
        if following and "set" not in following:
            if 1000 * (float(following.split()[0]) - float(at)) < interval_ms / 2:
                continue  # this check goes on: the next line is its end
        states, counts, current = words.split("|")
        wanted = (tuple(states.split()), tuple(map(int, counts.split())), int(current))
        if wanted != (one.states, one.counts, one.current):  # the first line is the beginning
            checked(one, up.__getitem__)
        assert (one.states, one.counts, one.current) == wanted, line
    before = replace(one)
    checked(one, up.__getitem__)
    assert one.states == before.states and one.current == before.current, "the class did nothing more"


def test_the_recordings_show_what_a_proxy_without_a_broker_answers():
    """ServiceNotReady is a LookupException to the client, so by default such a cluster counts as available."""
    moved = {path.stem: "|1" in path.read_text() for path in RECORDED}
    assert not moved["proxy-without-broker"] and not moved["general-error-not-ready"]
    assert moved["proxy-without-broker-counted-as-failed"] and not moved["namespace-not-found"]
    assert moved["namespace-not-found-counted-as-failed"] and moved["metadata-error"]


# --- in a run


BODY = """format: 1
name: case
title: clients move by lookups
family: replicated-subscriptions
until: {until}
clusters: {{a: {{firstLedger: {first}}}, b: {{firstLedger: 10}}, c: {{firstLedger: 20}}}}
links: {{default: {{latency: 40ms}}}}
topics: {{t: {{clusters: [a, b, c]}}}}
producers: {{p: {{topic: t, cluster: b, start: 50ms, every: 100ms, stop: 40s}}}}
subscriptions: {{s: {{topic: t, initialPosition: Earliest}}}}
consumers: {{k: {{subscription: s, cluster: a{consumer}}}}}
options: {{lookupFailoverRelease: "{release}"}}
commands:
  - {{at: 0s, do: subscription.fail-over, subscription: s, from: a, to: b, mode: auto, probe: lookup{more}}}
{commands}"""


def played(*commands, more="", until="70s", release="4.2.4", consumer="", first=1000):
    lines = "".join(f"  - {{{one}}}\n" for one in commands)
    text = BODY.format(
        until=until, more=more, release=release, consumer=consumer, first=first, commands=lines
    )
    world = World.from_scenario(load_scenario_text(text))
    world.run()
    assert world.summary()["violations"] == []
    return world


def moves(*commands, **more):
    """When and whither the clients moved, in milliseconds."""
    started = rows(played(*commands, **more), "failover.started")
    return [(row["at_us"] // 1000, row["cluster"] + row["peer"]) for row in started]


def crash(cluster="a", at="5500ms", fault="process", proxy=False):
    behind = ", proxy: true" if proxy else ""
    return f"at: {at}, do: cluster.crash, cluster: {cluster}, clients: false, fault: {fault}{behind}"


MARKED = ", markTopicNotFoundAsAvailable: false"


def test_the_fifth_check_that_is_refused_moves_and_the_fifth_that_is_answered_moves_back():
    # checks at 6, 7, 8, 9, 10 s, and with a back at 20.2 s at 21 to 25 s
    back = "at: 20200ms, do: cluster.restart, cluster: a"
    assert moves(crash(), back) == [(10_000, "ab"), (25_000, "ba")]


def test_thresholds_and_interval_are_the_command_s():
    found = moves(
        crash(),
        "at: 20200ms, do: cluster.restart, cluster: a",
        more=", failoverThreshold: 3, recoverThreshold: 2, checkHealthyIntervalMs: 2000",
    )
    assert found == [(10_000, "ab"), (24_000, "ba")], "checks at 6, 8, 10 s, and at 22, 24 s"


def test_a_dead_machine_fails_each_probe_after_three_seconds_and_a_delay_follows():
    # Connected at 1 s. Lookups of 6, 10, 14, 18 and 22 s have no answer: the connection is open until 61 s.
    assert moves(crash(fault="host")) == [(25_000, "ab")]


def test_at_a_fixed_rate_the_overdue_checks_follow_at_once():
    # 4.0.7: probes of 6, 9, 12, 15 and 18 s
    assert moves(crash(fault="host"), release="4.0.7") == [(21_000, "ab")]


def test_overdue_checks_recover_in_a_burst_at_a_fixed_rate():
    # From 6 s to 33 s nine checks take 3 s each, so that 18 are overdue when a answers.
    back = "at: 33100ms, do: cluster.restart, cluster: a"
    found = moves(crash(fault="host"), back, release="4.0.7")
    assert found[0] == (21_000, "ab") and found[1][0] < 37_000
    slow = moves(crash(fault="host"), back)
    assert slow[0] == (25_000, "ab") and slow[1][0] >= found[1][0] + 3000


def test_no_connection_to_a_dead_machine_fails_a_probe_after_ten_seconds():
    # The move of 25 s closes all connections. The lookup of 26 s connects until 36 s: probes of 26, 30 and 34 s
    # wait for it. a is back at 35.5 s: the connect fails at 36 s, as its last SYN was that of 33 s.
    world = played(crash(fault="host"), "at: 35500ms, do: cluster.restart, cluster: a")
    assert at_ms(rows(world, "failover.started")) == [25_000, 41_000], "checks of 37 to 41 s succeed"


def test_a_machine_that_is_back_resets_the_old_connection():
    # back at 8 s: the lookup of 6 s is repeated at 6.2, 6.6, 7.4 and 9 s, and the reset fails a probe that failed
    back = "at: 8s, do: cluster.restart, cluster: a"
    assert moves(crash(fault="host"), back, more=", failoverThreshold: 1") == []
    # between two checks: the first lookup is reset, the second connects
    assert moves(crash(fault="host"), "at: 5900ms, do: cluster.restart, cluster: a", until="20s") == []


def test_a_proxy_whose_brokers_died_counts_as_available_unless_told_otherwise():
    behind = crash(proxy=True)
    assert moves(behind) == []
    assert moves(behind, more=MARKED) == [(10_000, "ab")]


def test_a_proxy_of_dead_machines_hides_them_again_when_no_broker_is_registered():
    # The proxy's connection is as stale as a client's: moved at 25 s. Registered until 35.5 s: the probes of 26,
    # 30 and 34 s wait for a connect that fails at 36 s, which the proxy reports. Five such answers move back.
    behind = crash(fault="host", proxy=True)
    assert moves(behind) == [(25_000, "ab"), (40_000, "ba")]
    assert moves(behind, more=MARKED) == [(25_000, "ab")]


def test_a_proxy_without_brokers_attracts_a_move_by_default():
    behind = crash("b", at="3s", proxy=True)
    assert moves(behind, crash()) == [(10_000, "ab")]
    assert moves(behind, crash(), more=MARKED) == []


def test_a_cut_link_between_clusters_moves_nobody():
    assert moves("at: 5s, do: link.cut, link: a <-> b") == []


LISTED = ", pulsarServiceUrlArray: [a, b, c]"


def test_later_clusters_are_probed_only_when_all_before_them_have_failed():
    assert moves(crash("b", at="3s"), crash(), more=LISTED) == [(10_000, "ac")]
    assert moves(crash("c", at="3s"), crash(), more=LISTED) == [(10_000, "ab")]


def test_the_way_back_goes_to_the_first_cluster_that_is_healthy():
    found = moves(
        crash("b", at="3s"),
        crash(),
        "at: 19500ms, do: cluster.restart, cluster: b",
        "at: 21500ms, do: cluster.restart, cluster: a",
        more=LISTED,
    )
    assert found == [(10_000, "ac"), (24_000, "cb"), (26_000, "ba")]


def test_a_skipped_cluster_is_tried_once_by_older_clients():
    found = moves(crash("b", at="3s"), crash(), more=LISTED, release="4.0.7")
    assert found == [(10_000, "ac"), (11_000, "cb"), (15_000, "bc")]


def test_an_outage_of_all_clusters_ends_the_checks_of_4_0_5():
    outage = (crash("b", at="3s"), crash("c", at="3s"), crash())
    back = "at: 20200ms, do: cluster.restart, cluster: b"
    assert moves(*outage, back) == [(21_000, "ab")]
    assert moves(*outage, back, release="4.0.7") == [(21_000, "ab")]
    assert moves(*outage, back, release="4.0.5") == []


def test_the_consumer_that_moves_keeps_its_cumulative_ack_and_drops_messages():
    """`updateServiceUrl` closes all connections, and the same consumer connects to b (#25291)."""
    world = played(crash(), consumer=", acknowledge: cumulative")
    (move,) = world.summary()["failovers"]
    assert move["mode"] == "auto" and move["lost_by_cause"]["dropped_by_client"] == move["lost"] > 300
    assert numbers(rows(world, "message.dropped"))[0] == 0
    higher = played(crash(), consumer=", acknowledge: cumulative", first=1)
    assert higher.summary()["failovers"][0]["lost"] == 0


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        (", pulsarServiceUrlArray: [b, a]", "does not begin with a"),
        (", pulsarServiceUrlArray: [a, c]", "lacks b"),
        (", pulsarServiceUrlArray: [a, b, b]", "is given twice"),
        (", pulsarServiceUrlArray: [a, d]", '"d"'),
        (", failoverThreshold: 0", "failoverThreshold"),
        (", checkHealthyIntervalMs: 0", "checkHealthyIntervalMs"),
    ],
)
def test_what_the_builder_refuses_is_explained(more, problem):
    with pytest.raises(ScenarioError, match=problem):
        played(more=more)


def test_a_forked_run_goes_on_as_the_first():
    """A probe in progress is part of the state that a seek restores."""
    world = played(crash(fault="host"))
    digest = world.digest()
    world.seek(7 * SECOND)
    world.run()
    assert world.digest() == digest
