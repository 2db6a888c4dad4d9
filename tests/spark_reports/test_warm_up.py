"""The worker's session is started and used before its first report, where that helps."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.utils import timezone

from labsite.management.commands import db_worker as warm_up
from simulator import load_scenario
from simulator.protocols.table import PROTOCOLS
from spark_reports import session
from visualizer.labs.definitions import new_lab
from visualizer.tasks.models import Experiment, Report

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The sessions that were opened; each attempt fails as without Java."""
    found: list[dict[str, Any]] = []

    def open_session(**given: Any) -> None:
        found.append(given)
        raise session.JavaMissing("No Java was found.")

    monkeypatch.setattr(session, "open_session", open_session)
    for name in ("SPARK_MASTER", "SPARK_REMOTE"):
        monkeypatch.delenv(name, raising=False)
    return found


def test_its_runs_are_one_of_each_protocol() -> None:
    assert sorted(load_scenario(name).protocol for name in warm_up.SCENARIOS) == sorted(PROTOCOLS)


def test_without_java_the_worker_goes_on(opened: list[dict[str, Any]]) -> None:
    assert not warm_up.warm_up()
    assert opened == [{"settings": session.QUICK}]


def test_nothing_is_started_for_a_cluster_on_request_or_while_a_report_waits(
    opened: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    for name, value in (("SPARK_MASTER", "spark://m:7077"), ("SPARK_REMOTE", "sc://m:15002")):
        with monkeypatch.context() as patch:
            patch.setenv(name, value)
            assert not warm_up.warm_up()
    settings.COLD_WORKER = True
    assert not warm_up.warm_up()
    settings.COLD_WORKER = False
    lab = new_lab({"scenario": "two-regions"}).lab
    Report.objects.create(lab=lab, title="t", scenario_text=lab.scenario_text, seed=1, until_us=1)
    assert not warm_up.warm_up()
    assert opened == []


def experiment(**columns: Any) -> Experiment:
    return Experiment.objects.create(title="e", token_hash="", text="", core_s=1.0, runs=2, **columns)


def test_it_pauses_while_an_answer_is_computed_and_goes_on_afterwards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answer = experiment(engine=True, state="running", worker_seen_at=timezone.now())
    pauses: list[float] = []

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            Experiment.objects.filter(pk=answer.pk).update(state="done")

    monkeypatch.setattr(warm_up, "time", SimpleNamespace(sleep=sleep))  # not for threads of other tests
    warm_up._let_engine_work()
    assert pauses == [warm_up.PAUSE_S] * 3
    experiment(engine=True, state="running", worker_seen_at=timezone.now() - timedelta(seconds=60))
    warm_up._let_engine_work()
    assert len(pauses) == 3, "the worker of that one has died"
    experiment(engine=True)
    assert not warm_up._task_waits(), "a queued answer needs no Spark"
    experiment(engine=True, state="running", worker_seen_at=timezone.now())
    experiment(engine=False)
    warm_up._let_engine_work()
    assert len(pauses) == 3 and warm_up._task_waits(), "a task of this worker ends the pause"


@pytest.mark.slow
def test_a_small_report_is_made_and_nothing_of_it_remains(
    spark: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setattr(session, "open_session", lambda **_: spark)
    monkeypatch.setattr(warm_up.tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(warm_up, "ROUNDS", 1)  # more are the same again
    assert warm_up.warm_up()
    assert list(tmp_path.iterdir()) == []
