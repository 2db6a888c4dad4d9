"""Settings by the size of a trace: equal figures, few jobs, and a session left as it was."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from spark_reports import tuning
from spark_reports.jobs.failover import FailoverReport
from spark_reports.scans import tasks
from spark_reports.session import SHUFFLED
from tests.spark_reports.conftest import run_scenario, write_run

JOBS_MOST = 35
"""A report on region-down starts about 27 jobs; with Spark's own settings 65."""


def session(settings: dict[str, str]) -> Any:
    """A session that has settings only."""
    conf = SimpleNamespace(
        get=settings.get, set=settings.__setitem__, unset=lambda name: settings.pop(name, None)
    )
    return SimpleNamespace(conf=conf)


def newest_job(spark: Any) -> int:
    """The number of a job that runs now. Spark numbers the jobs of a session."""
    spark.range(1).collect()
    return max(spark.sparkContext.statusTracker().getJobIdsForGroup(None))


def test_settings_of_a_short_trace_are_restored_also_after_an_error() -> None:
    before = {SHUFFLED: "2", "spark.sql.adaptive.enabled": "true"}
    now = dict(before)
    spark = session(now)
    with pytest.raises(KeyError), tuning.tuned(spark, tuning.SHORT_ROWS_MOST):
        assert now == tuning.EVERY | tuning.SHORT and tuning.one_task(spark)
        tuning.cut_tasks(spark, tuning.SHORT_ROWS_MOST)
        assert now[SHUFFLED] == "1"
        raise KeyError
    assert now == before and not tuning.one_task(spark)


def test_settings_stay_for_a_longer_trace() -> None:
    now = {SHUFFLED: "2", "spark.master": "local[2]"}
    spark = session(now)
    with tuning.tuned(spark, tuning.SHORT_ROWS_MOST + 1):
        assert not tuning.one_task(spark) and set(now) == {SHUFFLED, "spark.master", *tuning.EVERY}
        spark.conf.set("spark.sql.files.minPartitionNum", "2")
        tuning.cut_tasks(SimpleNamespace(conf=spark.conf, _sc=None), 3_500_000)
        assert now[SHUFFLED] == "4"


@pytest.mark.slow
def test_a_report_is_the_same_with_and_without_the_settings_for_small_frames(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = write_run(run_scenario("region-down"), tmp_path / "run.parquet")
    made = {}
    lengths = {
        "short": (tuning.SHORT_ROWS_MOST, 0, 0),
        "long": (0, tuning.SMALL_ROWS_MOST, 0),
        "largest": (0, -1, -1),
    }
    for name, (short_most, small_most, quick_most) in lengths.items():
        monkeypatch.setattr(tuning, "SHORT_ROWS_MOST", short_most)
        monkeypatch.setattr(tuning, "SMALL_ROWS_MOST", small_most)
        monkeypatch.setattr(tuning, "QUICK_ROWS_MOST", quick_most)
        monkeypatch.setattr(tasks, "ROWS_OF_A_SHARE", 700 if name == "largest" else tasks.ROWS_OF_A_SHARE)
        before = newest_job(spark)
        FailoverReport(spark, [trace], tmp_path / name).make()
        report = json.loads((tmp_path / name / "report.json").read_text())
        made[name] = report["runs"]
        if name == "short":
            assert newest_job(spark) - before <= JOBS_MOST
    assert made["short"] == made["long"] == made["largest"]
    assert len({(tmp_path / name / "figures.csv").read_bytes() for name in lengths}) == 1
