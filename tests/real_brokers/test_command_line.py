"""The command `script/real-brokers`: its errors, and its exit codes."""

from __future__ import annotations

import hashlib
import json

import pytest

from script.real_brokers import __main__ as command
from script.real_brokers import install
from script.real_brokers.arguments import parse
from script.real_brokers.install import Installation, InstallationError
from script.real_brokers.plan import PREDICTED, job_names
from script.real_brokers.play import Played
from script.real_brokers.recording import RecordingError
from script.real_brokers.rig import ProcessError
from simulator.scenarios.model import Distribution


def run(capsys, *words):
    try:
        code = command.main(list(words))
    except SystemExit as left:
        code = left.code
    return code, capsys.readouterr().err


def test_check_says_that_a_scenario_can_be_played_and_starts_nothing(capsys, tmp_path):
    code, text = run(capsys, "two-regions", "region-down", "--out", str(tmp_path), "--check")
    assert code == 0
    assert "two-regions: can be played on Pulsar 4.2.4" in text
    assert list(tmp_path.iterdir()) == []


def test_everything_that_cannot_be_played_is_named_before_anything_starts(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(command, "installed", lambda *_: pytest.fail("it must not begin to install"))
    code, text = run(capsys, "two-regions", "update-in-flight", "no-such", "--out", str(tmp_path))
    assert code == 2
    assert "update-in-flight.yaml:29:" in text and "marker.delay cannot be played" in text
    assert "no-such: no job and no built-in scenario has this name" in text


def test_a_job_is_played_by_its_name_on_its_own_version(capsys):
    code, text = run(capsys, "two-regions-100", "backlog-oldest-first", "--check")
    assert code == 0
    assert "two-regions-100: can be played on Pulsar 4.2.4. Planned failover, 100 messages/s" in text
    assert "backlog-oldest-first: can be played on Pulsar 4.0.7." in text
    code, text = run(capsys, "backlog-oldest-first", "--pulsar", "4.2.4", "--check")
    assert code == 2 and "use --pulsar 4.0.7" in text


def test_jobs_lists_every_job_and_a_scenario_named_with_it(capsys):
    code, text = run(capsys, "two-regions", "unload", "--jobs", "--check")
    assert code == 0
    listed = [line.split(":")[0] for line in text.splitlines()]
    assert listed[:2] == ["two-regions", "unload"] and sorted(listed[1:]) == list(job_names())


def test_each_scenario_is_played_on_the_installation_of_its_version(capsys, tmp_path, monkeypatch):
    played = []
    monkeypatch.setattr(command, "installed", lambda version, _say: Installation(version, "java", ""))
    monkeypatch.setattr(command, "check_memory", lambda _clusters: None)
    monkeypatch.setattr(
        command, "play", lambda one, installed, *_: played.append((one.name, installed.version)) or 0
    )
    code, _text = run(capsys, "backlog-spread", "backlog-oldest-first", "--out", str(tmp_path))
    assert code == 0
    assert played == [("backlog-spread", "4.2.4"), ("backlog-oldest-first", "4.0.7")]


def test_a_scenario_may_be_a_file(capsys, tmp_path):
    from simulator.scenarios.builtin import builtin_text

    path = tmp_path / "mine.yaml"
    path.write_text(builtin_text("two-regions"), encoding="utf-8")
    assert run(capsys, str(path), "--out", str(tmp_path / "out"), "--check")[0] == 0
    code, text = run(capsys, str(path), "two-regions", "--out", str(tmp_path / "out"), "--check")
    assert code == 2 and "is the name of two scenarios" in text


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["two-regions"], "--out"),
        (["--out", "x"], "name at least one SCENARIO, or use --jobs"),
        (["--jobs", "--pulsar", "4.0.7", "--out", "x"], "each job has its own version"),
        (["predicted-30", "--out", "x"], "name their calibration with --calibration FILE"),
        (["two-regions", "--out", "x", "--runs", "0"], "write 1 to 10000"),
        (["two-regions", "--out", "x", "--pulsar", "latest"], "write three numbers, such as 4.2.4"),
    ],
)
def test_wrong_arguments_are_explained(capsys, words, expected):
    code, text = run(capsys, *words)
    assert code == 2 and expected in text


def test_what_is_missing_on_the_machine_is_an_error_of_the_user(capsys, tmp_path, monkeypatch):
    def missing(_version, _say):
        raise InstallationError("there is no java; apt-get install openjdk-17-jdk-headless")

    monkeypatch.setattr(command, "installed", missing)
    assert run(capsys, "two-regions", "--out", str(tmp_path)) == (
        2,
        "two-regions: can be played on Pulsar 4.2.4.\nthere is no java; apt-get install openjdk-17-jdk-headless\n",
    )


def test_a_broker_that_fails_is_reported_with_its_error(capsys, tmp_path, monkeypatch):
    def fail(*_):
        raise ProcessError("cluster us-west ended during start")

    monkeypatch.setattr(command, "installed", lambda *_: None)
    monkeypatch.setattr(command, "check_memory", lambda _clusters: None)
    monkeypatch.setattr(command, "play", fail)
    code, text = run(capsys, "two-regions", "--out", str(tmp_path))
    assert code == 1 and "cluster us-west ended during start" in text


class NoRig:
    """Stands for the clusters: nothing is started."""

    def __init__(self, _scenario, folder, _installation):
        self.folder = folder

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def start(self, _say):
        assert not (self.folder / "data").exists()

    def remove_data(self):
        if (self.folder / "data").exists():
            (self.folder / "data").rmdir()


@pytest.fixture
def played(monkeypatch):
    """The labels of the runs that are played on a stand-in, and those whose recording is refused."""
    labels, refused = [], ["r002"]

    def play_batch(_rig, plans):
        labels.extend(plan.label for plan in plans)
        return [Played(plan, 0, 0, [], [], 0.0) for plan in plans]

    def write(_job, played, version, scenario):
        if played.plan.label in refused:
            raise RecordingError("the log of orders has two entries at 1:4")
        text = scenario.canonical_text.encode()
        sha256 = hashlib.sha256(text).hexdigest()
        return {"run": int(played.plan.label[1:]), "pulsar": version, "scenario_sha256": sha256}

    monkeypatch.setattr(command, "installed", lambda version, _say: Installation(version, "java", ""))
    monkeypatch.setattr(command, "check_memory", lambda _clusters: None)
    monkeypatch.setattr(command, "Rig", NoRig)
    monkeypatch.setattr(command, "warm_up", lambda _rig, _plan, _runs: None)
    monkeypatch.setattr(command, "play_batch", play_batch)
    monkeypatch.setattr(command, "write_run", write)
    return labels, refused


def runs_in(folder):
    return [json.loads(line)["run"] for line in (folder / "pairs.jsonl").read_text().splitlines()]


def test_a_run_whose_recording_contradicts_itself_fails_and_the_others_are_written(capsys, tmp_path, played):
    (tmp_path / "two-regions" / "processes" / "data").mkdir(parents=True)
    words = ("two-regions", "--out", str(tmp_path), "--runs", "5", "--at-once", "2")
    code, text = run(capsys, *words)
    assert code == 1
    assert "two-regions, r002: the log of orders has two entries at 1:4" in text
    assert "4 runs are in" in text and "1 runs have no figures" in text
    assert runs_in(tmp_path / "two-regions") == [1, 3, 4, 5]


def test_resume_plays_only_the_runs_that_the_folder_does_not_have(capsys, tmp_path, played):
    labels, refused = played
    words = ("two-regions", "--out", str(tmp_path), "--at-once", "2", "--resume", "--runs")
    assert run(capsys, *words, "3")[0] == 1
    labels.clear(), refused.clear()
    assert run(capsys, *words, "5")[0] == 0
    assert labels == ["r002", "r004", "r005"]
    assert runs_in(tmp_path / "two-regions") == [1, 2, 3, 4, 5]
    code, text = run(capsys, *words, "5")
    assert code == 0 and labels == ["r002", "r004", "r005"] and "has these runs already" in text


def test_jobs_are_those_measured_in_the_same_runs_and_with_a_calibration_the_predicted_ones(tmp_path):
    words = ["--jobs", "--out", str(tmp_path)]
    assert sorted([*parse(words).scenarios, *PREDICTED]) == list(job_names())
    assert parse([*words, "--calibration", "calibration.json"]).scenarios == PREDICTED


def calibration_file(folder, **options):
    path = folder / "calibration.json"
    path.write_text(json.dumps({"calibration": 1, "pulsar": "4.2.4", "options": options}))
    return path


def test_runs_are_predicted_with_the_options_of_a_calibration_and_keep_a_copy_of_it(
    capsys, tmp_path, played, monkeypatch
):
    given = []
    stand_in = command.play_batch
    monkeypatch.setattr(
        command,
        "play_batch",
        lambda rig, plans: given.extend(plan.times for plan in plans) or stand_in(rig, plans),
    )
    path = calibration_file(tmp_path, ackGroupDrift="120us", subscribeTime="14ms")
    words = ("predicted-30", "--out", str(tmp_path), "--runs", "1", "--calibration", str(path))
    assert run(capsys, *words)[0] == 0
    assert given == [{"ackGroupDrift": 120, "subscribeTime": Distribution(value_us=14_000)}]
    assert (tmp_path / "predicted-30" / "calibration.json").read_text() == path.read_text()
    assert run(capsys, *words, "--resume")[0] == 0
    calibration_file(tmp_path, ackGroupDrift="121us")
    code, text = run(capsys, *words, "--resume")
    assert code == 2 and "has runs whose simulated side has other times: those of another calib" in text


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "cannot be read as a calibration"),
        ("[]", "is no calibration of format 1 with options"),
        ('{"calibration": 2, "options": {"ackGroupDrift": "1us"}}', "is no calibration of format 1"),
        ('{"calibration": 1, "options": {"appendTime": "fast"}}', "options.appendTime"),
        (
            '{"calibration": 1, "options": {"snapshotCacheRule": "spread"}}',
            "has the option snapshotCacheRule",
        ),
    ],
)
def test_a_file_that_is_no_calibration_is_refused(capsys, tmp_path, text, says):
    path = tmp_path / "calibration.json"
    path.write_text(text)
    words = ("predicted-30", "--out", str(tmp_path), "--calibration", str(path))
    code, found = run(capsys, *words)
    assert code == 2 and says in found and str(path) in found


def test_resume_refuses_runs_of_another_version(capsys, tmp_path, played):
    labels, _refused = played
    run(capsys, "two-regions", "--out", str(tmp_path), "--runs", "1")
    labels.clear()
    words = ("two-regions", "--out", str(tmp_path), "--runs", "2", "--resume", "--pulsar", "4.0.7")
    code, text = run(capsys, *words)
    assert code == 2 and labels == []
    assert "has runs of another scenario or another version" in text and "Name another folder" in text


def test_too_little_memory_is_named_with_what_is_needed(tmp_path):
    memory = tmp_path / "meminfo"
    memory.write_text("MemTotal: 4000000 kB\nMemAvailable: 1024000 kB\n")
    with pytest.raises(
        InstallationError, match=r"3 real clusters .* need about 2750 MB .* 1000 MB are available"
    ):
        install.check_memory(3, memory)
    memory.write_text("MemAvailable: 9000000 kB\n")
    install.check_memory(3, memory)
    install.check_memory(3, tmp_path / "absent")


def test_a_busy_machine_is_a_warning():
    assert install.busy(1.5, cores=2) is None
    assert "a load of 12.8 on 2 cores" in install.busy(12.8, cores=2)
    assert install.load_average() >= 0


def test_ports_are_different():
    ports = install.take_ports(12)
    assert len(set(ports)) == 12
