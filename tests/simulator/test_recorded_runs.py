"""A run of the engine, written to a file and played as a recording, shows the same as the run itself."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from simulator import (
    NotOffered,
    Scenario,
    ScenarioError,
    World,
    load_scenario,
    load_scenario_text,
    recordings,
)
from simulator.protocols.pulsar.manifest import MANIFEST
from simulator.recordings import RecordedFile, RecordingError, UnusableFile
from simulator.system.admin_tools import AdminError
from simulator.trace import recorded_files
from simulator.trace.files import write_trace
from simulator.trace.recorded_files import Folders
from tests.recorded_runs import record, run_of, write_as_recorded

SCENARIOS = (
    "two-regions",
    "three-regions",
    "region-down",
    "crash-returns-stranded",
    "fail-over-and-back",
    "region-down-twice",
    "slow-consumer-spread",
)
INSTANTS = 8

NOT_IN_A_RECORDING = {
    "forecast",
    "sentence",
    "why_no_snapshot",
    "brokers",
    "lookup",
    "furthest_us",  # the simulated run has been run to its end
    "last_error",
    "retries",
    "start_check",
    "pending_repeats",  # counted from all rows of a recording, so known at its end only
    "trace_sha256",  # of an instant: the names of all rows are known from the start
    # a broker's state that no row shows
    "permits",
    "queued",
    "unacked",
    "read_index",
    "read_position",
    # a replicator counts an entry until it has the receipt, a recording until the peer has stored it
    "in_flight",
    "backlog",
    "replication_backlog",
    "mark_delete_index",
}
OF_REPLICATORS = {"backlog", "mark_delete_index"}


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    recordings.use_folder(tmp_path)
    yield tmp_path
    recordings.leave_folder(tmp_path)


def opened(path: Path) -> Scenario:
    """The scenario of a file in a folder of recordings."""
    found = [one for one in recordings.listed() if one.path == path]
    assert len(found) == 1 and isinstance(found[0], RecordedFile), found
    return recordings.scenario_of(found[0])


def refusal_of(action: Callable[[], Any]) -> str:
    with pytest.raises(RecordingError) as refused:
        action()
    assert refused.value.hint
    return str(refused.value)


def promised(value: Any, within: str = "") -> Any:
    """A view or summary without what a recording does not have."""
    if isinstance(value, list):
        return [promised(one, within) for one in value]
    if not isinstance(value, dict):
        return value
    left_out = NOT_IN_A_RECORDING - (OF_REPLICATORS if within != "replicators" else set())
    return {
        key: promised(
            one, "replicators" if key == "replicators" else "" if key == "subscriptions" else within
        )
        for key, one in value.items()
        if key not in left_out
    }


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_recorded_run_shows_the_same_at_every_instant(folder: Path, name: str) -> None:
    run = run_of(name)
    played = World.from_scenario(opened(write_as_recorded(run, folder / "run.jsonl")))
    end_us = run.now_us
    for at_us in [0, *range(333_333, end_us, end_us // INSTANTS), end_us]:
        run.seek(at_us=at_us)
        played.seek(at_us=at_us)
        assert played.seq == run.seq
        assert promised(played.view()) == promised(run.view()), at_us
        assert played.flights() == run.flights(), at_us
        for cluster, topics in run.topics.items():
            for topic in topics:
                cells = run.cells(cluster, topic, 0, 10_000)
                assert played.cells(cluster, topic, 0, 10_000) == cells, at_us
    assert promised(played.summary()) == promised(run.summary())
    assert played.digest() == run.digest()
    assert played.trace.rows() == run.trace.rows()
    assert played.violations == run.violations


def test_verdicts_of_a_recorded_run_are_those_of_the_run(folder: Path) -> None:
    run = run_of("region-down")
    played = World.from_scenario(opened(write_as_recorded(run, folder / "run.parquet")))
    played.run()
    [counted], [expected] = played.counted().failovers, run.counted().failovers
    assert counted.duplicates == expected.duplicates == 7
    assert counted.by_cause == expected.by_cause
    assert list(counted.duplicates_list) == list(expected.duplicates_list)
    figures = {key: value for key, value in run.live_failovers()[0].items() if key != "forecast"}
    assert {**played.live_failovers()[0], "forecast": None} == {**figures, "forecast": None}


def test_a_recording_is_checked_for_everything_but_exact_delays() -> None:
    """A real client's backoff has jitter, so its rows would violate them."""
    assert MANIFEST.recorded is not None
    judged = MANIFEST.recorded.checks.of_rows
    missing = sorted(check.__name__ for check in MANIFEST.checks.of_rows if check not in judged)
    assert missing == ["ConsumerReconnects", "StartRetries"]


def test_the_figures_of_a_failover_grow_with_the_instant(folder: Path) -> None:
    played = World.from_scenario(opened(record("region-down", folder / "run.jsonl")))
    played.run()
    deliveries = [one.at_us for one in played.counted().failovers[0].duplicates_list]
    for at_us in (5_699_999, *deliveries):
        played.seek(at_us=at_us)
        duplicates = [one["duplicates"] for one in played.live_failovers()]
        expected = sum(delivery <= at_us for delivery in deliveries)
        assert duplicates == ([] if at_us < 5_700_000 else [expected])


def test_batches_partitions_and_holes_are_played(folder: Path) -> None:
    run = run_of("two-regions", **{"producers.shop.batch": 5})
    played = World.from_scenario(opened(write_as_recorded(run, folder / "run.jsonl")))
    for at_us in (2_400_000, 3_333_333, 12_000_000):
        run.seek(at_us=at_us)
        played.seek(at_us=at_us)
        for view in (shown := promised(played.view()), expected := promised(run.view())):
            del view["producers"]["shop"]["pending"]  # the messages of the open batch are not sent yet
        assert shown == expected
        cells = run.cells("us-west", "orders", 0, 1_000)
        assert max(cells["size"]) == 5 and played.cells("us-west", "orders", 0, 1_000) == cells


def test_stepping_and_forking_work_as_in_a_simulated_run(folder: Path) -> None:
    run = run_of("two-regions")
    played = World.from_scenario(opened(write_as_recorded(run, folder / "run.jsonl")))
    run.seek(at_us=0)
    for _ in range(40):
        assert played.step() == run.step()
        assert played.now_us == run.now_us
    for _ in range(10):
        assert played.step_back() == run.step_back()
    fork = played.fork()
    fork.run()
    played.seek(at_us=1_000_000)
    fork.seek(at_us=1_000_000)
    assert fork.view() == {**played.view(), "furthest_us": fork.furthest_us}
    for world in (run, fork):
        world.seek(at_us=12_000_000)
    assert fork.digest() == run.digest()


def test_a_run_in_small_slices_is_the_same(folder: Path) -> None:
    scenario = opened(record("two-regions", folder / "run.jsonl"))
    whole, sliced = World.from_scenario(scenario), World.from_scenario(scenario, begun=False)
    whole.run()
    while sliced.advance(scenario.until_us, 1):
        pass
    assert sliced.view() == whole.view()


def test_markers_have_the_content_that_their_rows_have(folder: Path) -> None:
    run = run_of("three-regions")
    played = World.from_scenario(opened(write_as_recorded(run, folder / "run.jsonl")))
    played.run()
    kinds = set()
    for number in range(1, 60):
        simulated, recorded = run.marker(number), played.marker(number)
        kinds.add(simulated["type"])
        for name in ("number", "type", "cluster", "snapshot", "subscription", "published_us", "travels"):
            assert recorded[name] == simulated[name]
        content, expected = (_without_id(json.loads(one["json"])) for one in (recorded, simulated))
        if simulated["type"] != "snapshot_response":  # the rows name the position of its round
            assert content == expected
    assert len(kinds) == 4
    with pytest.raises(ValueError, match="not been written"):
        played.marker(100_000)


def test_every_command_is_refused_with_version_and_date(folder: Path) -> None:
    played = World.from_scenario(opened(record("two-regions", folder / "run.jsonl")))
    played.run(3_000_000)
    before = played.view()
    for command in (
        {"do": "cluster.crash", "cluster": "us-west"},
        {"do": "link.cut", "link": "us-west -> us-east"},
        {
            "do": "subscription.fail-over",
            "subscription": "billing",
            "from": "us-west",
            "to": "us-east",
            "mode": "crash",
        },
    ):
        refused = played.apply(command)
        assert (refused.ok, refused.code) == (False, "recorded")
        assert refused.error == (
            "This run was recorded on real brokers (Pulsar 4.2.4, 2026-11-23). It can be played and "
            "searched, but takes no commands."
        )
    assert played.view() == before and len(played.branches) == 1


def test_questions_that_rows_cannot_answer_are_refused(folder: Path) -> None:
    played = World.from_scenario(opened(record("two-regions", folder / "run.jsonl")))
    assert played.forecast("billing") == {} and played.snapshot_rules("orders") == {}
    for ask in (played.broker_load, played.creation, lambda: played.replicator_starts("a", "b", "orders")):
        with pytest.raises(NotOffered, match="recorded on real brokers"):
            ask()
    with pytest.raises(AdminError, match="recorded on real brokers"):
        played.admin("stats", "us-west", "orders")


def _without_id(value: Any) -> Any:
    """The content of a marker without the snapshot's random id, which no row has."""
    if isinstance(value, dict):
        return {name: _without_id(part) for name, part in value.items() if name != "snapshot_id"}
    return value


# --- files


def test_a_scenario_with_a_missing_recording_says_what_to_do() -> None:
    text = load_scenario("two-regions").canonical_text
    scenario = load_scenario_text(text, overrides=[("recording", "ab" * 32)])
    assert "LAB_RECORDINGS_DIR" not in refusal_of(lambda: World.from_scenario(scenario))
    assert load_scenario_text(scenario.canonical_text).recording == "ab" * 32


@pytest.mark.parametrize("digest", ["abc", "Z" * 64, "5" * 63])
def test_a_recording_is_named_by_a_digest(digest: str) -> None:
    with pytest.raises(ScenarioError, match="SHA-256"):
        load_scenario_text(load_scenario("two-regions").canonical_text, overrides=[("recording", digest)])


def test_a_family_without_recordings_refuses_one() -> None:
    with pytest.raises(ScenarioError, match="cannot be recorded"):
        load_scenario("groups-join", overrides=[("recording", "ab" * 32)])


def changed(path: Path, change: Callable[[list[str]], list[str]]) -> None:
    """Change the lines of a file, the first of which has the metadata."""
    path.write_text("\n".join(change(path.read_text().splitlines())) + "\n")


def _with_meta(name: str, value: Any) -> Callable[[list[str]], list[str]]:
    def change(lines: list[str]) -> list[str]:
        head = json.loads(lines[0])
        head["failover-lab"][name] = value
        return [json.dumps(head), *lines[1:]]

    return change


UNLISTED: dict[str, tuple[Callable[[list[str]], list[str]], str]] = {
    "no JSON": (lambda lines: ["x", *lines], "line 1 is not JSON"),
    "no recording": (_with_meta("recorded", None), "is no recording"),
    "two systems": (_with_meta("recorded", {"a": "1", "b": "2"}), "exactly one system"),
    "too many rows": (_with_meta("rows", recorded_files.ROWS_MAX + 1), "at most 200,000"),
    "rows in words": (_with_meta("rows", "many"), "metadata is damaged"),
    "no digest": (_with_meta("trace_sha256", "abc"), "exactly one system"),
}


@pytest.mark.parametrize("case", UNLISTED)
def test_a_file_that_cannot_be_a_recording_is_listed_with_the_reason(folder: Path, case: str) -> None:
    change, words = UNLISTED[case]
    changed(record("two-regions", folder / "run.jsonl"), change)
    [found] = [one for one in recordings.listed() if one.path.parent == folder]
    assert isinstance(found, UnusableFile) and words in found.reason


def _row(number: int, **values: Any) -> Callable[[list[str]], list[str]]:
    def change(lines: list[str]) -> list[str]:
        row = {**json.loads(lines[number]), **values}
        return [*lines[:number], json.dumps(row), *lines[number + 1 :]]

    return change


DAMAGED: dict[str, tuple[Callable[[list[str]], list[str]], str]] = {
    "cut off": (lambda lines: lines[:-5], "digest"),
    "half a line": (lambda lines: [*lines[:-1], lines[-1][:10]], "is not JSON"),
    "a row changed": (_row(30, at_us=1), "digest"),
    "an event unknown": (_row(30, type="broker.sighed"), "not an event type"),
    "no instant": (lambda lines: [*lines[:5], '{"seq": 4, "type": "run.started"}', *lines[6:]], "at_us"),
    "a list": (lambda lines: [*lines[:5], "[]", *lines[6:]], "AttributeError"),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_a_damaged_file_is_refused_with_its_name(folder: Path, case: str) -> None:
    change, words = DAMAGED[case]
    path = record("two-regions", folder / "run.jsonl")
    changed(path, change)
    scenario = opened(path)
    refusal = refusal_of(lambda: recordings.check(scenario))
    assert "run.jsonl" in refusal and words in refusal


def _forged(folder: Path, change: Callable[[tuple[int, ...], dict[str, int]], tuple[int, ...]]) -> Path:
    """A recording with a right digest whose rows were changed."""
    from simulator import Trace
    from simulator.headless import trace_meta
    from simulator.protocols.registry import vocabulary
    from tests.recorded_runs import RECORDED

    run = run_of("two-regions")
    trace = Trace(vocabulary())
    for name in run.trace.names:
        trace.intern(name)
    for row in run.trace.tuples(0, len(run.trace)):
        trace.append(change(row, trace.vocabulary.code))
    path = folder / "forged.jsonl"
    write_trace(path, trace, {**trace_meta(run), "recorded": RECORDED})
    return path


def _packed(path: Path) -> Path:
    target = path.with_name(path.name + ".gz")
    target.write_bytes(gzip.compress(path.read_bytes(), mtime=0))
    path.unlink()
    return target


def test_a_compressed_recording_plays_like_the_file_in_it(folder: Path) -> None:
    path = _packed(record("two-regions", folder / "run.jsonl"))
    played = World.from_scenario(opened(path))
    played.run()
    run = run_of("two-regions")
    assert played.digest() == run.digest() and played.summary()["failovers"] == run.summary()["failovers"]


@pytest.mark.parametrize("kept_bytes", [5, 400, -9])
def test_a_compressed_file_that_was_cut_off_is_refused(folder: Path, kept_bytes: int) -> None:
    path = _packed(record("two-regions", folder / "run.jsonl"))
    scenario = opened(path)
    path.write_bytes(path.read_bytes()[:kept_bytes])
    refusal = refusal_of(lambda: recordings.check(scenario))
    assert "run.jsonl.gz" in refusal or "is not on this server" in refusal
    [found] = [one for one in recordings.listed() if one.path == path] or [None]
    assert not isinstance(found, UnusableFile) or "is not a complete gzip file" in found.reason


def test_rows_that_contradict_each_other_are_refused(folder: Path) -> None:
    def other_entry(row: tuple[int, ...], code: dict[str, int]) -> tuple[int, ...]:
        # the entry of every stored message is 7 further than the log has
        return (*row[:9], row[9] + 7, *row[10:]) if row[0] == code["message.stored"] else row

    path = _forged(folder, other_entry)
    refusal = refusal_of(lambda: recordings.check(opened(path)))
    assert "forged.jsonl" in refusal and "the next entry of orders is" in refusal


def test_rows_out_of_order_are_refused(folder: Path) -> None:
    def late(row: tuple[int, ...], code: dict[str, int]) -> tuple[int, ...]:
        return (row[0], 90_000_000, *row[2:]) if row[0] == code["topic.loaded"] else row

    path = _forged(folder, late)
    assert "not in order" in refusal_of(lambda: recordings.check(opened(path)))


def test_a_file_that_is_too_large_is_not_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = record("two-regions", folder / "run.jsonl")
    monkeypatch.setattr(recorded_files, "SIZE_BYTES_MAX", 1_000)
    [found] = [one for one in recordings.listed() if one.path == path]
    assert isinstance(found, UnusableFile) and "at most 1,000" in found.reason


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_a_file_with_more_rows_than_it_says_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    path = record("two-regions", folder / f"run{suffix}")
    scenario = opened(path)
    monkeypatch.setattr(recorded_files, "ROWS_MAX", 100)
    assert "more than 100 rows" in refusal_of(lambda: recordings.check(scenario))


def test_equal_recordings_are_listed_once_and_a_removed_one_no_more(tmp_path: Path) -> None:
    folders = Folders(tmp_path)
    run = run_of("two-regions")
    first = write_as_recorded(run, tmp_path / "a.jsonl")
    write_as_recorded(run, tmp_path / "b.parquet")
    [listed] = folders.listed()
    assert isinstance(listed, RecordedFile)
    assert (listed.path, listed.system, listed.date) == (first, "Pulsar 4.2.4", "2026-11-23")
    assert listed.measured == ("stored entries", "deliveries") and listed.inferred == ("causes",)
    assert folders.find(listed.digest) == listed
    first.unlink()
    found = folders.find(listed.digest)
    assert found.path.name == "b.parquet" and found.digest == listed.digest
    found.path.unlink()
    assert "not on this server" in refusal_of(lambda: folders.find(listed.digest))


def test_a_folder_lists_a_limited_number_of_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        (tmp_path / f"{number}.jsonl").write_text("x\n")
    monkeypatch.setattr(recorded_files, "FILES_MAX", 3)
    assert [one.path.name for one in Folders(tmp_path).listed()] == ["0.jsonl", "1.jsonl", "2.jsonl"]
