"""The folder of a sweep: what it refuses, and what a full disk or a second process does to it."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
import zipfile
from collections import namedtuple
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from simulator.experiments import Wanted
from spark_reports.experiments import store as module
from spark_reports.experiments.job import EXECUTORS_NEED, explained, packed, store_of
from spark_reports.experiments.store import Store, StoreError
from tests.spark_reports.sweeps import small

ROOT = Path(__file__).resolve().parents[2]


def test_a_folder_of_another_experiment_is_refused_with_what_differs(tmp_path: Path) -> None:
    with store_of(small(), tmp_path).opened():
        pass
    kept = (tmp_path / "experiment.json").read_bytes()
    other = small(seeds="[3, 9]", scenario="two-regions", phases=1)
    with pytest.raises(StoreError) as refused, store_of(other, tmp_path).opened():
        pytest.fail("it was opened")
    said = str(refused.value)
    assert "has runs of another experiment, which are kept; name another folder" in said
    assert "seeds: [3, 8] there, [3, 9] here" in said and "phases: 3 there, 1 here" in said
    assert "scenario: line" in said and "grid" not in said
    assert (tmp_path / "experiment.json").read_bytes() == kept


def test_another_engine_is_refused_with_both_versions(tmp_path: Path) -> None:
    with store_of(small(), tmp_path).opened():
        pass
    path = tmp_path / "experiment.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "engine_version": "0.0.7"}))
    with pytest.raises(StoreError, match='the engine\'s version: "0.0.7" there'):
        store_of(small(), tmp_path).check()


def test_title_and_wanted_bound_may_change_since_no_run_depends_on_them(tmp_path: Path) -> None:
    with store_of(small(), tmp_path).opened():
        pass
    changed = replace(small(), title="New", wanted=Wanted("duplicates", 50, 990_000, 950_000))
    with store_of(changed, tmp_path).opened():
        pass
    assert json.loads((tmp_path / "experiment.json").read_text())["experiment"] == changed.described()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"engine_version": 1'])
def test_a_description_that_cannot_be_read_is_no_reason_to_overwrite_runs(tmp_path: Path, text: str) -> None:
    (tmp_path / "experiment.json").write_text(text)
    with pytest.raises(StoreError, match="cannot be read; name another folder"):
        store_of(small(), tmp_path).check()


def test_runs_without_a_description_are_not_taken_over(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "000000.parquet").write_bytes(b"")
    with pytest.raises(StoreError, match="has runs but no experiment.json"):
        store_of(small(), tmp_path).check()


def test_two_sweeps_cannot_write_to_one_folder(tmp_path: Path) -> None:
    with (
        store_of(small(), tmp_path).opened(),
        pytest.raises(StoreError, match="another sweep is writing to it"),
        store_of(small(), tmp_path).opened(),
    ):
        pytest.fail("it was opened twice")
    with store_of(small(), tmp_path).opened():
        pass


def test_too_little_space_is_found_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(module.shutil, "disk_usage", lambda path: usage(10**9, 10**9 - 3_000, 3_000))
    with (
        pytest.raises(StoreError, match="MB free, and 12 runs need up to"),
        store_of(small(), tmp_path).opened(),
    ):
        pytest.fail("it was opened")


def test_a_full_disk_keeps_the_parts_and_leaves_nothing_half_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = store_of(small(), tmp_path)

    def full(table: Any, path: Path, **_: Any) -> None:
        path.write_bytes(b"PAR1")
        raise OSError(errno.ENOSPC, "Error writing bytes to file")

    with store.opened():
        store.add(rows_of(store, range(3)))
        monkeypatch.setattr(module.pq, "write_table", full)
        with pytest.raises(
            StoreError, match="No space left on device; make room, then run the same command again"
        ):
            store.add(rows_of(store, range(3, 6)))
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["000000.parquet"]
    assert store.kept().finished.sum() == 3


def test_rows_are_sorted_and_a_run_that_two_parts_have_is_one_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = store_of(small(), tmp_path)
    with store.opened():
        for runs in (range(9, 12), range(6), range(3, 9)):
            store.add(rows_of(store, runs))
        assert store.table()["run"].to_pylist() == list(range(12))
        one = store.finish().read_bytes()
        # More passes and more parts make the same bytes.
        monkeypatch.setattr(module, "ROWS_OF_A_PASS", 5)
        monkeypatch.setattr(module, "ROWS_OF_A_GROUP", 5)
        assert store.finish().read_bytes() != one, "row groups are part of the bytes"
        found = pq.read_table(tmp_path / "runs.parquet")
        assert found["run"].to_pylist() == list(range(12))


def test_executors_need_the_documented_packages_and_no_others() -> None:
    program = (
        "import sys, spark_reports.experiments.task\n"
        "print(*sorted({name.split('.')[0] for name, one in sys.modules.items() "
        "if 'site-packages' in (getattr(one, '__file__', None) or '')}))"
    )
    said = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    of_package = {"google": "protobuf", "ruamel": "ruamel.yaml"}
    loaded = {of_package.get(name, name) for name in said.stdout.split()}
    assert loaded & {"pyspark", "django", "pandas"} == set()
    document = (ROOT / "docs" / "experiments.md").read_text()
    assert set(EXECUTORS_NEED) <= loaded and all(f"`{name}`" in document for name in EXECUTORS_NEED)


def test_the_archive_for_executors_has_both_packages_and_a_name_by_its_content() -> None:
    path = packed()
    names = set(zipfile.ZipFile(path).namelist())
    assert {"simulator/experiments/runs.py", "spark_reports/experiments/task.py"} <= names
    assert packed() is path


@pytest.mark.parametrize(
    ("text", "said", "environment"),
    [
        ("…\nModuleNotFoundError: No module named 'pyroaring'\n…", "has no module pyroaring; install", True),
        ("[PYTHON_VERSION_MISMATCH] Python in worker has 3.11", "Python in worker has 3.11", True),
        ("EngineDiffers: the executor has version 1", "the executor has version 1", True),
        ("Python worker exited unexpectedly (crashed)", "most likely out of memory", True),
        ("Job aborted due to stage failure: Task 1 failed 4 times", "Spark gave up: Job aborted", False),
        ("something else", "RuntimeError: something else", False),
    ],
)
def test_a_failed_job_is_explained(text: str, said: str, environment: bool) -> None:
    found = explained(RuntimeError(text))
    assert said in str(found) and found.environment is environment


def test_a_session_that_has_ended_is_a_lost_connection() -> None:
    found = explained(ConnectionRefusedError(111, "Connection refused"))
    assert str(found) == "the connection to Spark was lost (ConnectionRefusedError)" and found.environment


def rows_of(store: Store, runs: range) -> pa.Table:
    rows = [
        {"run": run, "point": run // 6, "seed": 3, "phase_us": 0, "status": "finished", "rows": run}
        for run in runs
    ]
    return pa.Table.from_pylist(rows, store.columns)
