"""Real server processes: a killed one loses nothing, two that share Redis show the same lab."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from simulator import World, load_scenario_text
from tests.visualizer.pages import SCENARIO
from tests.visualizer.site import Site
from visualizer.labs.hub import TICK_S

LONG = SCENARIO.replace("until: 8s", "until: 600s").replace("count: 300", "count: 30000")


@pytest.fixture
def sites(tmp_path):
    """Starts sites that share a data folder; all are ended at the end."""
    started = []

    def start(redis_url: str = "", count: int = 1) -> list[Site]:
        fresh = [Site(tmp_path, redis_url, migrate=not started and number == 0) for number in range(count)]
        started.extend(fresh)
        return [site.wait() for site in fresh]

    yield start
    for site in started:
        site.stop()
    shutil.rmtree(tmp_path, ignore_errors=True)


def test_a_killed_server_loses_at_most_a_second_of_play_and_keeps_the_digest(sites):
    (site,) = sites()
    lab = site.open_lab(yaml=LONG)
    page = site.page(lab)
    page.frame()
    page.send({"type": "play", "speed": 1})
    page.frame(lambda frame: frame["at_us"] > 1_500_000)
    page.send({"type": "command", "id": 1, "command": {"do": "link.cut", "link": "a -> b"}})
    assert page.until("result")["ok"]
    begun_us = page.frame(lambda frame: frame["at_us"] > 2_000_000)["at_us"]
    stored = {site.stored_us(lab)}
    while len(stored) < 4:
        page.frame()
        stored.add(site.stored_us(lab))
    assert TICK_S == 1, "so often"
    site.kill()

    kept_us = site.stored_us(lab)
    (again,) = sites()
    back = again.page(lab).frame()
    assert back["playing"] is False and back["at_us"] == kept_us >= max(stored) > begun_us
    assert back["view"]["links"]["a -> b"]["state"] == "cut"
    inputs = again.get(f"/labs/{lab['id']}/inputs.json")
    assert inputs["until_us"] == back["at_us"] and len(inputs["commands"]) == 1
    scenario = load_scenario_text(LONG)
    assert (
        World.replay(scenario, scenario.seed, inputs["commands"], inputs["until_us"]).digest()
        == inputs["digest"]
    )


def test_branches_survive_a_restart(sites):
    (site,) = sites()
    lab = site.open_lab(yaml=SCENARIO)
    page = site.page(lab)
    for message in (
        {"type": "seek", "at_us": 5_000_000},
        {"type": "seek", "at_us": 2_000_000},
        {"type": "command", "id": 1, "command": {"do": "cluster.crash", "cluster": "a"}},
        {"type": "seek", "at_us": 3_000_000},
        {"type": "branch", "number": 0},
        {"type": "seek", "at_us": 4_000_000},
        {"type": "command", "id": 2, "command": {"do": "link.cut", "link": "b -> a"}},
    ):
        page.send(message)
        if message["type"] == "seek":  # a newer seek would replace it
            page.frame(lambda frame: frame["at_us"] == message["at_us"])
    page.until("result", lambda result: result["id"] == 2)
    page.send({"type": "seek", "at_us": 4_500_000})
    before = page.frame(lambda frame: frame["at_us"] == 4_500_000)
    digest = site.get(f"/labs/{lab['id']}/inputs.json")["digest"]
    while site.stored_us(lab) != 4_500_000:  # within a second
        time.sleep(0.05)
    site.kill()

    (again,) = sites()
    after = again.page(lab).frame()
    assert (after["at_us"], after["branch"], len(after["branches"])) == (4_500_000, 2, 3)
    assert [branch["parent"] for branch in after["branches"]] == [None, 0, 0]
    assert after["view"] == before["view"]
    assert again.get(f"/labs/{lab['id']}/inputs.json")["digest"] == digest


def test_two_server_processes_show_the_same_lab_and_either_takes_commands(sites, redis_url):
    first, second = sites(redis_url, 2)
    lab = first.open_lab(yaml=LONG)
    here, there = first.page(lab), second.page(lab)
    assert here.frame()["snapshot"] and there.frame()["snapshot"]
    there.send({"type": "play", "speed": 2})
    mine, theirs = _frames_of_both(here, there, 20)
    shared = mine.keys() & theirs.keys()
    assert here.viewers == there.viewers == 2
    assert len(shared) > 10 and all(mine[key] == theirs[key] for key in shared)
    assert _without_holes(mine) and _without_holes(theirs)
    there.send({"type": "command", "id": "x", "command": {"do": "cluster.crash", "cluster": "b"}})
    assert there.until("result")["ok"] is True
    here.frame(lambda frame: frame["view"]["clusters"]["b"]["state"] == "down")
    there.send({"type": "command", "id": "y", "command": {"do": "cluster.crash", "cluster": "b"}})
    assert there.until("result")["ok"] is False
    there.send({"type": "pause"})
    there.frame(lambda frame: not frame["playing"])
    for path in (
        "summary.json",
        "inputs.json",
        "rows.json?control=1&limit=20",
        "admin/stats/a/orders.json",
        "row/5.json",
    ):
        assert first.get(f"/labs/{lab['id']}/{path}") == second.get(f"/labs/{lab['id']}/{path}")


def _frames_of_both(here, there, count: int) -> list[dict[tuple[int, int], dict]]:
    """So many frames of each that follow their snapshots, read in turn: a page that is not read falls
    behind.
    """
    frames = [{}, {}]
    while min(len(each) for each in frames) < count:
        for page, each in zip((here, there), frames):
            frame = page.frame()
            if not frame["snapshot"]:
                each[frame["epoch"], frame["number"]] = frame
    return frames


def _without_holes(frames: dict[tuple[int, int], dict]) -> bool:
    numbers = [number for _, number in frames]
    return numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def test_when_the_process_that_runs_a_lab_dies_the_other_takes_it_over(sites, redis_url):
    first, second = sites(redis_url, 2)
    lab = first.open_lab(yaml=LONG)
    owner = first.page(lab)
    owner.frame()  # so it is this process that runs the lab
    watcher = second.page(lab)
    owner.send({"type": "play", "speed": 1})
    watcher.frame(lambda frame: frame["at_us"] > 1_200_000)
    first.kill()
    taken = watcher.frame(lambda frame: frame["snapshot"] and not frame["playing"])
    assert taken["at_us"] > 0
    heir = second.page(lab)
    heir.send({"type": "play"})
    watcher.frame(lambda frame: frame["at_us"] > taken["at_us"])


def test_the_web_process_never_loads_spark(sites, tmp_path):
    (site,) = sites()
    lab = site.open_lab(yaml=SCENARIO)
    site.page(lab).frame()
    site.get(f"/labs/{lab['id']}/summary.json")
    maps = Path(f"/proc/{site.process.pid}/maps").read_text(encoding="utf-8")
    assert "py4j" not in maps and "pyspark" not in maps


def test_a_lab_deleted_in_one_process_is_deleted_in_the_other(sites, redis_url):
    runs, shows = sites(redis_url, count=2)
    lab = runs.open_lab(yaml=SCENARIO)
    owner, viewer = runs.page(lab), shows.page(lab, owner=False)
    owner.frame()
    viewer.frame()
    shows.post(f"/labs/{lab['id']}/delete/", token=lab["token"])
    for page in (owner, viewer):
        assert "deleted by its owner" in page.until("bye")["reason"]
        page.close()


def test_a_presentation_is_seen_in_both_processes_and_outlives_the_presenters(sites, redis_url):
    runs, shows = sites(redis_url, count=2)
    lab = runs.open_lab(yaml=SCENARIO)
    here = runs.page(lab, owner=False)
    here.frame()  # so it is this process that runs the lab
    code = shows.post(f"/labs/{lab['id']}/present/", token=lab["token"])["code"]
    presenter, there = shows.page(lab), shows.page(lab, owner=False)
    shown = {"panel": "time", "lit": {"seq": 5}, "tour": {"step": 2, "asks": False}}
    presenter.send({"type": "present", "by": "teacher", "shown": shown})
    for page in (here, there, presenter):
        seen = page.until("presentation", lambda one: one["by"] and one["here"] and one["followers"] == 2)
        assert (seen["code"], seen["by"], seen["shown"]) == (code, "teacher", shown)
    presenter.send({"type": "present", "by": "teacher", "shown": {"tour": {"step": 2, "asks": True}}})
    here.until("presentation", lambda one: one["predictions"])
    for page, name in ((here, "a" * 12), (there, "b" * 12)):
        page.send({"type": "predict", "by": name, "step": 2, "guess": "7"})
    presenter.until("presentation", lambda one: one["predictions"]["answers"] == 2)
    presenter.send(
        {"type": "present", "by": "teacher", "shown": shown | {"tour": {**shown["tour"], "reveals": 2}}}
    )
    for page in (here, there, presenter):
        seen = page.until("presentation", lambda one: one["predictions"]["counts"])
        assert seen["predictions"]["counts"] == [["7", 2]]
    there.send({"type": "present", "by": "pupil", "shown": {}})
    assert there.until("error")["code"] == "not-owner"

    shows.kill()
    # which is noticed first depends on whether that process could still report its presenter's page
    here.until("presentation", lambda one: not one["here"] and one["followers"] == 1)
    back = runs.page(lab)
    back.send({"type": "present", "by": "teacher", "shown": shown})
    assert here.until("presentation", lambda one: one["by"] and one["here"])["shown"] == shown
    runs.post(f"/labs/{lab['id']}/present/end/", token=lab["token"])
    assert here.until("presentation", lambda one: one["code"] is None)


def test_what_is_presented_outlives_the_process_that_runs_the_lab(sites, redis_url):
    runs, shows = sites(redis_url, count=2)
    lab = runs.open_lab(yaml=SCENARIO)
    runs.page(lab).frame()
    runs.post(f"/labs/{lab['id']}/present/", token=lab["token"])
    presenter, follower = shows.page(lab), shows.page(lab, owner=False)
    presenter.send({"type": "present", "by": "teacher", "shown": {"panel": "time"}})
    follower.until("presentation", lambda one: one["by"] == "teacher")
    runs.kill()
    taken = follower.frame(lambda frame: frame["snapshot"] and frame["epoch"] >= 2_000_000)
    assert taken["playing"] is False
    presenter.send({"type": "seek", "at_us": 1_000_000})
    follower.frame(lambda frame: frame["at_us"] == 1_000_000)
    late = shows.page(lab, owner=False)
    seen = late.until("presentation", lambda one: one["by"] and one["here"] and one["followers"] == 2)
    assert seen["shown"] == {"panel": "time"}


def test_objects_loaded_at_the_start_are_excluded_from_garbage_collection():
    """120,000 objects: 90 ms each time, in which no lab would run."""
    code = "import gc, labsite.asgi; print(gc.get_freeze_count(), len(gc.get_objects()))"
    frozen, watched = map(
        int,
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.split(),
    )
    assert frozen > 50_000 and watched < frozen / 10
