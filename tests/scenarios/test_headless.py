"""Runs without a page: exit codes, what goes to which stream, files, and the two commands on top."""

from __future__ import annotations

import contextlib
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from simulator import enough_until_us, headless, scenario_names
from simulator.protocols.registry import VOCABULARY
from simulator.trace.files import read_trace

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "docs" / "scenario-example.yaml"
SUMMARY_KEYS = {
    "scenario",
    "seed",
    "engine_version",
    "trace_sha256",
    "simulated_us",
    "events",
    "clusters",
    "subscriptions",
    "snapshots",
    "failovers",
    "commands",
    "violations",
}


def simulate(scenario, **options):
    out, err = io.StringIO(), io.StringIO()
    code = headless.simulate(str(scenario), out, err, **options)
    return code, out.getvalue(), err.getvalue()


def test_json_output_is_exactly_the_contracts_object():
    code, out, err = simulate("figure-4", as_json=True)
    summary = json.loads(out)
    assert code == 0 and err == ""
    assert set(summary) >= SUMMARY_KEYS
    assert summary["scenario"] == "figure-4" and summary["simulated_us"] == 3_000_000


def test_messages_without_a_planned_publish_cause_a_remark():
    code, _, err = simulate("figure-4", sets=["producers.shop.count=6"])
    assert code == 0 and err.splitlines() == [
        (
            f"figure-4: consumers.{consumer}.hold.messages: shop/{number} will not be published; shop is planned "
            f"to publish 6 messages, shop/0 to shop/5"
        )
        for consumer in ("billing-1", "billing-2")
        for number in (7, 8)
    ]
    assert simulate("figure-4", sets=["producers.shop.count=6"], as_json=True)[2] == ""
    assert (
        simulate(
            "figure-4",
            sets=["producers.shop.count=6", "commands=[{at: 1s, do: producer.publish, producer: shop}]"],
        )[2]
        == ""
    )


def test_the_readable_summary_describes_the_outcome():
    code, out, err = simulate("region-down")
    assert code == 0 and err == ""
    assert "7 duplicates" in out and "after_newest_snapshot" in out and "No check was violated." in out
    assert "expectations of the scenario are met" in out


def test_not_replicated_messages_are_split_into_processed_and_unread():
    _, out, _ = simulate("crash-returns-stranded")
    assert (
        "4 duplicates, 0 lost, 4 messages not replicated (already processed), 3 messages not replicated "
        "(unread)"
    ) in out and "stranded," not in out


def test_broken_expectations_are_reported_but_are_no_violation(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(
        EXAMPLE.read_text(encoding="utf-8").replace("failovers[0].lost: 0", "failovers[0].lost: 5"),
        encoding="utf-8",
    )
    code, out, _ = simulate(path)
    assert code == 0
    assert "NOT AS EXPECTED: failovers[0].lost: expected 5, saw 0" in out


def test_a_changed_run_is_not_checked_against_the_files_expectations():
    _, out, _ = simulate("region-down", until="2s")
    assert "expect" not in out.lower()


def test_the_documented_example_meets_its_expectations():
    _, out, _ = simulate(EXAMPLE)
    assert "All 3 expectations of the scenario are met." in out


def test_seed_until_and_overrides_are_applied():
    code, out, _ = simulate(
        "two-regions", seed=99, until="3s", sets=["producers.shop.every=500ms"], as_json=True
    )
    summary = json.loads(out)
    assert code == 0
    assert summary["seed"] == 99 and summary["simulated_us"] == 3_000_000
    assert summary["clusters"]["us-west"]["topics"]["orders"]["messages"] == 6  # 0.05 s, 0.55 s … 2.55 s


@pytest.mark.parametrize(
    ("scenario", "options", "words"),
    [
        ("two-region", {}, "did you mean two-regions?"),
        ("missing.yaml", {}, "cannot be read"),
        ("two-regions", {"seed": -1}, "seed"),
        ("two-regions", {"until": "soon"}, '--until: "soon" is not a duration'),
        ("two-regions", {"until": "0s"}, "--until: 0s is too small"),
        ("two-regions", {"sets": ["nonsense"]}, "has no ="),
        ("two-regions", {"sets": ["clusters.us-east.setting.x=1"]}, "did you mean settings?"),
        ("two-regions", {"trace_path": "trace.csv"}, ".parquet or .jsonl"),
        (".", {}, "is a folder"),
    ],
)
def test_bad_input_is_exit_code_2_and_nothing_runs(scenario, options, words):
    code, out, err = simulate(scenario, **options)
    assert code == 2 and out == ""
    assert words in err


def test_every_problem_of_the_options_is_reported_at_once():
    code, out, err = simulate("two-regions", until="5", sets=["foo"], strategy="hope", trace_path="x.csv")
    assert (code, out) == (2, "")
    assert [line.partition(":")[0] for line in err.splitlines()] == [
        "--until",
        "--set foo",
        "--strategy hope",
        "--trace x.csv",
    ]


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl"])
def test_the_trace_file_contains_the_run(tmp_path, suffix):
    path = tmp_path / f"run{suffix}"
    code, out, _ = simulate("region-down", as_json=True, trace_path=str(path))
    summary = json.loads(out)
    file = read_trace(path, VOCABULARY)
    assert code == 0
    assert len(file.trace) == summary["events"]
    assert file.trace.digest() == summary["trace_sha256"] == file.meta["trace_sha256"]
    assert file.meta["seed"] == 1 and file.meta["until_us"] == 10_000_000
    again, out_again, _ = simulate(file.meta["scenario"], as_json=True)
    assert again == 0 and json.loads(out_again)["trace_sha256"] == summary["trace_sha256"]


def test_an_unwritable_trace_file_is_exit_code_2(tmp_path):
    code, out, err = simulate(
        "figure-4", trace_path=str(tmp_path / "no-such-folder" / "run.jsonl"), as_json=True
    )
    assert code == 2 and "cannot be written" in err
    assert json.loads(out)["scenario"] == "figure-4", "the run is not thrown away with the file"


def test_a_refused_command_is_reported_with_its_code_and_a_hint():
    sets = ["commands[1].mode=planned"]
    _, out, _ = simulate("region-down", sets=sets)
    [line] = [line for line in out.splitlines() if line.startswith("Refused")]
    _, out, _ = simulate("region-down", sets=sets, as_json=True)
    [told] = [one for one in json.loads(out)["commands"] if not one["ok"]]
    assert (told["code"], told["hint"]) == ("source-down", "use mode crash")
    assert (
        line
        == f"Refused at 5.700 s: subscription.fail-over: {told['error']}; {told['hint']} ({told['code']})"
    )


def test_a_violated_check_is_exit_code_1(monkeypatch):
    real = headless.World.summary

    def with_violation(world):
        violation = {"claim": "a claim", "seq": 3, "at_us": 1_000_000, "reason": "a reason"}
        return {**real(world), "violations": [violation]}

    monkeypatch.setattr(headless.World, "summary", with_violation)
    code, out, _ = simulate("figure-4")
    assert code == 1
    assert "VIOLATED at 1.000 s (row 3): a claim: a reason" in out


def test_a_run_over_the_row_bound_is_reported(monkeypatch):
    monkeypatch.setattr(headless, "ROWS_MAX", 100)
    code, out, err = simulate("slow-consumer-spread", as_json=True)
    assert code == 2 and "100" in err
    assert json.loads(out)["simulated_us"] < 45_000_000


def test_progress_goes_to_the_terminal_and_changes_nothing():
    _, plain, _ = simulate("slow-consumer-spread", as_json=True)
    _, out, err = simulate("slow-consumer-spread", as_json=True, progress=True)
    assert out == plain
    assert "%" in err and "simulated" in err and err.endswith("\r\x1b[K")


def test_scenarios_are_listed_as_text_and_as_json():
    out = io.StringIO()
    assert headless.list_scenarios(out) == 0
    assert all(name in out.getvalue() for name in scenario_names())
    as_json = io.StringIO()
    headless.list_scenarios(as_json, as_json=True)
    rows = json.loads(as_json.getvalue())
    assert [row["name"] for row in rows] == list(scenario_names())
    assert all(set(row) == {"name", "title", "family", "watch"} and all(row.values()) for row in rows)


# --- the commands, as a script calls them


def manage(*arguments):
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def test_the_commands_print_json_on_standard_output_only(tmp_path):
    trace = tmp_path / "run.parquet"
    done = manage(
        "simulate",
        "figure-4",
        "--json",
        "--seed",
        "5",
        "--until",
        "2s",
        "--set",
        "producers.shop.count=3",
        "--trace",
        str(trace),
    )
    assert (done.returncode, done.stderr) == (0, "")
    summary = json.loads(done.stdout)
    assert summary["seed"] == 5 and summary["clusters"]["cluster-a"]["topics"]["orders"]["messages"] == 3
    assert trace.is_file()
    listed = manage("scenarios", "--json")
    assert (listed.returncode, listed.stderr) == (0, "")
    assert len(json.loads(listed.stdout)) == len(scenario_names())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["simulate"], "NAME_OR_FILE"),
        (["simulate", "nothing-like-it"], "no built-in scenario"),
        (["simulate", "figure-4", "--seed", "x"], "--seed"),
        (["simulate", "figure-4", "--trace", "no-such-folder/run.jsonl"], "there is no folder"),
        (["simulate", "figure-4", "--trace", "."], "is a folder"),
    ],
)
def test_the_command_exits_with_2_on_bad_input(arguments, words):
    done = manage(*arguments)
    assert done.returncode == 2
    assert done.stdout == "" and words in done.stderr and "Traceback" not in done.stderr


def test_an_internal_error_is_exit_code_3(monkeypatch, capsys):
    from django.core.management import call_command

    from visualizer.management.commands import simulate as command

    def broken(*arguments, **options):
        raise RuntimeError("the engine is broken")

    monkeypatch.setattr(command, "simulate", broken)
    with pytest.raises(SystemExit) as caught:
        call_command("simulate", "figure-4")
    assert caught.value.code == 3
    assert "A bug in Failover Lab" in capsys.readouterr().err


@pytest.mark.parametrize(("command", "arguments"), [("simulate", ["figure-4"]), ("scenarios", [])])
def test_a_full_disk_is_no_internal_error(monkeypatch, capsys, command, arguments):
    from django.core.management import call_command

    with open("/dev/full", "w") as full:
        monkeypatch.setattr("sys.stdout", full)
        with pytest.raises(SystemExit) as caught:
            call_command(command, *arguments)
        with contextlib.suppress(OSError):
            full.close()
    assert caught.value.code == 2
    assert (
        capsys.readouterr().err
        == "standard output cannot be written: No space left on device; make room, or send it elsewhere\n"
    )


SLOW = """
format: 1
name: slow-move
title: "Consumers too slow to drain before the end"
family: replicated-subscriptions
until: 4400ms
clusters: {us-west: {}, us-east: {}}
links: {default: {latency: 40ms}}
topics: {orders: {clusters: [us-west, us-east]}}
producers: {web: {topic: orders, cluster: us-west, every: 9500us, start: 10ms, count: 500}}
subscriptions: {billing: {topic: orders, type: Shared, replicateSubscriptionState: true, initialPosition: Earliest}}
consumers: {billing-1: {subscription: billing, cluster: us-west, processing: 9ms}}
commands:
  - {at: 3900ms, do: subscription.fail-over, subscription: billing, from: us-west, to: us-east, mode: crash}
"""


@pytest.fixture
def slow(tmp_path):
    path = tmp_path / "slow.yaml"
    path.write_text(SLOW)
    return path


def test_a_run_that_ends_during_the_deliveries_of_a_failover_gives_lower_bounds(slow):
    """56 of the 94 duplicates are delivered by 4.4 s; the others and one redelivery follow by 4.8 s."""
    cut, whole = (
        json.loads(simulate(slow, as_json=True, until=until)[1])["failovers"][0] for until in (None, "8s")
    )
    assert (whole["duplicates"], whole["redeliveries"], whole["pending_repeats"]) == (94, 1, 0)
    assert (cut["duplicates"], cut["redeliveries"], cut["pending_repeats"]) == (56, 0, 39)
    text = simulate(slow)[1]
    assert "  at least 56 duplicates, 0 lost, still delivering at the end" in text
    assert "backlog of the failover acked: not within 0.500 s" in text
    assert "39 messages handled before are still to be delivered in us-east" in text
    assert "never" not in text
    end = re.search(r"write `until: (\d+s)` in the scenario, or --until \1", text).group(1)
    finished = simulate(slow, until=end)[1]
    assert "  94 duplicates, 1 redeliveries, 0 lost" in finished and "at least" not in finished
    assert "still" not in finished


def test_a_comparison_of_runs_that_end_during_the_deliveries_gives_lower_bounds(slow):
    out, err = io.StringIO(), io.StringIO()
    assert headless.compare(str(slow), out, err) == 0
    cells = {
        line[0]: line[1:] for line in (re.split(r"\s{2,}", text) for text in out.getvalue().splitlines())
    }
    assert cells["duplicates"] == ["at least 56"] * 3
    assert cells["still to be delivered again"] == ["354", "39", "40"]


def test_an_end_by_which_a_failover_has_finished_is_estimated_from_its_deliveries():
    failover = {"at_us": 2_000_000, "first_delivery_us": 2_500_000, "duplicates": 9, "redeliveries": 1}
    assert enough_until_us({**failover, "pending_repeats": 20}, 4_500_000) == 10_000_000, "4.5 s + 1.25 x 4 s"
    none = {"duplicates": 0, "redeliveries": 0, "pending_repeats": 20, "first_delivery_us": None}
    assert enough_until_us({**failover, **none}, 4_500_000) == 7_000_000, "another 2.5 s"
