"""Results of played runs made again from what the brokers reported."""

import json
import shutil
from pathlib import Path
from statistics import median_low

import pytest

from script.real_brokers import again, calibration
from script.real_brokers.recording import read_recording
from script.real_brokers.times_of_run import Samples

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


def test_results_are_predicted_again_with_the_calibration_of_the_job(played, capsys):
    job = played / "cursor-reset"
    options = {"subscribeTime": "30ms", "ackGroupDrift": "90us"}
    text = json.dumps({"calibration": 1, "pulsar": "4.2.4", "options": options})
    (job / "calibration.json").write_text(text)
    assert again.main([str(played)]) == 0
    scenario = (job / "run-001" / "scenario.yaml").read_text()
    assert "subscribeTime: 30ms" in scenario and "ackGroupDrift: 90us" in scenario
    assert "appendTime" not in scenario and "acknowledgmentGroupPhase" not in scenario
    [pair] = [json.loads(line) for line in (job / "pairs.jsonl").read_text().splitlines()]
    assert pair["times"] == "predicted"


def test_a_calibration_of_some_runs_has_their_times_as_options(played, capsys):
    shutil.copytree(KEPT / "link-cut", played / "link-cut" / "run-001")
    file = played / "calibration.json"
    assert calibration.main([str(played), "--out", str(file)]) == 0
    content = json.loads(file.read_text())
    assert sorted(content["runs"]) == ["cursor-reset", "link-cut"]
    found = calibration.read_calibration(file).options
    samples = Samples()
    for job in content["runs"]:
        recording = read_recording(KEPT / job / "raw.jsonl.gz")
        samples.add(recording.events, [entry for log in recording.dumps.values() for entry in log])
    appends = sorted(samples.appends_ns)
    assert found["appendTime"].value_us == appends[len(appends) // 2] // 1000
    assert found["subscribeTime"].value_us == median_low(samples.once_us["subscribeTime"])
    assert found["ackGroupDrift"] > 0 and "topicLoadTime" not in found


def test_runs_of_two_versions_are_no_calibration(played, capsys, monkeypatch):
    shutil.copytree(KEPT / "link-cut", played / "link-cut" / "run-001")

    def of_its_own_version(path):
        recording = read_recording(path)
        recording.meta["pulsar"] = "4.0.7" if "link-cut" in str(path) else "4.2.4"
        return recording

    monkeypatch.setattr(calibration, "read_recording", of_its_own_version)
    assert calibration.main([str(played), "--out", str(played / "calibration.json")]) == 2
    assert "the runs are of Pulsar 4.2.4 and 4.0.7" in capsys.readouterr().err
    assert calibration.main([str(played / "nothing"), "--out", str(played / "calibration.json")]) == 2
    assert "no played run" in capsys.readouterr().err


def test_a_folder_without_jobs_is_refused(tmp_path, capsys):
    assert again.main([str(tmp_path)]) == 2
    assert "no played job" in capsys.readouterr().err
