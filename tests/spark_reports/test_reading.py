"""Finding traces, the session's rules, what would have helped, the archive.

Everything that needs no Spark session.
"""

from __future__ import annotations

import re
import zipfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from pyspark import SparkConf

from script.support.package import make_package
from simulator import World, load_scenario
from simulator.runs import Runs, finished
from simulator.trace.files import TraceFileError, read_meta
from simulator.what_if import answer, outcome, variants
from spark_reports import session, what_if
from spark_reports.html.sections import what_if as table
from spark_reports.protocols.pulsar import comparison, curves
from spark_reports.protocols.pulsar.transforms.series import SAMPLES
from spark_reports.read import find_traces
from tests.recorded_runs import run_of, write_as_recorded
from tests.spark_reports.conftest import run_scenario, write_run


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    world = World.open("region-down")
    world.run()
    return write_run(world, tmp_path_factory.mktemp("one") / "run.parquet")


def test_directories_and_files_are_found_once_and_numbered(trace: Path) -> None:
    (trace.parent / "notes.txt").write_text("not a trace")
    found = find_traces([trace.parent, trace])
    assert [(entry.run, entry.path) for entry in found] == [(0, trace.resolve())]
    assert found[0].meta["rows"] > 100


def test_a_missing_or_unreadable_file_is_refused_with_a_reason(tmp_path: Path) -> None:
    with pytest.raises(TraceFileError, match="no such file or directory"):
        find_traces([tmp_path / "nowhere"])
    with pytest.raises(TraceFileError, match="simulate --trace"):
        find_traces([tmp_path])


def test_truncated_lines_are_detected(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    write_run(run_scenario("figure-4"), path)
    assert find_traces([path])[0].meta["rows"] > 50
    lines = path.read_bytes().splitlines(keepends=True)
    for cut in (lines[:1], lines[:-1], [*lines[:-1], lines[-1][:-3]]):
        path.write_bytes(b"".join(cut))
        with pytest.raises(TraceFileError, match="cut off: it does not end with row"):
            find_traces([path])


def test_each_variant_changes_one_thing_and_the_first_changes_nothing(trace: Path) -> None:
    meta = read_meta(trace)
    compared, _as_it_was = what_if.compare(meta, lambda: None)
    assert compared["same_bytes"] is True
    names = [variant["name"] for variant in compared["variants"]]
    assert names[0] == "as it was" and len(set(names)) == len(names)
    assert any("a snapshot every" in name for name in names) and any("planned move" in name for name in names)
    assert compared["variants"][0]["cases"][0]["figures"]["markers"] > 0


def test_a_recorded_run_is_not_run_again(tmp_path: Path) -> None:
    path = write_as_recorded(run_of("region-down"), tmp_path / "recorded.jsonl")
    compared, as_it_was = what_if.compare(read_meta(path), lambda: None)
    assert (compared["variants"], as_it_was) == ([], []) and "recorded on real brokers" in compared["note"]
    [entry] = find_traces([path])
    scenario = load_scenario(entry.meta["scenario"])
    assert not comparison.wanted([entry], [scenario], True)
    simulated = {name: value for name, value in entry.meta.items() if name != "recorded"}
    assert comparison.wanted([replace(entry, meta=simulated)], [scenario], True)
    played = load_scenario(entry.meta["scenario"], overrides=[("recording", "ab" * 32)])
    assert what_if.is_recorded(simulated, played) and not what_if.is_recorded(simulated, scenario)


def test_the_table_begins_with_the_unchanged_run_and_ends_with_variants_without_effect(trace: Path) -> None:
    run = {"what_if": what_if.compare(read_meta(trace), lambda: None)[0]}
    told = table(run, 0)
    names, differences = (
        re.findall(r'<th scope="row">(.*?)</th>', told, re.DOTALL),
        re.findall(r'words">(.*?)</td>', told)[::2],
    )
    assert names[0] == "as it was" and differences[0] == "as it ran"
    assumed = ["<small>(" in name for name in names]
    assert assumed == sorted(assumed) and any(assumed), "what was impossible or is no setting comes last"
    assert all("<code>" in name for name, last in zip(names[1:], assumed[1:], strict=True) if not last)
    same = [words == "no difference" for words in differences[: assumed.index(True)]]
    assert same == sorted(same) and len(names) == len(run["what_if"]["variants"])
    assert "helps most" not in told and "no setting helps" in told, (
        "the planned moves bring fewer duplicates, but are no advice after a crash"
    )
    assert any("fewer duplicates" in words for words in differences[assumed.index(True) :])
    real = {
        "digest": "",
        "settings": [],
        "no_setting": "",
        "cases": [
            {
                "label": "s from a to b",
                "at_us": 5,
                "mode": "planned",
                "moved": True,
                "first_delivery_us": 5,
                **dict.fromkeys(
                    (
                        *("duplicates", "redeliveries", "stranded", "lost", "outage_us", "markers"),
                        *("markers_per_s", "marker_bytes_per_s"),
                    ),
                    3,
                ),
            }
        ],
    }
    outcomes = [
        {"key": "as-it-was", "name": "as it was", **real},
        {**real, "key": "other", "name": "other", "cases": []},
    ]
    alone = table({"what_if": answer(load_scenario("region-down"), outcomes, done=True)}, 0)
    assert "no setting helps" in alone and "no failover" in alone


def test_the_report_uses_the_outcomes_that_the_page_has_computed(
    trace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    meta = read_meta(trace)
    scenario = load_scenario(meta["scenario"])
    listed = variants(scenario, meta["commands"], meta["seed"], meta["until_us"])
    outcomes = finished(Runs().each(listed, outcome))
    computed, cases = what_if.compare(meta, lambda: None)
    monkeypatch.setattr(what_if, "Runs", lambda *_arguments: pytest.fail("it ran again"))
    reused = what_if.compare({**meta, "reruns": outcomes, "rows": what_if.ROWS_MOST + 1}, lambda: None)
    assert reused == (computed, cases)
    monkeypatch.undo()
    other = [{**outcomes[0], "digest": "0" * 64}, *outcomes[1:]]
    assert what_if.compare({**meta, "reruns": other}, lambda: None) == (computed, cases), "of another run"


def test_a_trace_of_another_engine_version_is_not_compared(trace: Path) -> None:
    compared, _as_it_was = what_if.compare({**read_meta(trace), "trace_sha256": "0" * 64}, lambda: None)
    assert compared["variants"] == [] and "other rows" in compared["note"]


def test_long_runs_are_not_repeated(trace: Path) -> None:
    compared, _as_it_was = what_if.compare(
        {**read_meta(trace), "rows": what_if.ROWS_MOST + 1}, lambda: pytest.fail("it ran")
    )
    assert compared["variants"] == [] and "1,000,000" in compared["note"]


def test_a_missing_or_old_java_is_refused_with_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(session.JavaMissing, match="apt-get install openjdk-17-jre-headless"):
        session.check_java()
    old = tmp_path / "bin" / "java"
    old.parent.mkdir()
    old.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\" 2019-01-15' >&2\n")
    old.chmod(0o755)
    with pytest.raises(session.JavaMissing, match="is Java 11"):
        session.check_java()


@pytest.mark.parametrize(
    ("settings", "rows", "partitions"),
    [
        ({"spark.master": "local[2]", session.SHUFFLED: "2"}, 3_500_000, "4"),
        ({"spark.master": "spark://m:7077"}, 9_000, "2"),
        ({"spark.master": "spark://m:7077"}, 1_500_000, "15"),
        ({"spark.master": "spark://m:7077"}, 900_000_000, "200"),
        ({"spark.master": "spark://m:7077", session.SHUFFLED: "64"}, 9_000, "64"),
    ],
)
def test_shuffle_partitions_follow_the_rows_unless_the_cluster_sets_them(
    settings: dict[str, str], rows: int, partitions: str
) -> None:
    own = SparkConf(loadDefaults=False).setAll(settings.items())
    now = dict(settings)
    spark = SimpleNamespace(
        conf=SimpleNamespace(get=now.get, set=now.__setitem__), _sc=SimpleNamespace(getConf=lambda: own)
    )
    for _ in range(2):  # a worker's session makes one report after another
        session.cut_for(spark, 50_000_000)
        session.cut_for(spark, rows)
        assert now[session.SHUFFLED] == partitions


def test_the_archive_is_the_same_for_the_same_sources_and_contains_only_what_is_read(tmp_path: Path) -> None:
    one, other = make_package(tmp_path / "one.zip"), make_package(tmp_path / "two.zip")
    assert one.read_bytes() == other.read_bytes()
    names = set(zipfile.ZipFile(one).namelist())
    assert {
        "spark_reports/html/report.css",
        "spark_reports/submit.py",
        "simulator/world.py",
        "simulator/scenarios/library/region-down.yaml",
    } <= names
    assert not [name for name in names if not name.startswith(("simulator/", "spark_reports/"))]


def test_bins_cover_the_span() -> None:
    for until_us in (1, SAMPLES, SAMPLES + 1, 20_000_000):
        assert curves.bin_width_us(until_us) * SAMPLES >= until_us
