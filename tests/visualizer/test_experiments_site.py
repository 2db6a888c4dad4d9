"""Experiments on the site without Spark: who may do what, how one ends, and its runs as labs."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from django_tasks_db.models import DBTaskResult

from labsite import engine_worker
from simulator import World, load_scenario_text
from simulator.experiments import batches, first_fault_us, read_experiment_text, run_batch
from tests.visualizer.test_clean import output_of_clean
from visualizer.labs import clients
from visualizer.live.wire import Refused
from visualizer.models import Lab, hash_of
from visualizer.tasks.models import Experiment
from visualizer.tasks.requests import check_waiting

pytestmark = pytest.mark.django_db

TEXT = """\
scenario: region-down
grid: {settings.replicatedSubscriptionsSnapshotFrequencyMillis: [500, 1000]}
phases: 4
seeds: [3, 8]
"""


@pytest.fixture(autouse=True)
def _data(settings: Any, tmp_path: Any) -> None:
    settings.DATA_DIR = tmp_path


def post(path: str, **body: Any) -> Any:
    return Client().post(path, json.dumps(body), content_type="application/json")


def made(text: str = TEXT) -> dict[str, str]:
    answer = post("/experiments/", yaml=text)
    assert answer.status_code == 201, answer.content
    return answer.json()


def change(one: dict[str, str], **columns: Any) -> Experiment:
    Experiment.objects.filter(pk=one["id"]).update(**columns)
    return Experiment.objects.get(pk=one["id"])


def status(one: dict[str, str]) -> dict[str, Any]:
    return Client().get(f"{one['url']}status.json").json()


def test_an_experiment_is_stored_and_its_task_is_queued() -> None:
    one = made()
    row = Experiment.objects.get(pk=one["id"])
    assert (row.state, row.runs, row.text) == ("queued", 16, TEXT) and row.core_s > 0
    assert row.token_hash == hash_of(one["token"])
    [queued] = DBTaskResult.objects.all()
    assert queued.queue_name == "engine" and row.engine, "a small one needs no Spark"
    assert queued.task_path == "labsite.tasks.make_next"
    assert queued.args_kwargs["args"] == ["experiments", "engine"]
    page = Client().get(one["url"])
    assert (
        page.status_code == 200 and b"Queued." in page.content and one["token"].encode() not in page.content
    )


def test_a_text_with_problems_is_not_stored_and_all_are_listed() -> None:
    answer = post("/experiments/", yaml="scenario: nowhere\nphases: -1\n")
    assert answer.status_code == 400 and len(answer.json()["problems"]) == 2
    assert not Experiment.objects.exists() and not DBTaskResult.objects.exists()
    assert post("/experiments/").json()["code"] == "bad-field"


def test_other_sites_and_other_visitors_are_refused() -> None:
    one = made()
    foreign = Client().post(
        "/experiments/",
        "{}",
        content_type="application/json",
        headers={"Origin": "https://elsewhere.example"},
    )
    assert (foreign.status_code, foreign.json()["code"]) == (403, "foreign-origin")
    for act in ("cancel", "again", "delete"):
        for token in (None, "wrong", 5):
            answer = post(f"{one['url']}{act}/", token=token)
            assert (answer.status_code, answer.json()["code"]) == (403, "not-owner")
        assert post(f"/experiments/nosuch/{act}/", token=one["token"]).status_code == 404
        assert Client().get(f"{one['url']}{act}/").status_code == 405
    run = Client().post(f"{one['url']}runs/0/", headers={"Origin": "https://elsewhere.example"})
    assert run.status_code == 403 and not Lab.objects.exists()
    assert status(one)["state"] == "queued"


def test_experiments_of_an_address_at_once_and_in_all_are_limited(monkeypatch: Any) -> None:
    monkeypatch.setattr(Experiment, "WAITING_OF_CLIENT", 2)
    monkeypatch.setattr(Experiment, "KEPT_OF_CLIENT", 3)
    token = clients.client.set("192.0.2.7")
    try:
        for number in range(2):
            made(f"{TEXT}name: n{number}\n")
        assert "queued or running already" in post("/experiments/", yaml=TEXT).json()["error"]
        with pytest.raises(Refused, match="queued or running already"):
            check_waiting(Experiment)
        Experiment.objects.update(state="done")
        made()
        refused = post("/experiments/", yaml=TEXT).json()
        assert refused["error"] == "3 experiments from your address are kept."
    finally:
        clients.client.reset(token)
    monkeypatch.setattr(Experiment, "KEPT", 3)
    assert post("/experiments/", yaml=TEXT).json()["code"] == "full"


def test_addresses_take_turns() -> None:
    rows = [Experiment.objects.get(pk=made(f"{TEXT}name: n{number}\n")["id"]) for number in range(3)]
    for row, client in zip(rows, ("a", "a", "b")):
        Experiment.objects.filter(pk=row.pk).update(client=client)
    assert Experiment.next_in_turn("engine") == (rows[0].pk, 1)
    Experiment.objects.filter(pk=rows[0].pk).update(state="done", worker_seen_at=timezone.now())
    assert Experiment.next_in_turn("engine") == (rows[2].pk, 1)


def test_a_queued_experiment_is_cancelled_at_once_a_running_one_by_its_worker() -> None:
    one = made()
    assert post(f"{one['url']}cancel/", token=one["token"]).json()["state"] == "cancelled"
    assert Experiment.next_in_turn("engine") is None
    change(one, state="running", cancel_wanted=False, worker_seen_at=timezone.now(), runs_finished=4)
    found = post(f"{one['url']}cancel/", token=one["token"]).json()
    assert (found["state"], found["words"]) == ("running", "Being cancelled: 4 of 16 runs finished.")


def test_a_dead_worker_is_noticed_and_another_attempt_continues() -> None:
    one = made()
    long_ago = timezone.now() - timedelta(seconds=60)
    row = change(one, state="running", worker_seen_at=long_ago, runs_finished=8, left_s=4.0)
    found = status(one)
    assert (found["state"], found["error"], found["finished"]) == ("failed", Experiment.SILENT, 8)
    assert "only the missing runs" in found["hint"]
    assert post(f"{one['url']}again/", token=one["token"]).json()["state"] == "queued"
    assert DBTaskResult.objects.count() == 2
    assert not row.record_progress({"runs_finished": 9}), "the worker that was given up may not write"
    assert status(one)["words"] == "Queued, 8 of 16 runs finished."
    assert post(f"{one['url']}again/", token=one["token"]).status_code == 409


def test_progress_is_in_words_and_results_are_sent_once() -> None:
    one = made()
    row = change(one, state="running", worker_seen_at=timezone.now(), message="running the first runs")
    assert status(one)["words"] == "Running the first runs."
    row.record_progress({"runs_finished": 5, "runs_failed": 1, "left_s": 130.0, "results": {"runs": 5}})
    assert status(one)["words"] == "5 of 16 runs finished, 1 of them failed, about 2 min left."
    assert status(one)["results"] == {"runs": 5}
    address = f"{one['url']}status.json?have="
    assert "results" not in Client().get(f"{address}5").json()
    for other in ("4", "", "x", "9" * 50):
        assert "results" in Client().get(address + other).json()


def test_only_an_ended_experiment_is_deleted_with_its_files() -> None:
    one = made()
    row = Experiment.objects.get(pk=one["id"])
    (row.folder / "runs").mkdir(parents=True)
    assert post(f"{one['url']}delete/", token=one["token"]).status_code == 409
    change(one, state="done")
    assert post(f"{one['url']}delete/", token=one["token"]).json() == {}
    assert not row.folder.exists() and Client().get(one["url"]).status_code == 404
    assert Client().get(f"{one['url']}status.json").status_code == 404


def test_the_own_experiments_are_listed_by_their_tokens() -> None:
    one, other = made(), made(f"{TEXT}title: other\n")
    asked = [{"id": one["id"], "token": "wrong"}, {"id": other["id"], "token": other["token"]}]
    found = post("/experiments/mine/", experiments=asked).json()
    assert [row["title"] for row in found["tasks"]] == ["other"] and found["gone"] == [one["id"]]
    for bad in (None, [1], [{}] * 501):
        assert post("/experiments/mine/", experiments=bad).status_code == 400


def test_files_are_served_when_they_are_complete_and_only_those_of_the_table() -> None:
    one = made()
    row = Experiment.objects.get(pk=one["id"])
    assert Client().get(f"{one['url']}download/yaml/").content.decode() == TEXT
    assert Client().get(f"{one['url']}download/html/").status_code == 404
    row.folder.mkdir(parents=True)
    (row.folder / "sweep.html").write_text("<p>report</p>")
    assert status(one)["files"] is True
    shown = Client().get(f"{one['url']}document/")
    assert b"".join(shown.streaming_content) == b"<p>report</p>"
    assert "default-src 'none'" in shown.headers["Content-Security-Policy"]
    assert Client().get(f"{one['url']}download/lock/").status_code == 404


def test_a_run_is_opened_as_a_lab_at_its_first_fault_with_the_figures_of_the_experiment() -> None:
    one = made()
    experiment = read_experiment_text(TEXT)
    rows = [row for batch in batches(experiment) for row in run_batch(experiment, batch)]
    number = 13
    page = Client().get(f"{one['url']}runs/{number}/")
    assert page.status_code == 200 and b"seed 8" in page.content and not Lab.objects.exists()
    answer = Client().post(f"{one['url']}runs/{number}/")
    assert answer.status_code == 302 and "#token=" in answer.headers["Location"]
    lab = Lab.objects.get()
    scenario = load_scenario_text(lab.scenario_text)
    assert lab.seed == 8 and lab.position_us == first_fault_us(scenario) > 0
    world = World.from_scenario(scenario)
    world.run(scenario.until_us)
    assert sum(one["duplicates"] for one in world.failovers()) == rows[number]["duplicates"]
    Client().post(f"{one['url']}runs/{number}/?at_us=1234567")
    assert Lab.objects.order_by("created_at").last().position_us == 1_234_567


def test_an_unknown_run_is_refused() -> None:
    one = made()
    for number in ("16", "-1", "x", "9" * 40):
        answer = Client().get(f"{one['url']}runs/{number}/")
        assert (answer.status_code, answer.json()["code"]) == (404, "not-found")
    assert Client().get(f"{one['url']}runs/3/?at_us=soon").status_code == 400
    assert Client().get("/experiments/nosuch/runs/1/").status_code == 404


def test_the_page_offers_the_text_of_another_experiment_to_change() -> None:
    one = made()
    page = Client().get(f"/experiments/?from={one['id']}").content.decode()
    assert "seeds: [3, 8]" in page
    assert '<a href="/experiments/" aria-current="page">Experiments</a>' in page
    assert (
        "My set-up</option>" in page and 'value="region-down"' in page and 'value="two-regions"' not in page
    )


def test_old_experiments_are_cleaned_with_their_files(tmp_path: Any) -> None:
    old, fresh, running = made(), made(f"{TEXT}name: b\n"), made(f"{TEXT}name: c\n")
    for one in (old, fresh, running):
        (tmp_path / "experiments" / one["id"]).mkdir(parents=True)
    long_ago = timezone.now() - timedelta(days=100)
    change(old, state="done", created_at=long_ago)
    change(fresh, state="done")
    change(running, state="running", created_at=long_ago)
    assert "1 experiments" in output_of_clean("--dry-run") and Experiment.objects.count() == 3
    assert "1 experiments" in output_of_clean()
    assert {path.name for path in (tmp_path / "experiments").iterdir()} == {fresh["id"], running["id"]}


@pytest.mark.django_db(transaction=True)
def test_a_small_experiment_is_run_and_reported_without_spark(settings: Any) -> None:
    settings.ENGINE_PROCESSES = 1
    engine_worker.pool.cache_clear()
    one = made()
    try:
        assert engine_worker.EngineAttempt.run(*Experiment.next_in_turn("engine")) == "done"
    finally:
        engine_worker.pool().stop()
        engine_worker.pool.cache_clear()
    found = status(one)
    assert (found["finished"], found["failed"], found["files"], found["words"]) == (
        16,
        0,
        True,
        "Finished: 16 runs.",
    )
    experiment = read_experiment_text(TEXT)
    expected = {row["run"]: row for batch in batches(experiment) for row in run_batch(experiment, batch)}
    assert [row["run"] for row in found["results"]["rows"][:4]] == [0, 1, 2, 3], "seed by seed"
    for row in found["results"]["rows"]:
        assert row["duplicates"] == expected[row["run"]]["duplicates"]
    assert (Experiment.objects.get(pk=one["id"]).folder / "runs.parquet").is_file()
