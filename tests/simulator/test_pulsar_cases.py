"""Cases from Pulsar's code, tests and bug reports as short scenarios.

The expected summary was derived by hand from the broker's code.

`pulsar_cases/*.yaml` hold them, with the derivation as `why` where it is not plain. A case gives only its
differences from the default: clusters a and b 10 ms apart, topic t, one message of producer p in a at 500 ms,
a Shared subscription s from Earliest whose state is replicated, and its consumer c in a, which processes in
no time and sends an ack at once. `null` means that the subscription does not exist. Ledger ids: a topic's
first is 192 in a, 1234 in b, 7655 in c; a cursor takes the next id at its first write.
"""

import json
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from simulator.scenarios.loader import broken_expectations
from simulator.scenarios.settings import SETTINGS
from tests.simulator.engine_runs import run

CASES = [
    pytest.param(case, id=f"{path.stem}: {case['case']}")
    for path in sorted((Path(__file__).parent / "pulsar_cases").glob("*.yaml"))
    for case in YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))
]


def scenario(case: dict) -> str:
    """The case as a scenario without its head: one line for each block, JSON being YAML."""
    clusters = case.get("clusters", ["a", "b"])
    here = {"subscription": "s", "cluster": clusters[0], "acknowledgmentGroupTime": "0s"}
    subscription = {
        "topic": "t",
        "type": case.get("type", "Shared"),
        **case.get("subscription", {"initialPosition": "Earliest", "replicateSubscriptionState": True}),
    }
    blocks = {
        "clusters": {name: case.get("settings_of", {}).get(name, {}) for name in clusters},
        "links": {"default": {"latency": "10ms"}, **case.get("links", {})},
        "settings": case.get("settings", {}),
        "options": case.get("options", {}),
        "topics": {"t": {"clusters": clusters, **case.get("topic", {})}},
        "producers": {
            "p": {"topic": "t", "cluster": clusters[0], **case.get("producer", {"at": ["500ms"]})},
            **case.get("producers", {}),
        },
        "subscriptions": {"s": subscription, **case.get("subscriptions", {})},
        "consumers": {name: {**here, **more} for name, more in case.get("consumers", {"c": {}}).items()},
        "commands": case.get("commands", []),
    }
    return "".join(f"{name}: {json.dumps(block)}\n" for name, block in blocks.items())


@pytest.mark.parametrize("case", CASES)
def test_as_in_pulsar(case):
    summary = run(scenario(case), until=case["until"]).summary()
    expected = {path: value for path, value in case["expect"].items() if value is not None}
    there = [
        path
        for path in case["expect"].keys() - expected
        if path.split(".")[2] in summary["subscriptions"][path.split(".")[1]]
    ]
    assert broken_expectations(expected, summary) == [] and there == [] and summary["violations"] == []


def test_defaults_that_5_0_changed_are_those_of_5_0():
    """Pulsar's guide "Configuration default changes from Pulsar 4.x to 5.0.x", those of them modelled."""
    changed = {
        "dispatcherMaxReadBatchSize": 500,
        "keySharedLookAheadMsgInReplayThresholdPerConsumer": 4_000,
        "keySharedLookAheadMsgInReplayThresholdPerSubscription": 40_000,
        "managedLedgerMaxUnackedRangesToPersist": 200_000,
        "acknowledgmentAtBatchIndexLevelEnabled": True,
    }
    assert {name: SETTINGS[name].default for name in changed} == changed
