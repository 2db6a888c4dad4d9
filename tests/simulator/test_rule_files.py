"""A rule of replicated subscriptions in a file: its hooks, its place in a run's inputs, its author's errors."""

from __future__ import annotations

import io
import json
import pickle
from pathlib import Path

import pytest

from simulator import RuleError, ScenarioError, World, load_rules, load_scenario
from simulator.experiments import read_experiment_text, run_batch, swarm_families, swarm_run
from simulator.experiments.runs import batches
from simulator.experiments.swarm import RULE_FAILED
from simulator.headless import compare, simulate
from simulator.scenarios.rule_files import forget_rules, loaded_rules
from simulator.scenarios.settings import RULE
from simulator.what_if import variants

RULES = Path(__file__).resolve().parents[2] / "docs" / "rules"
PATH = f"options.{RULE}"
HEAD = "from simulator.protocols.pulsar.snapshots.rules import Applied, Rule\n\n\nclass Mine(Rule):\n"
ACK_HOLE = "ack-hole-delayed-message"


def rule(folder: Path, hook: str, name: str = "mine") -> Path:
    """The file of a rule with these lines in its class."""
    path = folder / f"{name}.py"
    path.write_text(HEAD + "".join(f"    {line}\n" for line in hook.strip().splitlines()))
    return path


def run(scenario: str, path: Path | None, **settings: object) -> World:
    """The whole run of a scenario, under the rule of a file if there is one."""
    more = {} if path is None else {PATH: load_rules(path).name}
    world = World.open(scenario, settings={**settings, **more})
    world.run()
    return world


def told(scenario: str, **given: object) -> tuple[int, str, str]:
    """Exit code and outputs of `simulate`."""
    out, err = io.StringIO(), io.StringIO()
    return simulate(scenario, out, err, **given), out.getvalue(), err.getvalue()


# --- the examples


@pytest.mark.parametrize(
    "scenario", [ACK_HOLE, "slow-consumer-oldest-first", "slow-consumer-spread", "update-in-flight"]
)
def test_the_present_rule_as_a_file_gives_the_same_rows(scenario):
    assert run(scenario, RULES / "present_rule.py").digest() == run(scenario, None).digest()


def test_listed_acks_save_the_duplicates_of_an_ack_hole_and_keep_every_claim():
    without, listed = run(ACK_HOLE, None), run(ACK_HOLE, RULES / "listed_acks.py")
    before, after = without.failovers()[0], listed.failovers()[0]
    # The mark-delete stays at one message. Its snapshots are 1 s apart, and the other region deletes at each what was
    # acknowledged before: of 48 duplicates those acknowledged since the newest one are left.
    assert (before["duplicates"], before["by_cause"]["ack_hole"]) == (48, 43)
    assert (after["duplicates"], after["by_cause"]["ack_hole"]) == (14, 9)
    assert after["lost"] == before["lost"] == 0 and listed.violations == []
    listings = listed.trace.rows(types=["message.listed"])
    assert len(listings) >= 34
    registered = {row["cause_seq"]: row for row in listed.trace.rows(types=["message.registered"])}
    for row in listings:
        its = registered[row["seq"]]
        assert "client" not in its and its["sequence_id"] == row["sequence_id"]


@pytest.mark.parametrize("type_", ["Exclusive", "Key_Shared"])
def test_listed_batches_and_other_types_of_subscription_keep_every_claim(type_):
    text = f"""
format: 1
name: batches
title: Batches
family: replicated-subscriptions
until: 12s
clusters: {{a: {{}}, b: {{}}, c: {{}}}}
links: {{default: {{latency: 40ms}}}}
topics: {{orders: {{clusters: [a, b, c]}}}}
producers:
  web: {{topic: orders, cluster: a, rate: 200/s, count: 1600, batch: 4}}
subscriptions: {{billing: {{topic: orders, type: {type_}, replicateSubscriptionState: true, initialPosition: Earliest}}}}
consumers: {{reader: {{subscription: billing, cluster: a, processing: 1ms, hold: {{share: 1%, for: 3s}}}}}}
commands:
  - {{at: 6s, do: subscription.fail-over, subscription: billing, from: a, to: b, mode: planned}}
"""
    without, listed = run(text, None), run(text, RULES / "listed_acks.py")
    assert without.failovers()[0]["by_cause"]["ack_hole"] > listed.failovers()[0]["by_cause"]["ack_hole"]
    assert listed.violations == [] and listed.failovers()[0]["lost"] == 0


# --- each hook


def test_what_a_marker_carries_adds_to_its_bytes_and_reaches_the_cache(tmp_path):
    carries = (
        "def marker_carries(self, writing):\n    return (1 << 40,) if writing.type == 'snapshot' else ()"
    )
    path = rule(
        tmp_path,
        carries
        + "\ndef update_due(self, subscription, usable):\n    return usable is None or usable.carried == (1 << 40,)",
    )
    changed, present = run("two-regions", path), run("two-regions", None)

    def sizes(world: World, kind: str) -> list[int]:
        rows = world.trace.rows(types=["marker.written"])
        return [row["size_bytes"] for row in rows if row["reason"] == kind]

    # one tag, one length, six bytes of the number 2^40
    assert sizes(changed, "snapshot")[0] - sizes(present, "snapshot")[0] == 8
    assert sizes(changed, "snapshot_request") == sizes(present, "snapshot_request")
    assert (
        len(changed.trace.rows(types=["update.written"]))
        >= len(present.trace.rows(types=["update.written"]))
        > 0
    )


def test_when_a_snapshot_is_requested(tmp_path):
    path = rule(
        tmp_path,
        "def snapshot_refused(self, facts):\n"
        "    return super().snapshot_refused(facts) or ('every-third-second' if facts.topic.now_us % 3_000_000 else None)",
    )
    changed, present = run("two-regions", path), run("two-regions", None)
    requested = [row["at_us"] for row in changed.trace.rows(types=["snapshot.requested"])]
    assert requested and all(at_us % 3_000_000 == 0 for at_us in requested)
    assert len(requested) < len(present.trace.rows(types=["snapshot.requested"]))
    reasons = [row["reason"] for row in changed.trace.rows(types=["snapshot.refused"])]
    assert "every-third-second" in reasons


def test_whether_an_update_is_written(tmp_path):
    changed = run(
        "two-regions", rule(tmp_path, "def update_due(self, subscription, usable):\n    return False")
    )
    assert changed.trace.rows(types=["update.written"]) == []
    assert changed.trace.rows(types=["snapshot.used"]) != []


def test_what_an_update_applies(tmp_path):
    path = rule(tmp_path, "def update_applies(self, update):\n    return Applied(refused='by-my-rule')")
    changed = run(ACK_HOLE, path)
    assert changed.trace.rows(types=["update.applied"]) == []
    assert {row["reason"] for row in changed.trace.rows(types=["update.refused"])} == {"by-my-rule"}
    assert changed.failovers()[0]["duplicates"] > run(ACK_HOLE, None).failovers()[0]["duplicates"]


def test_what_a_cache_keeps(tmp_path):
    newest = "def cache_keeps(self, snapshots, most, cache_rule):\n    return snapshots[-1:]"
    world = World.open("slow-consumer-spread", settings={PATH: load_rules(rule(tmp_path, newest)).name})
    world.run(5_000_000)
    caches = [
        subscription.snapshots.kept
        for topic in world.runtime.clusters["us-west"].topics.values()
        for subscription in topic.subscriptions.values()
    ]
    assert [len(kept) for kept in caches] == [1]
    world.run()
    evicted = [row for row in world.trace.rows(types=["snapshot.evicted"]) if row["reason"] == "cache-rule"]
    cached = world.trace.rows(types=["snapshot.cached"])
    assert len(evicted) == len(cached) - 2  # one was used, one is left: the present rule gives up 30 fewer


# --- a run's inputs


def test_the_rule_and_its_digest_are_part_of_a_runs_inputs(tmp_path):
    path = rule(tmp_path, "def update_due(self, subscription, usable):\n    return False")
    found = load_rules(path)
    scenario = load_scenario("two-regions", overrides=[(PATH, "mine")])
    assert scenario.options[RULE] == found.value == f"mine@{found.digest}"
    assert f'{RULE}: "{found.value}"' in scenario.canonical_text
    again = load_scenario(scenario.canonical_text)
    assert again == scenario
    path.write_text(path.read_text().replace("return False", "return True"))
    with pytest.raises(
        ScenarioError, match=f"mine with digest {found.digest} is not loaded; the file now has"
    ):
        load_rules(path)
        load_scenario(scenario.canonical_text)
    forget_rules()
    with pytest.raises(ScenarioError, match=r'rule "mine@\w+" is not loaded; start with --rules mine\.py'):
        load_scenario(scenario.canonical_text)
    with pytest.raises(RuleError, match="is not loaded"):
        World.from_scenario(scenario)  # read by another process, such as an executor's


def test_simulate_names_the_rule_and_compares_it_with_the_present_one():
    path = str(RULES / "listed_acks.py")
    code, out, _err = told(ACK_HOLE, rules=path, as_json=True)
    value = loaded_rules().value
    assert (
        code == 0 and json.loads(out)["rule"] == value and json.loads(out)["failovers"][0]["duplicates"] == 14
    )
    assert f"rule of its own: {value}\n" in told(ACK_HOLE, rules=path)[1]
    assert "rule" not in json.loads(told(ACK_HOLE, rules=path, sets=[f"{PATH}=built-in"], as_json=True)[1])
    both = io.StringIO()
    assert compare(ACK_HOLE, both, io.StringIO(), rules=path) == 0
    assert "under each rule" in both.getvalue()
    figures = {line.split()[0]: line.split()[1:] for line in both.getvalue().splitlines() if line.split()}
    assert figures["duplicates"] == ["48", "14"]
    code, _out, err = told("groups-join", rules=path)
    assert code == 2 and "is a rule of pulsar; leave it out for groups-join" in err


def test_a_lab_offers_the_loaded_rule_as_a_change_of_its_run():
    scenario = load_scenario(ACK_HOLE)
    assert [one.key for one in variants(scenario, []) if one.key.startswith("rule-")] == []
    found = load_rules(RULES / "listed_acks.py")
    changed = next(one for one in variants(scenario, []) if one.key == "rule-listed_acks")
    assert changed.name == "with the rule listed_acks" and changed.scenario.options[RULE] == found.value
    back = next(one for one in variants(changed.scenario, []) if one.key.startswith("rule-"))
    assert (back.key, back.scenario.options[RULE]) == ("rule-built-in", "built-in")
    assert not [one for one in variants(load_scenario("groups-join"), []) if one.key.startswith("rule-")]


def test_an_experiment_runs_both_rules_and_is_another_one_with_another_text(tmp_path):
    path = rule(tmp_path, "def update_due(self, subscription, usable):\n    return False")
    found = load_rules(path)
    text = f"scenario: {ACK_HOLE}\ngrid: {{{PATH}: [built-in, mine]}}\nseeds: 1\nphases: 1\n"
    experiment = read_experiment_text(text)
    assert experiment.own_rules == (found.value,)
    assert experiment.described()["grid"][PATH] == ["built-in", found.value]
    present, mine = (next(run_batch(experiment, batch)) for batch in batches(experiment))
    assert present["status"] == mine["status"] == "finished" and mine["duplicates"] > present["duplicates"]
    before = experiment.described()
    path.write_text(path.read_text() + "\n")
    load_rules(path)
    assert read_experiment_text(text).described() != before


# --- checks


def test_a_rule_that_lists_unacknowledged_messages_breaks_a_claim(tmp_path):
    path = rule(
        tmp_path,
        "def marker_carries(self, writing):\n"
        "    return tuple(range(200)) if writing.type == 'subscription_update' else ()\n"
        "def update_due(self, subscription, usable):\n    return True\n"
        "def update_applies(self, update):\n"
        "    return super().update_applies(update)._replace(entries=update.subscription.entries_of(update.carried))",
    )
    broken = run("slow-consumer-spread", path).violations
    assert (
        broken and "lists" in broken[0].reason and "not acknowledged, expired or skipped" in broken[0].reason
    )


def test_a_swarm_runs_a_rule_and_finds_what_it_breaks(tmp_path):
    assert set(swarm_families(with_rule=True)) < set(swarm_families())
    path = rule(tmp_path, "def snapshot_refused(self, facts):\n    return [][facts.pending]")
    found = load_rules(path)
    made = swarm_run("replicated-subscriptions", 3, found.value)
    assert (made.status, made.claim) == ("broken", RULE_FAILED) and "mine.py, line 6" in made.reason
    assert made.scenario.options[RULE] == found.value
    assert swarm_run("replicated-subscriptions", 3).status == "kept"


# --- the state of a rule


COUNTING = """
def __init__(self):
    self.ticks = 0
def snapshot_refused(self, facts):
    self.ticks += 1
    return super().snapshot_refused(facts) or (None if self.ticks % 2 else 'every-second-tick')
"""


def test_what_a_rule_keeps_in_itself_is_restored_by_a_seek_and_not_changed_by_an_observer(tmp_path):
    whole = run("two-regions", rule(tmp_path, COUNTING))
    world = World.open("two-regions", settings={PATH: "mine"})
    for at_us in (9_000_000, 2_000_000, 7_500_000, 4_000_000):
        world.seek(at_us)
        for topic in world.runtime.clusters["us-west"].topics.values():
            topic.controller.refusal()
    fork = world.fork()
    fork.run(whole.now_us)
    world.run(whole.now_us)
    assert whole.digest() == world.digest() == fork.digest()


def test_a_rule_whose_answers_depend_on_how_often_it_was_asked_stops_at_the_first_other_row(tmp_path):
    path = rule(
        tmp_path,
        "asked = 0\n"
        "def snapshot_refused(self, facts):\n"
        "    Mine.asked += 1\n"
        "    return super().snapshot_refused(facts) or (None if Mine.asked % 2 else 'every-second-tick')",
    )
    world = World.open("two-regions", settings={PATH: load_rules(path).name})
    world.run(8_100_000)
    with pytest.raises(RuleError, match=r"mine\.py: does not repeat its run: row \d+ was .* and is now"):
        for at_us in (1_000_000, 6_000_000, 500_000, 5_000_000):
            world.seek(at_us)


@pytest.mark.parametrize("kept", ["{1, 2}", "1 / 1", "lambda: 1", "object()", "{'a': [1, (2, object())]}"])
def test_a_rule_keeps_only_what_a_seek_restores_exactly(tmp_path, kept):
    with pytest.raises(RuleError, match=r"self\.kept holds|makes a set|divides with"):
        run(
            "two-regions",
            rule(
                tmp_path,
                f"def __init__(self):\n    self.kept = {kept}\n"
                + COUNTING.split("= 0\n")[1]
                .replace("self.ticks += 1", "pass")
                .replace("self.ticks", "facts.pending"),
            ),
        )


# --- errors of the author


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("class Mine(Rule)\n", 6, "expected ':'"),
        ("import random\n", 6, "imports random"),
        ("from time import monotonic\n", 6, "imports time"),
        ("import numpy\nnumpy.random.seed(1)\n", 7, "draws at random"),
        ("seen = []\n", 6, "a variable of the file can change"),
        ("def helper():\n    global seen\n", 7, "changes seen outside self"),
        ("half = 0.5\n", 6, "decides with the decimal 0.5"),
        ("names = 1 // 0\n", 6, "ZeroDivisionError"),
        ("print(open('/etc/passwd'))\n", 6, "uses open"),
        ("class Other(Rule):\n    pass\n", None, "defines 2 rules"),
    ],
)
def test_a_text_that_is_no_rule_is_refused_with_its_line(tmp_path, text, line, says):
    path = tmp_path / "mine.py"
    path.write_text(HEAD + "    pass\n" + text)
    with pytest.raises(RuleError, match=says) as error:
        load_rules(path)
    assert str(error.value).startswith(f"{path}" if line is None else f"{path}, line {line}: ")
    assert pickle.loads(pickle.dumps(error.value)).args == error.value.args


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        (
            "def snapshot_refuse(self, facts):\n    return None",
            r"line 5: there is no hook snapshot_refuse; did you mean snapshot_refused",
        ),
        (
            "def cache_keeps(self, snapshots):\n    return snapshots",
            r"line 5: cache_keeps takes other arguments; write def cache_keeps\(self, snapshots, most, cache_rule\)",
        ),
    ],
)
def test_a_hook_that_does_not_exist_or_takes_other_arguments_is_refused(tmp_path, lines, says):
    with pytest.raises(RuleError, match=says):
        load_rules(rule(tmp_path, lines))


@pytest.mark.parametrize("name", ["no_such_file", "Capital", "two-words"])
def test_a_file_that_cannot_be_a_rule_is_refused(tmp_path, name):
    if name != "no_such_file":
        rule(tmp_path, "pass", name)
    with pytest.raises(RuleError, match="cannot be read|is no name of a rule's file"):
        load_rules(tmp_path / f"{name}.py")


def test_a_file_of_a_megabyte_is_refused(tmp_path):
    with pytest.raises(RuleError, match="at most 65,536"):
        load_rules(rule(tmp_path, "pass\n" + "# long\n" * 150_000))


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        (
            "def marker_carries(self, writing):\n    return (-1,)",
            "marker_carries returned -1; each is a whole number",
        ),
        (
            "def marker_carries(self, writing):\n    return range(3)",
            "return a tuple of at most 100,000 numbers",
        ),
        ("def marker_carries(self, writing):\n    return (0,) * 100_001", "returned 100,001 numbers"),
        ("def snapshot_refused(self, facts):\n    return 'x' * 61", "a reason is 1 to 60"),
        ("def update_applies(self, update):\n    return None", "returned None; return Applied"),
        (
            "def update_applies(self, update):\n    return Applied(up_to=10**9)",
            "acks entry 1000000000; an entry to ack is above",
        ),
        (
            "def cache_keeps(self, snapshots, most, cache_rule):\n    return snapshots[::-1] * 2",
            "return some of the snapshots",
        ),
        ("def snapshot_refused(self, facts):\n    return self.missing", "AttributeError"),
    ],
)
def test_an_answer_that_cannot_be_used_is_the_authors_error_with_file_and_line(tmp_path, lines, says):
    path = rule(tmp_path, lines)
    with pytest.raises(RuleError) as error:
        run("two-regions", path)
    assert f"{path}, line " in str(error.value) and says in str(error.value)
