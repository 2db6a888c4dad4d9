"""Questions of a page over HTTP: rows, causes, markers, tiles, summary, statistics."""

from __future__ import annotations

import json

import pytest
from django.test import AsyncClient

from simulator import World, load_scenario_text
from tests.visualizer.pages import SCENARIO, Page
from visualizer.questions.queries import Printouts


async def test_rows_are_returned_in_pages(ask, world):
    status, body = await ask("rows.json?first=10&limit=5")
    assert status == 200
    assert body["rows"] == world.trace.rows(10, 15) and body["next"] == 15
    status, body = await ask("rows.json?first=0&last=100&control=1")
    assert body["rows"] == world.trace.rows(0, 100, control_only=True) and body["next"] is None


async def test_a_row_is_returned_with_its_causes_back_to_the_root(ask, world):
    seq = next(row["seq"] for row in world.trace.rows(types=["update.applied"]))
    _, body = await ask(f"row/{seq}.json")
    assert body["row"] == world.trace.row(seq)
    chain = [body["row"], *body["causes"]]
    assert all(row["cause_seq"] == cause["seq"] for row, cause in zip(chain, chain[1:], strict=False))
    assert "cause_seq" not in chain[-1] and body["more"] is False
    assert body["evidence"]["type"] == "update.written"


async def test_a_marker_is_returned_with_its_bytes_and_its_path(ask, world):
    _, body = await ask("marker/1.json")
    assert body == json.loads(json.dumps(world.marker(1)))


async def test_summary_and_inputs_are_the_engines(ask, world):
    assert (await ask("summary.json"))[1] == json.loads(json.dumps(world.summary()))
    _, inputs = await ask("inputs.json")
    assert inputs["digest"] == world.digest() and inputs["until_us"] == 6_000_000


async def test_statistics_have_pulsar_admins_form(ask):
    _, body = await ask("admin/stats/a/orders.json")
    assert "billing" in json.loads(body["text"])["subscriptions"] and body["notes"]
    _, body = await ask("admin/stats-internal/a/orders.json")
    assert "pulsar.repl.b" in json.loads(body["text"])["cursors"]


def test_an_answer_for_many_viewers_at_one_instant_is_computed_once():
    made = []

    class Counted(World):
        def begin_admin(self, *question):
            made.append(question)
            return super().begin_admin(*question)

    def answer(question):
        work = printouts.ask(world, question)
        while True:
            try:
                next(work)
            except StopIteration as end:
                return end.value

    world, printouts, question = (
        Counted.from_scenario(load_scenario_text(SCENARIO)),
        Printouts(),
        ("stats", "a", "orders"),
    )
    world.run(3_000_000)
    assert answer(question) == answer(question) == world.admin(*question) and len(made) == 2
    world.run(3_500_000)
    assert answer(question)["at_us"] == 3_500_000 and answer(("stats", "b", "orders"))["cluster"] == "b"
    at_first = answer(question)
    assert world.apply({"do": "cluster.crash", "cluster": "b"}).ok
    assert answer(question) != at_first, "a command changes the instant's answer"


async def test_tiles_of_level_0_are_the_cells(ask, world):
    _, tile = await ask("tiles/0/a/orders/0/0.json?version=1")
    cells = world.cells("a", "orders", 0, 512)
    assert tile["kind"] == cells["kind"] and tile["length"] == cells["length"] and tile["full"] is False


@pytest.mark.parametrize("level", [0, 1])
async def test_a_topic_that_does_not_exist_at_this_instant_has_an_empty_tile(ask, level):
    status, tile = await ask(f"tiles/0/a/deleted/{level}/0.json")
    assert (status, tile["length"], tile["full"]) == (200, 0, False)
    _, present = await ask(f"tiles/0/a/orders/{level}/0.json")
    assert tile.keys() == present.keys()


async def test_higher_tiles_count_what_they_cover(ask, world):
    kinds = world.cells("a", "orders", 0, 100_000)["kind"]
    for level in (1, 2, 3):
        _, tile = await ask(f"tiles/0/a/orders/{level}/0.json")
        totals = {int(kind): sum(counts) for kind, counts in tile["counts"].items()}
        assert totals == {kind: kinds.count(kind) for kind in set(kinds)}
        first_cell = {int(kind): counts[0] for kind, counts in tile["counts"].items() if counts[0]}
        covered = kinds[: 4**level]
        assert first_cell == {kind: covered.count(kind) for kind in set(covered)}


async def test_only_full_tiles_may_be_cached(made, monkeypatch):
    monkeypatch.setattr("visualizer.questions.tiles.CELLS", 64)
    page = Page(made.lab.pk, made.token)
    await page.open()
    await page.seek(6_000_000)
    for path, kept in (("0/0", True), ("0/100", False), ("1/0", True), ("2/0", False)):
        answer = await AsyncClient().get(f"/labs/{made.lab.pk}/tiles/0/a/orders/{path}.json")
        assert ("immutable" in answer.headers["Cache-Control"]) is kept, path
    await page.close()


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("row/999999.json", 404, "not-found"),
        ("marker/9999.json", 404, "not-found"),
        ("admin/stats/a/nothing.json", 404, "not-found"),
        ("admin/stats/z/orders.json", 404, "not-found"),
        ("admin/offload/a/orders.json", 404, "not-found"),
        ("tiles/0/z/orders/0/0.json", 404, "not-found"),
        ("tiles/3/a/orders/0/0.json", 409, "other-branch"),
        ("tiles/0/a/orders/99/0.json", 400, "bad-argument"),
        ("rows.json?first=-1", 400, "bad-argument"),
        ("rows.json?limit=1000000", 400, "bad-argument"),
    ],
)
async def test_an_impossible_question_is_refused_with_a_reason(ask, path, status, code):
    answered, body = await ask(path)
    assert (answered, body["code"]) == (status, code)
    assert body["error"] and body["hint"]


async def test_an_unknown_lab_is_404(hub):
    answer = await AsyncClient().get("/labs/nosuchlab/summary.json")
    assert answer.status_code == 404 and json.loads(answer.content)["code"] == "not-found"


async def test_questions_cannot_be_posted(made):
    assert (await AsyncClient().post(f"/labs/{made.lab.pk}/summary.json")).status_code == 405
