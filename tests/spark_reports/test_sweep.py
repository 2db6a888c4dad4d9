"""Sweeps on Spark: figures as recounted, the same bytes in any way, and what survives a failure."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from simulator.experiments import Axis
from spark_reports.cli import main
from spark_reports.experiments import job, task
from spark_reports.experiments.job import Sweep, SweepFailed
from spark_reports.experiments.listener import Standing
from spark_reports.progress import Cancelled
from tests.spark_reports.sweeps import PERIOD, SMALL, Recorded, recounted, small


@pytest.fixture(scope="module")
def whole(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the small experiment, run in one go."""
    folder = tmp_path_factory.mktemp("sweep") / "whole"
    listener = Recorded()
    assert Sweep(spark, small(), folder, listener).run() == Standing(12, 12, 0)
    first, *_, last = listener.standings
    assert (first.finished, last.finished, last.left_s) == (0, 12, 0)
    return folder


def test_every_run_has_the_figures_of_a_recount_without_spark(whole: Path) -> None:
    experiment, rows = small(), pq.read_table(whole / "runs.parquet").to_pylist()
    assert [row["run"] for row in rows] == list(range(12))
    assert [(row["point"], row[PERIOD], row["seed"]) for row in rows] == [
        (point, value, seed)
        for point, value in ((0, "250"), (1, "1000"))
        for seed in (3, 8)
        for _ in range(3)
    ]
    assert [row["phase_us"] for row in rows[6:9]] == [0, 333_333, 666_666]
    for row in rows:
        ours = recounted(experiment, row)
        assert {name: row[name] for name in ours} == ours, row
        assert (row["status"], row["reason"]) == ("finished", None)
    assert len({row["duplicates"] for row in rows}) > 1, "phases and periods must differ in their duplicates"


@pytest.mark.parametrize("cores", [1, 3])
def test_the_bytes_are_the_same_with_any_number_of_tasks(
    spark: Any, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cores: int
) -> None:
    monkeypatch.setattr(job, "cores_now", lambda spark: cores)
    Sweep(spark, small(), tmp_path / "out").run()
    assert parts_of(tmp_path / "out") != parts_of(whole), "the rounds must differ"
    assert bytes_of(tmp_path / "out") == bytes_of(whole)


def test_a_cancelled_sweep_keeps_its_rounds_and_a_second_call_makes_only_the_rest(
    spark: Any, whole: Path, tmp_path: Path
) -> None:
    with pytest.raises(Cancelled):
        Sweep(spark, small(), tmp_path, Recorded(cancel_at=1)).run()
    kept = parts_of(tmp_path)
    assert 0 < sum(kept.values()) < 12 and not (tmp_path / "runs.parquet").exists()
    listener = Recorded()
    Sweep(spark, small(), tmp_path, listener).run()
    assert listener.standings[0].finished == sum(kept.values())
    assert bytes_of(tmp_path) == bytes_of(whole)
    assert {name: rows for name, rows in parts_of(tmp_path).items() if name in kept} == kept
    assert sum(parts_of(tmp_path).values()) == 12


def test_a_limit_stops_after_whole_batches_and_early_results_cover_the_grid(
    spark: Any, whole: Path, tmp_path: Path
) -> None:
    sweep = Sweep(spark, small(), tmp_path, limit_runs=4)
    assert sweep.run() == Standing(6, 12, 0)
    rows = sweep.store.table().to_pylist()
    assert {(row["point"], row["seed"]) for row in rows} == {(0, 3), (1, 3)}
    assert not (tmp_path / "runs.parquet").exists()
    assert Sweep(spark, small(), tmp_path).run().complete
    assert bytes_of(tmp_path) == bytes_of(whole)


def test_a_damaged_part_is_set_aside_and_its_runs_are_made_again(
    spark: Any, whole: Path, tmp_path: Path
) -> None:
    Sweep(spark, small(), tmp_path, limit_runs=6).run()
    damaged, *_ = sorted((tmp_path / "runs").iterdir())
    damaged.write_bytes(damaged.read_bytes()[:-20])
    (tmp_path / "runs" / "000009.parquet.partial").write_bytes(b"half")
    listener = Recorded()
    assert Sweep(spark, small(), tmp_path, listener).run().complete
    assert [text for text in listener.notices if damaged.name in text]
    assert damaged.with_name(damaged.name + ".damaged").exists()
    assert not list(tmp_path.rglob("*.partial"))
    assert bytes_of(tmp_path) == bytes_of(whole)


def test_a_run_that_cannot_be_carried_out_is_a_row_with_its_reason(spark: Any, tmp_path: Path) -> None:
    # Reading the file would refuse this value.
    experiment = replace(small(), axes=(Axis(PERIOD, ("1000", "never")),))
    assert Sweep(spark, experiment, tmp_path).run() == Standing(12, 12, 6)
    rows = pq.read_table(tmp_path / "runs.parquet").to_pylist()
    assert [row["status"] for row in rows] == ["finished"] * 6 + ["failed"] * 6
    failed = rows[6]
    assert "never" in failed["reason"] and PERIOD in failed["reason"] and failed["seed"] == 3
    assert (failed["duplicates"], failed["rows"]) == (None, 0)
    # A failed run is finished: it would fail again.
    assert Sweep(spark, experiment, tmp_path).run() == Standing(12, 12, 6)


def test_a_failed_job_keeps_what_is_finished(
    spark: Any, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Sweep(spark, small(), tmp_path, limit_runs=6).run()
    with monkeypatch.context() as changed:
        changed.setattr(task, "ENGINE_VERSION", "99.0")
        with pytest.raises(SweepFailed, match=r"version .* of the simulator and the driver 99\.0") as failed:
            Sweep(spark, small(), tmp_path).run()
    assert failed.value.environment
    assert sum(parts_of(tmp_path).values()) == 6
    assert Sweep(spark, small(), tmp_path).run().complete
    assert bytes_of(tmp_path) == bytes_of(whole)


def test_the_report_of_finished_runs_needs_no_spark_and_is_partial_after_a_stop(
    spark: Any, whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, stopped = tmp_path / "small.yaml", tmp_path / "stopped"
    file.write_text(SMALL)
    Sweep(spark, small(), stopped, limit_runs=4).run()
    for folder, partial, runs in ((whole, False, 12), (stopped, True, 6)):
        assert main(["sweep", str(file), "--out", str(folder), "--report-only"]) == 0
        data = json.loads((folder / "sweep.json").read_text())
        assert (data["partial"], sum(point["runs"] for point in data["settings"])) == (partial, runs)
        assert data["answer"]["sentence"] in capsys.readouterr().out and (folder / "sweep.html").exists()


def test_the_file_names_its_experiment_and_engine(whole: Path) -> None:
    metadata = pq.read_schema(whole / "runs.parquet").metadata
    assert json.loads(metadata[b"experiment"]) == small().described()
    assert (
        json.loads(metadata[b"engine_version"])
        == json.loads((whole / "experiment.json").read_text())["engine_version"]
    )


def bytes_of(folder: Path) -> bytes:
    return (folder / "runs.parquet").read_bytes()


def parts_of(folder: Path) -> dict[str, int]:
    """The rows of each part file."""
    return {path.name: pq.read_metadata(path).num_rows for path in (folder / "runs").glob("*.parquet")}
