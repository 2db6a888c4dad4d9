"""The driver from a scenario to played runs, with stand-ins for brokers and clients that speak their protocol."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from script.real_brokers.install import Installation
from script.real_brokers.live_run import AutomaticFailover, Run, covered, first_from
from script.real_brokers.output import meta_of, run_folder, write_raw
from script.real_brokers.plan import make_run
from script.real_brokers.play import play_batch
from script.real_brokers.recording import read_recording
from script.real_brokers.rig import Rig, label_of
from simulator import load_scenario

HERE = Path(__file__).parent
ROOT = HERE.parents[1]

SCENARIO = """
format: 1
name: orders
title: Faults
family: replicated-subscriptions
until: 700ms
settings: {replicatedSubscriptionsSnapshotFrequencyMillis: 100}
clusters: {west: {}, east: {}}
topics:
  orders: {clusters: [west, east]}
  refused: {clusters: [west, east]}
producers:
  shop: {topic: orders, cluster: west, start: 10ms, every: 20ms, count: 12}
subscriptions:
  billing: {topic: orders, type: Shared, replicateSubscriptionState: true, initialPosition: Earliest}
consumers:
  billing-1: {subscription: billing, cluster: west}
  billing-2: {subscription: billing, cluster: west, start: 50ms, stop: 90ms}
"""
COMMANDS = """commands:
  - {at: 100ms, do: topic.unload, cluster: east, topic: refused}
  - {at: 110ms, do: subscription.reset, subscription: billing, cluster: west, time: 0s}
  - {at: 150ms, do: subscription.fail-over, subscription: billing, from: west, to: east, mode: planned}
"""
FAULTS = """commands:
  - {at: 100ms, do: link.cut, link: west -> east}
  - {at: 150ms, do: cluster.crash, cluster: west}
  - {at: 150ms, do: subscription.fail-over, subscription: billing, from: west, to: east, mode: crash}
  - {at: 200ms, do: link.heal, link: west -> east}
  - {at: 250ms, do: cluster.restart, cluster: west}
  - {at: 400ms, do: topic.unload, cluster: east, topic: orders}
"""


class Fake(Installation):
    """Starts the stand-ins instead of Java."""

    def command(self, main_class, options=()):
        return [sys.executable, str(HERE / "fake_broker.py"), main_class]


def fake() -> Fake:
    return Fake("4.2.4", "java", "")


def play(tmp_path, text, runs=2):
    scenario = load_scenario(text)
    with Rig(scenario, tmp_path, fake()) as rig:
        rig.start(lambda words: None)
        return play_batch(rig, [make_run(scenario, number) for number in range(1, runs + 1)])


def of(played, kind, **fields):
    return [
        event
        for event in played.events
        if event["e"] == kind and all(event.get(key) == value for key, value in fields.items())
    ]


def test_a_run_publishes_at_its_instants_and_keeps_only_its_own_events(tmp_path):
    one, other = play(tmp_path, SCENARIO)
    for played in (one, other):
        published = of(played, "published")
        assert [event["sequence"] for event in published] == list(range(12))
        start_us = played.plan.scenario.producers["shop"].start_us
        first_us = (published[0]["t"] - played.zero_ns) // 1000
        assert first_us >= start_us
        assert {label_of(event) for event in played.events} <= {played.plan.label, None}
    assert one.zero_ns != other.zero_ns


def test_instant_0_is_a_later_tick_of_the_snapshot_controller(tmp_path):
    (played,) = play(tmp_path, SCENARIO, runs=1)
    started = of(played, "controller", state="started")[0]["t"]
    periods, rest = divmod(played.zero_ns - started, 100_000_000)
    assert rest == 0 and periods >= 1
    assert of(played, "connected", consumer="r001/billing-1")[0]["t"] < played.zero_ns


def test_commands_of_a_run_are_performed_in_order_and_their_instants_kept(tmp_path):
    (played,) = play(tmp_path, SCENARIO + COMMANDS, runs=1)
    unload, reset, fail_over = of(played, "command")
    assert unload["ok"] is False and "refuses to be unloaded" in unload["error"]
    assert reset["ok"] is True
    at_us = [spec.at_us for spec in played.plan.scenario.commands]
    assert at_us == [(event["t"] - played.zero_ns) // 1000 for event in (unload, reset, fail_over)]
    assert at_us[2] >= 150_000 + played.plan.offset_us
    (moved,) = of(played, "failover.finished")
    assert (moved["from"], moved["to"], moved["mode"]) == ("west", "east", "planned")
    places = [event["cluster"] for event in of(played, "request", name="r001/billing-1")]
    assert places == ["west", "east"]


def test_a_consumer_starts_and_stops_at_its_instants(tmp_path):
    (played,) = play(tmp_path, SCENARIO, runs=1)
    (connected,) = of(played, "connected", consumer="r001/billing-2")
    (gone, *_rest) = of(played, "disconnected", consumer="r001/billing-2")
    assert connected["t"] >= played.zero_ns + 50_000_000
    assert gone["t"] >= played.zero_ns + 90_000_000


def test_faults_of_clusters_and_links_happen_once_for_all_runs(tmp_path):
    one, other = play(tmp_path, SCENARIO + FAULTS)
    for do in ("link.cut", "cluster.crash", "link.heal", "cluster.restart"):
        (here,), (there,) = of(one, "command", do=do), of(other, "command", do=do)
        assert here["t"] == there["t"]
    for played in (one, other):
        commands = played.plan.scenario.commands
        crash_us, restart_us = commands[1].at_us, commands[4].at_us
        assert 0 <= commands[0].at_us - 100_000 <= 100_000 + 50_000
        assert commands[2].at_us >= crash_us
        # what follows a restart keeps its distance to the instant at which the broker was ready
        assert commands[5].at_us - restart_us >= 150_000
        assert played.plan.scenario.until_us >= 700_000
    assert one.plan.offset_us != other.plan.offset_us


def test_clients_die_with_their_region_and_producers_continue_after_the_restart(tmp_path):
    (played,) = play(tmp_path, SCENARIO + FAULTS, runs=1)
    sequences = [event["sequence"] for event in of(played, "published")]
    assert sequences and sequences == list(range(len(sequences)))  # none twice, none left out
    states = [event["state"] for event in of(played, "client", name="r001/shop")]
    assert states[0] == "down"
    places = [event["cluster"] for event in of(played, "request", name="r001/billing-1")]
    assert places == ["west", "east"]
    (crash,) = of(played, "command", do="cluster.crash")
    (restart,) = of(played, "command", do="cluster.restart")
    between = [
        event for event in of(played, "published") if crash["t"] + 50_000_000 < event["t"] < restart["t"]
    ]
    assert between == []


MODES = """commands:
  - {at: 150ms, do: subscription.fail-over, subscription: billing, from: west, to: east, mode: MODE}
"""


AUTO = "auto, probeInterval: 50ms, failoverDelay: 50ms, switchBack: false"


def test_an_automatic_failover_moves_the_consumers_when_only_the_other_cluster_answers(tmp_path, monkeypatch):
    monkeypatch.setattr(AutomaticFailover, "_answers", lambda _self, cluster: cluster == "east")
    (played,) = play(tmp_path, SCENARIO + MODES.replace("MODE", AUTO), runs=1)
    (moved,) = of(played, "failover.finished")
    assert (moved["from"], moved["to"], moved["mode"]) == ("west", "east", "auto")
    states = [event["state"] for event in of(played, "client", name="r001/billing-1")]
    assert states[0] == "killed"


def test_an_automatic_failover_moves_nothing_when_neither_cluster_answers(tmp_path):
    # no stand-in listens on a broker's port
    (played,) = play(tmp_path, SCENARIO + MODES.replace("MODE", AUTO), runs=1)
    assert of(played, "failover.finished") == []


def test_a_drained_failover_waits_for_the_limit_and_moves_the_producers(tmp_path):
    mode = "drained, limit: 50ms, producers: true, stop-producers: true"
    (played,) = play(tmp_path, SCENARIO + MODES.replace("MODE", mode), runs=1)
    (moved,) = of(played, "failover.finished")
    assert moved["mode"] == "drained"
    assert [event["cluster"] for event in of(played, "request", name="r001/shop")] == ["west", "east"]
    sequences = [event["sequence"] for event in of(played, "published")]
    assert sequences and sequences == list(range(len(sequences)))  # none twice, none left out


def test_logs_end_with_the_run(tmp_path):
    (played,) = play(tmp_path, SCENARIO, runs=1)
    assert {(dump["cluster"], dump["topic"].rpartition("/")[2]) for dump in played.dumps} == {
        (cluster, topic) for cluster in ("west", "east") for topic in ("orders-r001", "refused-r001")
    }
    assert all([entry["producer"] for entry in dump["entries"]] == ["first"] for dump in played.dumps)


def test_the_raw_recording_can_be_read_again(tmp_path):
    (played,) = play(tmp_path / "rig", SCENARIO + COMMANDS, runs=1)
    path = tmp_path / "raw.jsonl.gz"
    write_raw(path, meta_of(played, "4.2.4"), played)
    recording = read_recording(path)
    assert recording.zero_ns == played.zero_ns
    assert ("west", "orders") in recording.dumps
    assert [event["producer"] for event in recording.of("published")] == ["shop"] * 12
    assert run_folder(tmp_path, "r017") == tmp_path / "run-017"


def test_an_error_ends_all_processes(tmp_path, monkeypatch):
    def fail(_run):
        raise RuntimeError("nothing works")

    monkeypatch.setattr(Run, "connect", fail)
    scenario = load_scenario(SCENARIO)
    with pytest.raises(RuntimeError, match="nothing works"), Rig(scenario, tmp_path, fake()) as rig:
        rig.start(lambda words: None)
        processes = [rig.proxies, rig.clients.process, *(one.process for one in rig.clusters.values())]
        assert all(process.is_alive for process in processes)
        play_batch(rig, [make_run(scenario, 1)])
    assert not any(process.is_alive for process in processes)


DRIVER = """
import sys
sys.path[:0] = [{root!r}, {here!r}]
from pathlib import Path
from test_play import SCENARIO, fake
from script.real_brokers.rig import Rig
from simulator import load_scenario
rig = Rig(load_scenario(SCENARIO), Path({folder!r}), fake())
rig.start(lambda words: None)
for process in (rig.proxies, rig.clients.process, *(one.process for one in rig.clusters.values())):
    print(process.pid, flush=True)
print("started", flush=True)
sys.stdin.read()
"""


def test_a_killed_driver_leaves_no_process_behind(tmp_path):
    program = DRIVER.format(root=str(ROOT), here=str(HERE), folder=str(tmp_path))
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as driver:
        pids = [int(line) for line in iter(driver.stdout.readline, "started\n")]
        assert len(pids) == 4
        driver.send_signal(signal.SIGKILL)
        driver.wait()
    waited = threading.Event()
    for pid in pids:
        for _attempt in range(600):
            if not is_running(pid):
                break
            waited.wait(0.05)
        assert not is_running(pid)


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


def entry(number, producer="shop", **more):
    return {
        "ledger": 1,
        "entry": number,
        "producer": producer,
        "sequence": number,
        "stored_ns": number,
        **more,
    }


def test_a_cursor_covers_what_is_before_it_and_what_is_individually_deleted():
    batch = entry(4, messages=[{"sequence": 40}, {"sequence": 41}])
    log = [entry(0), entry(1, marker={"type": "x"}), entry(2), entry(3), batch, entry(5)]
    cursor = {"ledger": 1, "entry": 1, "ranges": [[1, 3, 1, 4]]}
    assert list(covered(log, cursor)) == [("shop", 0), ("shop", 3), ("shop", 40), ("shop", 41)]


def test_a_reset_to_an_instant_finds_the_first_message_that_was_published_then():
    class Recorded:
        events = [
            {"e": "published", "producer": "shop", "sequence": number, "t": 100 * number}
            for number in range(5)
        ]

    log = [entry(number) for number in range(5)]
    assert first_from(Recorded, log, 150) == {"ledger": 1, "entry": 2}
    assert first_from(Recorded, log, 401) == {"at": "latest"}
