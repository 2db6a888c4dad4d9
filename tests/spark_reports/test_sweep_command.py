"""The command `sweep`: what is refused before anything runs, what is printed, and its exit codes."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from script.support.system import free_port
from simulator.experiments import read_experiment
from spark_reports.cli import main
from spark_reports.experiments import command, estimate
from spark_reports.experiments.command import Printed
from spark_reports.experiments.estimate import core_seconds, spoken
from spark_reports.experiments.job import store_of
from spark_reports.experiments.listener import Standing
from spark_reports.experiments.store import Store
from tests.spark_reports.sweeps import PERIOD, SMALL, recounted


@pytest.fixture
def experiment(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(SMALL)
    return path


def test_check_prints_the_number_of_runs_and_the_time_and_makes_nothing(
    experiment: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sweep", str(experiment), "--check"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("12 runs (2 points × 2 seeds × 3 phases), about ") and not said.err
    assert [path.name for path in experiment.parent.iterdir()] == ["small.yaml"]


def test_every_problem_of_the_file_is_printed_with_its_line(
    experiment: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    experiment.write_text(SMALL.replace("[250, 1000]", "[250, never]").replace("seeds: [3, 8]", "seeds: 0"))
    assert main(["sweep", str(experiment), "--out", str(experiment.parent / "out")]) == 2
    said = capsys.readouterr().err
    assert f"{experiment}:7:" in said and "seeds" in said and "Traceback" not in said
    experiment.write_text(SMALL.replace("[250, 1000]", "[250, never]"))
    assert main(["sweep", str(experiment), "--check"]) == 2
    assert f"{experiment}:6:" in capsys.readouterr().err
    assert not (experiment.parent / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["absent.yaml", "--check"], "absent.yaml: cannot be read: No such file or directory"),
        (["small.yaml"], "--out DIR is missing"),
        (["small.yaml", "--out", "small.yaml"], "is a file; name a folder"),
        (
            ["small.yaml", "--out", "small.yaml/out"],
            "small.yaml is a file; name a folder that can be written",
        ),
        (["small.yaml", "--out", "out", "--limit-runs", "0"], "--limit-runs 0: give a number of runs"),
        (["small.yaml", "--scenario-of", "3"], "--scenario-of needs --out DIR"),
        (["small.yaml", "--out", "out", "--scenario-of", "3"], "3: is no finished run of out; runs are"),
    ],
)
def test_bad_arguments_are_refused_with_what_would_be_right(
    experiment: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    said: str,
) -> None:
    monkeypatch.chdir(experiment.parent)
    assert main(["sweep", *arguments]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["spark", "sc"])
def test_an_unreachable_master_is_named_before_spark_starts(
    experiment: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    address = f"{kind}://127.0.0.1:{free_port()}"
    master = ["--master", address]
    if kind == "sc":
        monkeypatch.setenv("SPARK_REMOTE", address)
        master = []
    assert main(["sweep", str(experiment), "--out", str(experiment.parent / "out"), *master]) == 2
    said = capsys.readouterr().err
    assert f"The Spark master {address} cannot be reached (" in said and "Connection refused" in said
    assert not (experiment.parent / "out" / "runs.parquet").exists()


def test_a_path_of_the_grid_may_not_be_a_column_of_every_run(
    experiment: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    experiment.write_text(SMALL.replace(f"{PERIOD}: [250, 1000]", "seed: [1, 2]"))
    assert main(["sweep", str(experiment), "--out", str(experiment.parent / "out")]) == 2
    assert "seed" in capsys.readouterr().err


def test_the_scenario_of_a_run_is_printed_and_has_the_runs_figures(
    experiment: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    read, out = read_experiment(experiment), experiment.parent / "out"
    store = store_of(read, out)
    with store.opened():
        store.add(_one_row(store, run=7, point=1, seed=3, phase_us=333_333))
    assert main(["sweep", str(experiment), "--out", str(out), "--scenario-of", "7"]) == 0
    text = capsys.readouterr().out
    assert "seed: 3" in text
    assert recounted(read, {"point": 1, "seed": 3, "phase_us": 333_333})["duplicates"] > 0


def test_ctrl_c_becomes_a_request_to_cancel_and_a_second_one_is_not_caught() -> None:
    before = signal.getsignal(signal.SIGINT)
    try:
        listener = Printed(quiet=True)
        listener.catch_interrupts()
        os.kill(os.getpid(), signal.SIGINT)
        assert listener.cancel_wanted()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)


def test_progress_is_printed_with_failures_and_the_time_left(capsys: pytest.CaptureFixture[str]) -> None:
    listener = Printed(quiet=False)
    listener.stands(Standing(1_200, 10_000, 3, 400.0))
    listener.stands(Standing(10_000, 10_000, 3, 0.0))
    assert capsys.readouterr().err.splitlines() == [
        "1,200 of 10,000 runs finished, 3 failed, about 7 min left",
        "10,000 of 10,000 runs finished, 3 failed",
    ]


def test_a_cluster_that_starts_no_task_is_reported_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [0.0]
    monkeypatch.setattr(command.time, "monotonic", lambda: now[0])
    listener = Printed(quiet=False)
    listener.stands(Standing(0, 12, 0))
    for now[0] in (10.0, 21.0, 22.0, 50.0):
        listener.tasks(0, 4)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "0 of 12 runs finished"
    assert [place for place, line in enumerate(lines) if line.startswith("No task has finished")] == [2]
    assert lines[2].startswith("No task has finished for 20 s. If the cluster has no free")
    listener = Printed(quiet=False)
    listener.stands(Standing(0, 12, 0))
    listener.stands(Standing(3, 12, 0))
    now[0] = 99.0
    listener.tasks(0, 4)
    assert "No task" not in capsys.readouterr().err, "later rounds may take long"


def test_a_round_is_never_silent_for_more_than_five_seconds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now, printed = [0.0], [0.0]
    monkeypatch.setattr(command.time, "monotonic", lambda: now[0])
    listener = Printed(quiet=False)
    listener.stands(Standing(0, 4_000, 0, 40.0))
    capsys.readouterr()
    for half_seconds in range(1, 81):
        now[0] = half_seconds / 2
        listener.left(40.0 - now[0])
        listener.tasks(half_seconds, 80)
        if lines := capsys.readouterr().err.splitlines():
            printed.append(now[0])
            assert lines == [f"{half_seconds} of 80 tasks of this round done, about {40 - now[0]:.0f} s left"]
    gaps = [later - before for before, later in zip(printed, printed[1:], strict=False)]
    assert max(gaps) <= 5 and min(gaps) >= 4 and 40 - printed[-1] < 5
    Printed(quiet=True).tasks(1, 80)
    assert capsys.readouterr().err == ""


def test_durations_are_printed_in_their_unit() -> None:
    assert [spoken(seconds) for seconds in (0.2, 12.4, 89, 100, 5_300, 12_600)] == [
        *("1 s", "12 s", "89 s", "2 min", "88 min", "3.5 h"),
    ]


def test_the_estimate_is_of_processor_time(experiment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimate.time, "process_time", lambda: 7.0)
    assert core_seconds(read_experiment(experiment)) == 0.0, "other programs on the machine do not count"


def _one_row(store: Store, **values: Any) -> pa.Table:
    row = {"status": "finished", "rows": 9, **values}
    return pa.Table.from_pylist([row], store.columns)
