"""A swarm on Spark: rows as without Spark, going on after a stop, and what the command prints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from simulator.experiments import BROKEN, swarm_run
from spark_reports.cli import main
from spark_reports.experiments.listener import NullListener, Standing
from spark_reports.progress import Cancelled
from spark_reports.swarm import command
from spark_reports.swarm.job import Swarm
from spark_reports.swarm.results import FILE, Results

FAMILIES = ("replicated-subscriptions", "topic-creation")
KEYS = [(family, seed) for family in FAMILIES for seed in (1, 2)]


class Stops(NullListener):
    """Cancels after the first round."""

    wanted = False

    def stands(self, standing: Standing) -> None:
        self.wanted = True

    def cancel_wanted(self) -> bool:
        return self.wanted


def violation(family: str, seed: int) -> dict[str, Any]:
    row = swarm_run(family, seed).as_row()
    return {**row, "status": BROKEN, "claim": "a claim", "at_us": 7, "reason": "a reason"}


def test_a_swarm_has_the_rows_of_each_seed_and_goes_on_after_a_stop(spark: Any, tmp_path: Path) -> None:
    with pytest.raises(Cancelled):
        Swarm(spark, KEYS, Results(tmp_path / "stopped"), Stops()).run()
    kept = Results(tmp_path / "stopped").rows
    assert 0 < len(kept) < len(KEYS)
    assert Swarm(spark, KEYS, Results(tmp_path / "stopped")).run() == Standing(4, 4, 0)
    Swarm(spark, KEYS[::-1], Results(tmp_path / "whole")).run()
    stopped, whole = (tmp_path / name / FILE for name in ("stopped", "whole"))
    assert stopped.read_bytes() == whole.read_bytes()
    rows = [json.loads(line) for line in whole.read_text().splitlines()[1:]]
    assert rows == [{**swarm_run(*key).as_row(), "scenario": None} for key in KEYS]


def test_violations_are_printed_with_a_scenario_that_can_be_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Finds:
        def __init__(self, _spark: Any, keys: Any, results: Results, _listener: Any) -> None:
            self.keys, self.results = keys, results

        def run(self) -> Standing:
            self.results.add([violation(*key) for key in self.keys])
            return Standing(len(self.keys), len(self.keys), len(self.keys))

    class NoSpark:
        def stop(self) -> None:
            pass

    monkeypatch.setattr(command, "Swarm", Finds)
    monkeypatch.setattr(command, "open_session", lambda *_: NoSpark())
    monkeypatch.setattr(command.Printed, "catch_interrupts", lambda _self: None)
    words = ["swarm", "--family", FAMILIES[0], "--seeds", "1", "--out", str(tmp_path)]
    assert main(words) == 1
    printed = capsys.readouterr().out
    assert "1 seeds were run, 1 broke a claim" in printed and "a claim: a reason" in printed
    scenario = tmp_path / "violations" / f"{FAMILIES[0]}-1.yaml"
    assert f"python manage.py simulate {scenario}" in printed
    assert scenario.read_text() == swarm_run(FAMILIES[0], 1).scenario.canonical_text


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--seeds", "0"], "write 1 to 1,000,000"),
        (["--seeds", "3", "--family", "none"], "invalid choice: 'none'"),
    ],
)
def test_wrong_arguments_are_explained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], expected: str
) -> None:
    with pytest.raises(SystemExit) as left:
        main(["swarm", "--out", str(tmp_path), *words])
    assert left.value.code == 2 and expected in capsys.readouterr().err


def test_a_folder_of_another_engine_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / FILE).write_text('{"engine_version": "0.0.1"}\n')
    assert main(["swarm", "--seeds", "1", "--out", str(tmp_path)]) == 2
    assert "is of engine version 0.0.1" in capsys.readouterr().err
