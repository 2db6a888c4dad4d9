"""Results of played runs made again from what the brokers reported."""

import json
import shutil
from pathlib import Path

import pytest

from script.real_brokers import again

KEPT = Path(__file__).with_name("recordings")


@pytest.fixture
def played(tmp_path) -> Path:
    """A job with one run, as the rig leaves it."""
    run = tmp_path / "cursor-reset" / "run-001"
    shutil.copytree(KEPT / "cursor-reset", run)
    shutil.copy(run / "scenario.yaml", run.parent / "scenario.yaml")
    return tmp_path


def test_results_are_made_again_with_the_times_of_the_run(played, capsys):
    assert again.main([str(played)]) == 0
    run = played / "cursor-reset" / "run-001"
    [pair] = [json.loads(line) for line in (run.parent / "pairs.jsonl").read_text().splitlines()]
    assert (pair["job"], pair["folder"]) == ("cursor-reset", "cursor-reset/run-001")
    assert pair["real"] == json.loads((run / "real.json").read_text())
    assert pair["simulated"] == json.loads((run / "simulated.json").read_text())
    assert "subscribeTime:" in (run / "scenario.yaml").read_text()
    written = {path.name: path.read_bytes() for path in run.iterdir()}
    assert again.main([str(played / "cursor-reset")]) == 0, "a job itself"
    assert {path.name: path.read_bytes() for path in run.iterdir()} == written
    assert "written again" in capsys.readouterr().err


def test_a_folder_without_jobs_is_refused(tmp_path, capsys):
    assert again.main([str(tmp_path)]) == 2
    assert "no played job" in capsys.readouterr().err
