"""A cluster of the rig: what it asks of its process at a start, a restart and a watch."""

from __future__ import annotations

import json
import sys

import pytest

from script.real_brokers.rig import Clients, Cluster, Ports, ProcessError

CHILD = """
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    with open(sys.argv[1], "a") as asked:
        asked.write(line)
    print(json.dumps({"e": "asked", "t": 1, "do": request["do"]}))
    print(json.dumps({"id": request["id"], "ok": True, "ready_ms": 12}), flush=True)
"""


class Pretended:
    """An installation whose programs write down what they are asked."""

    def __init__(self, folder):
        self.asked_path = folder / "asked"
        self.programs = []

    def command(self, main_class, options=()):
        self.programs.append(main_class)
        return [sys.executable, "-c", CHILD, str(self.asked_path)]

    def asked(self):
        return [json.loads(line) for line in self.asked_path.read_text().splitlines()]


@pytest.fixture
def installation(tmp_path):
    return Pretended(tmp_path)


@pytest.fixture
def west(tmp_path, installation):
    cluster = Cluster(
        "west",
        tmp_path / "west",
        Ports(1, 2, 3, {"east": 4}),
        installation,
        {"dispatcherMaxReadBatchSize": 7},
    )
    yield cluster
    cluster.close()


def test_a_start_names_folder_ports_listeners_and_settings(tmp_path, west, installation):
    assert west.start() == 12
    assert installation.programs == ["lab.BrokerProcess"]
    (start,) = installation.asked()
    assert start == {
        "id": 1,
        "do": "start",
        "cluster": "west",
        "dir": str(tmp_path / "west" / "data"),
        "ports": {"broker": 1, "web": 2, "bookie": 3},
        "listeners": [{"name": "from-east", "port": 4}],
        "settings": {"dispatcherMaxReadBatchSize": 7},
    }


def test_a_peer_is_registered_behind_its_proxy_and_its_web_service_directly(tmp_path, west, installation):
    east = Cluster("east", tmp_path / "east", Ports(5, 6, 7, {"west": 8}), installation)
    west.start()
    west.connect(east)
    created = installation.asked()[-1]
    assert (created["do"], created["name"], created["listener"]) == ("cluster.create", "east", "from-west")
    assert created["service_url"] == "pulsar://127.0.0.1:8"
    assert created["web_url"] == "http://127.0.0.1:6"


def test_a_peer_without_a_proxy_is_registered_at_its_broker(tmp_path, west, installation):
    east = Cluster("east", tmp_path / "east", Ports(5, 6, 7), installation)
    west.start()
    west.connect(east)
    created = installation.asked()[-1]
    assert (created["service_url"], created["listener"]) == ("pulsar://127.0.0.1:5", None)


def test_events_name_their_cluster(west):
    west.start()
    assert west.process.events.get(timeout=10) == {"e": "asked", "t": 1, "do": "start", "cluster": "west"}


def test_a_restart_continues_on_the_same_data_and_watches_the_same_topics(west, installation):
    west.start()
    west.watch(["orders", "orders-2"])
    west.watch(["orders", "orders-3"])
    west.unwatch(["orders-2"])
    west.kill()
    with pytest.raises(ProcessError):
        west.request("stats", topic="orders")
    west.restart()
    first, *_, again, watch = installation.asked()
    assert {**again, "id": 1} == first
    assert (watch["do"], watch["topics"]) == ("watch", ["orders", "orders-3"])


def test_a_topic_is_watched_once(west, installation):
    west.start()
    west.watch(["orders"])
    west.watch(["orders", "orders-3"])
    assert installation.asked()[-1]["topics"] == ["orders-3"]


def test_the_clients_have_a_process_of_their_own(tmp_path, installation):
    events = []
    clients = Clients(tmp_path, installation, events.append)
    clients.start()
    clients.request("client", cluster="west", url="pulsar://127.0.0.1:1")
    clients.close()
    assert installation.programs == ["lab.ClientProcess"]
    assert [event["do"] for event in events] == ["client"]
