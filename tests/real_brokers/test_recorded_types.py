"""The table of measured and inferred event types, its page, and the meta of recorded trace files."""

from __future__ import annotations

from pathlib import Path

from script.real_brokers.recorded_types import HOW, INFERRED, MEASURED, markdown, types_that_are
from script.real_brokers.recording import recording_of
from script.real_brokers.rows import convert, write_recorded
from simulator.checks.checks import Checks
from simulator.protocols.registry import BY_NAME, vocabulary
from simulator.trace.files import read_trace
from tests.real_brokers.test_rows_of_faults import CASES, recorded

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_is_made_from_the_table():
    assert (ROOT / "docs/recorded-events.md").read_text(encoding="utf-8") == markdown() + "\n", (
        "docs/recorded-events.md is out of date: "
        "python -m script.real_brokers.recorded_types > docs/recorded-events.md"
    )


def test_the_table_has_every_type_that_a_recording_may_have_and_each_is_an_event(monkeypatch):
    assert not [name for name in HOW if name not in BY_NAME]
    for case in CASES:
        with monkeypatch.context() as patch:
            run = recorded(case, patch)
        found = convert(recording_of(run.lines()), run.world.scenario)
        assert {row["type"] for row in found.trace.rows()} <= set(HOW), case


def test_every_type_is_either_measured_or_inferred():
    assert sorted([*types_that_are(MEASURED), *types_that_are(INFERRED)]) == sorted(HOW)


def test_a_recorded_trace_file_reads_back_with_its_meta(monkeypatch, tmp_path):
    run = recorded("planned", monkeypatch)
    recording = recording_of(run.lines())
    found = convert(recording, run.world.scenario)
    path = tmp_path / "real.jsonl"
    write_recorded(path, found, recording, run.world.scenario)
    read = read_trace(path, vocabulary())
    assert read.trace.digest() == found.trace.digest()
    assert read.meta["until_us"] == run.world.scenario.until_us
    assert read.meta["recorded"]["pulsar"] == "4.2.4"
    assert read.meta["converted"] == {"moved_rows": 0, "moved_most_us": 0, "dropped_causes": 0}
    assert list(read.meta["recorded"]) == ["pulsar", "date", "measured", "inferred"]
    assert "message.stored" in read.meta["recorded"]["measured"]
    assert "message.replicated" in read.meta["recorded"]["inferred"]
    checks = Checks(run.world.scenario)
    assert checks.read(read.trace) == []
