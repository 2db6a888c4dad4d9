"""Every command of durable shared subscriptions.

Accepted with its effect, refused with a code, what is wrong and what would be right.
"""

import json

import pytest

from simulator import COMMANDS, ScenarioError, load_scenario
from simulator.protocols.emqx.commands.declared import PROTOCOL_MESSAGES
from simulator.protocols.emqx.protocol import MESSAGES
from simulator.scenarios.remarks import remarks
from tests.emqx.group_runs import SECOND, open_world, rows

BODY = """
settings: {n_shards: 4}
nodes: {n1: {}, n2: {}}
links: {default: {latency: 1ms}}
groups: {g: {filter: "t/#"}, later: {filter: "later/#", declared: false}}
sessions:
  a: {node: n1, subscriptions: ["$share/g/t/#", own/x]}
  b: {node: n2, start: 100ms, subscriptions: ["$share/g/t/#"]}
  idle: {node: n2, start: 1h}
  memory: {node: n1, durable: false}
publishers: {p: {topic: t, every: 50ms}, q: {topic: t, paused: true}}
"""
AT_US = 6 * SECOND
SHARE = "$share/g/t/#"


def world_after(*before):
    world = open_world(BODY, until="1m")
    world.run(AT_US)
    for command in before:
        assert world.apply(command).ok, command
    return world


def later(us, event, **equal):
    def check(world):
        world.run(AT_US + us)
        return any(row["at_us"] >= AT_US for row in rows(world, event, **equal))

    return check


KILL = {"do": "session.kill", "session": "a"}
# command -> (before, arguments, effect), (before, arguments, code of the refusal)
CASES = {
    "session.connect": (
        ([KILL], {"session": "a"}, later(0, "session.connected", client="a", reason="resumed")),
        ([{"do": "node.crash", "node": "n2"}], {"session": "a", "node": "n2"}, "node-down"),
    ),
    "session.disconnect": (
        ([], {"session": "a"}, later(0, "session.disconnected", client="a", reason="closed")),
        ([], {"session": "idle"}, "not-connected"),
    ),
    "session.kill": (
        ([], {"session": "a"}, later(0, "session.disconnected", client="a", reason="killed")),
        ([], {"session": "idle"}, "not-connected"),
    ),
    "session.subscribe": (
        ([], {"session": "b", "topic": "own/#"}, later(0, "session.subscribed", client="b")),
        ([], {"session": "memory", "topic": SHARE}, "not-durable"),
    ),
    "session.unsubscribe": (
        ([], {"session": "b", "topic": SHARE}, later(SECOND, "borrower.changed", client="b", reason="gone")),
        ([], {"session": "b", "topic": "t"}, "not-subscribed"),
    ),
    "session.pause-acks": (
        ([], {"session": "a"}, lambda world: world.view()["sessions"]["a"]["acks_paused"]),
        ([{"do": "session.pause-acks", "session": "a"}], {"session": "a"}, "already-paused"),
    ),
    "session.resume-acks": (
        (
            [{"do": "session.pause-acks", "session": "a"}],
            {"session": "a"},
            lambda world: not world.view()["sessions"]["a"]["acks_paused"],
        ),
        ([], {"session": "a"}, "not-paused"),
    ),
    "leader.crash": (
        ([], {"group": "g"}, later(0, "leader.ended", reason="crashed")),
        ([], {"group": "later"}, "unknown-name"),
    ),
    "leader.stop": (
        ([], {"group": "g"}, later(9 * SECOND, "leader.elected", reason="first")),
        ([{"do": "leader.crash", "group": "g"}], {"group": "g"}, "no-leader"),
    ),
    "group.declare": (
        (
            [],
            {"group": "later", "startTime": "1s"},
            later(0, "group.declared", subscription="later", duration_us=SECOND),
        ),
        ([], {"group": "g"}, "already-declared"),
    ),
    "group.destroy": (
        ([], {"group": "g"}, later(12 * SECOND, "election.failed", detail="the group is not declared")),
        ([], {"group": "none"}, "unknown-name"),
    ),
    "node.crash": (
        ([], {"node": "n2"}, later(0, "session.disconnected", client="b", reason="node-crash")),
        ([{"do": "node.crash", "node": "n1"}], {"node": "n1"}, "not-up"),
    ),
    "node.stop": (
        ([], {"node": "n2"}, later(0, "session.disconnected", client="b", reason="node-stop")),
        ([{"do": "node.stop", "node": "n1"}], {"node": "n1"}, "not-up"),
    ),
    "config.update": (
        (
            [],
            {"setting": "leader_borrower_timeout", "value": "9s"},
            later(0, "config.updated", reason="leader_borrower_timeout", duration_us=9 * SECOND),
        ),
        ([], {"setting": "leader_borrower_timeout", "value": "5s"}, "no-change"),
    ),
    "node.restart": (
        ([{"do": "node.crash", "node": "n2"}], {"node": "n2"}, later(0, "node.restarted")),
        ([], {"node": "n1"}, "not-down"),
    ),
    "link.cut": (
        ([], {"link": "n1 <-> n2"}, later(5 * SECOND, "protocol.lost", detail="link-cut")),
        ([{"do": "link.cut", "link": "n1 <-> n2"}], {"link": "n1 -> n2"}, "already-cut"),
    ),
    "link.heal": (
        ([{"do": "link.cut", "link": "n1 -> n2"}], {"link": "n1 -> n2"}, later(0, "link.healed")),
        ([], {"link": "n1 -> n2"}, "not-broken"),
    ),
    "link.slow": (
        ([], {"link": "n1 -> n2", "latency": "1s"}, later(0, "link.slowed", duration_us=SECOND)),
        ([], {"link": "n1 -> n9", "latency": "1s"}, "unknown-name"),
    ),
    "draws.reseed": (
        ([], {"seed": 5, "arrivals": "poisson"}, lambda world: world.runtime.seed == 5),
        ([], {"seed": -1}, "bad-value"),
    ),
    "storage.close-generation": (
        ([], {}, later(SECOND, "stream.opened", ledger=2)),
        ([], {"x": 1}, "unknown-argument"),
    ),
    "storage.add-shards": (
        ([], {"count": 2}, later(SECOND, "stream.opened", count=5)),
        ([], {"count": 254}, "too-many"),
    ),
    "store.fail": (
        ([], {"for": "5s"}, later(0, "store.failed", duration_us=5 * SECOND)),
        ([], {"for": "0s"}, "bad-value"),
    ),
    "protocol.lose": (
        (
            [],
            {"type": "ping", "session": "b"},
            later(5 * SECOND, "protocol.lost", detail="command", client="b"),
        ),
        ([], {"type": "hello"}, "bad-value"),
    ),
    "protocol.delay": (
        ([], {"type": "ping", "by": "1s"}, later(5 * SECOND, "protocol.delayed", duration_us=SECOND)),
        ([], {"type": "ping"}, "missing-argument"),
    ),
    "protocol.duplicate": (
        ([], {"type": "ping"}, later(5 * SECOND, "protocol.duplicated")),
        ([], {"type": "ping", "session": "x"}, "unknown-name"),
    ),
    "publisher.publish": (
        ([], {"publisher": "q", "count": 3}, later(0, "message.published", producer="q", sequence_id=2)),
        ([], {"publisher": "x"}, "unknown-name"),
    ),
    "publisher.pause": (
        ([], {"publisher": "p"}, later(0, "client.changed", client="p", reason="paused")),
        ([], {"publisher": "q"}, "already-paused"),
    ),
    "publisher.resume": (
        ([], {"publisher": "q"}, later(0, "client.changed", client="q", reason="running")),
        ([], {"publisher": "p"}, "not-paused"),
    ),
}


def test_every_command_of_the_protocol_has_a_case():
    assert sorted(CASES) == sorted(
        name for name, command in COMMANDS.items() if command.protocol in ("", "emqx")
    )


@pytest.mark.parametrize("name", CASES)
def test_accepted_commands_have_their_effect(name):
    before, arguments, effect = CASES[name][0]
    world = world_after(*before)
    assert world.apply({"do": name, **arguments}).ok
    assert rows(world, "command.applied")[-1]["reason"] == name and effect(world)


@pytest.mark.parametrize("name", CASES)
def test_refused_commands_give_a_reason_and_change_nothing(name):
    before, arguments, code = CASES[name][1]
    world = world_after(*before)
    unchanged = world.digest(), json.dumps(world.view(), sort_keys=True), world.command_log
    result = world.apply({"do": name, **arguments})
    assert not result.ok and result.code == code and result.error and result.hint, result
    assert (world.digest(), json.dumps(world.view(), sort_keys=True), world.command_log) == unchanged


def test_a_command_of_one_protocol_is_unknown_in_the_other():
    assert world_after().apply({"do": "cluster.crash", "cluster": "a"}).code == "unknown-command"
    from tests.simulator.test_engine_commands import world_after as pulsar_after

    assert pulsar_after().apply({"do": "leader.crash", "group": "g"}).code == "unknown-command"


def test_message_names_of_commands_and_protocol_agree():
    assert PROTOCOL_MESSAGES == MESSAGES


def test_in_the_community_edition_a_share_has_no_effect():
    world = open_world("options: {emqxEdition: community}\n" + BODY)
    world.run()
    assert (
        rows(world, "session.subscribed", client="a")
        and rows(world, "message.delivered", subscription="g") == []
        and rows(world, "protocol.sent") == []
    )


@pytest.mark.parametrize(
    "broken, words",
    [
        ("$shared/g/t/#", 'write "$share/g/t/#"'),
        ("$share/g", "$share/GROUP/FILTER"),
        ("$share/g+/t", "without / + #"),
        ("$queue", "$queue/FILTER"),
        ("t/#/x", "alone at the end"),
        ("t/a+", "one whole level"),
    ],
)
def test_an_invalid_filter_is_refused_with_what_would_be_right(broken, words):
    with pytest.raises(ScenarioError) as caught:
        open_world(BODY.replace('["$share/g/t/#", own/x]', f'["{broken}"]'))
    assert words in str(caught.value)


def test_an_in_memory_session_cannot_subscribe_to_a_share():
    with pytest.raises(ScenarioError) as caught:
        open_world(BODY.replace("durable: false", 'durable: false, subscriptions: ["$share/g/t/#"]'))
    assert "in-memory session" in str(caught.value) and "make the session durable" in str(caught.value)


def test_sections_of_another_protocol_are_refused():
    with pytest.raises(ScenarioError) as caught:
        open_world(BODY + "clusters: {a: {}}\n")
    assert "is no section of durable-shared-subscriptions" in str(caught.value)


def test_canonical_text_is_the_same_scenario():
    world = world_after()
    again = load_scenario(world.scenario.canonical_text)
    assert again == world.scenario


@pytest.mark.parametrize(
    "text, remarked",
    [
        ("$queue/g/t/#", True),
        ("$queue/t/#", False),
        ("$queue/t", False),
        ("$queue/other/x", False),
        ("$share/g/t/#", False),
    ],
)
def test_a_queue_name_with_a_group_that_matches_no_topic_causes_a_remark(text, remarked):
    """The proposal writes $queue/GROUP/FILTER; the broker reads it as the filter GROUP/FILTER."""
    body = BODY.replace('["$share/g/t/#", own/x]', f'["{text}"]')
    said = remarks(open_world(body).scenario)
    assert len(said) == remarked and all(
        "sessions.a.subscriptions" in one and 'write "$queue/t/#"' in one for one in said
    )
    given = remarks(
        open_world(
            BODY + f'commands: [{{at: 1s, do: session.subscribe, session: b, topic: "{text}"}}]\n'
        ).scenario
    )
    assert len(given) == remarked and all("commands[0].topic" in one for one in given)
