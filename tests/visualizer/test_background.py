"""Runs beside the labs: one registry, whose studies release their worlds, and one shape of progress."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from django.test import AsyncClient

from simulator.runs import Runs, Slices
from tests.visualizer.pages import FAIL_OVER, Page
from visualizer.labs.background import CHANGED, COMPARED, INEVITABLE, Background
from visualizer.labs.pump import Pump

pytestmark = pytest.mark.django_db(transaction=True)

PROGRESS = {"state": "done", "words": "", "hint": "", "running": ""}


async def finished(address: str) -> dict[str, Any]:
    while True:
        answer = json.loads((await AsyncClient().get(address)).content)
        if answer["state"] != "running":
            return answer
        assert answer.keys() >= {"words", "hint", "running", "done", "of"} and answer["done"] <= answer["of"]
        await asyncio.sleep(0)


async def test_every_answer_about_runs_has_the_same_progress_and_no_world_stays(hub, made):
    page = Page(made.lab.pk, made.token)
    await page.open()
    await page.seek(3_000_000)
    assert (await page.command(**FAIL_OVER))["ok"]
    lab = f"/labs/{made.lab.pk}"
    for address in (
        f"{lab}/what-if.json",
        f"{lab}/inevitable.json?instants=3&reruns=5&periods=1",
        f"{lab}/beside.json?left=branch-0&right=branch-0",
        f"{lab}/compare/columns.json",
    ):
        answer = await finished(address)
        assert {name: answer[name] for name in PROGRESS} == PROGRESS, address
        assert answer["done"] == answer["of"] > 1, address
    studies = list(hub.background._studies.values())
    assert [study.kind for study in studies] == [CHANGED, INEVITABLE, COMPARED, COMPARED]
    assert [study.runs._past for study in studies] == [None] * 4 and hub.background.worlds() == []
    await page.close()


def two_steps(runs: Runs) -> Slices[None]:
    yield None
    yield None


def test_the_studies_of_a_closed_lab_end_and_those_of_others_go_on():
    background = Background(Pump(lambda *_: None))
    mine, other = (
        background.of(CHANGED, "as it was", two_steps, lab_id=name, asker=name) for name in ("mine", "other")
    )
    compared = background.of(COMPARED, "as it was", two_steps)
    assert background.of(CHANGED, "as it was", two_steps, lab_id="mine") is mine
    background.close("mine")
    assert [study.state for study in (mine, other, compared)] == ["cancelled", "running", "running"]
    assert background.find(CHANGED, "as it was", "mine") is None
    assert background.of(CHANGED, "as it was", two_steps, lab_id="other") is other


def test_only_the_newest_studies_of_a_lab_are_kept_and_the_oldest_ends():
    background = Background(Pump(lambda *_: None))
    studies = [
        background.of(CHANGED, str(number), two_steps, lab_id="mine", asker="")
        for number in range(CHANGED.kept + 1)
    ]
    assert [study.state for study in studies] == ["cancelled", *["running"] * CHANGED.kept]
    assert background.of(CHANGED, "1", two_steps, lab_id="mine") is studies[1]
