"""Redis dies during playback and restarts empty.

Labs continue where they run, every page gets a notice, nothing is lost.
"""

from __future__ import annotations

import shutil
import time

import pytest

from tests.visualizer.pages import PATIENCE_S, SCENARIO
from tests.visualizer.site import Site, SitePage

LONG = SCENARIO.replace("until: 8s", "until: 600s").replace("count: 300", "count: 30000")


@pytest.fixture
def sites(tmp_path, mortal_redis):
    """Two server processes that share a data folder and a Redis that may die."""
    started = [Site(tmp_path, mortal_redis.url, migrate=number == 0) for number in range(2)]
    yield [site.wait() for site in started]
    for site in started:
        site.stop()
    shutil.rmtree(tmp_path, ignore_errors=True)


def shown_notice(page: SitePage, over: bool = False) -> str | None:
    """The notice shown by the page; waits until it is shown, or until it is over."""
    return page.until(
        "notice", lambda notice: notice["code"] == "processes-apart" and (notice["words"] is None) == over
    )["words"]


def test_labs_continue_when_redis_dies_during_playback_and_restarts(sites, mortal_redis):
    first, second = sites
    lab = first.open_lab(yaml=LONG)
    here = first.page(lab)
    begun = here.frame()  # so it is this process that runs the lab
    there = second.page(lab)
    there.send({"type": "play", "speed": 1})
    there.frame(lambda frame: frame["at_us"] > 1_000_000)

    mortal_redis.kill()
    assert "continues here" in shown_notice(here)
    assert "cannot be shown" in shown_notice(there)
    before = here.frame()
    here.send({"type": "command", "id": 1, "command": {"do": "link.cut", "link": "a -> b"}})
    assert here.until("result")["ok"], "the lab goes on, commands too"
    later = here.frame(lambda frame: frame["at_us"] > before["at_us"] + 2_000_000)
    assert later["epoch"] == begun["epoch"], "it was neither rebuilt nor moved"

    there.send({"type": "command", "id": 2, "command": {"do": "cluster.crash", "cluster": "b"}})
    assert there.until("error")["code"] == "no-redis"
    latecomer = second.page(lab)
    assert "cannot be shown" in shown_notice(latecomer)
    unknown = second.page(second.open_lab(yaml=SCENARIO))
    assert "Nothing is lost" in unknown.until("error")["hint"]

    mortal_redis.start()
    assert shown_notice(here, over=True) is None and shown_notice(there, over=True) is None
    back = there.frame(lambda frame: frame["snapshot"])
    assert back["epoch"] == begun["epoch"] and back["playing"] and back["at_us"] > later["at_us"]
    assert (
        back["view"]["links"]["a -> b"]["state"] == "cut" and back["view"]["clusters"]["b"]["state"] == "up"
    )
    latecomer.frame(lambda frame: frame["snapshot"])
    there.send({"type": "pause"})
    stood = here.frame(lambda frame: not frame["playing"])
    assert there.frame(lambda frame: not frame["playing"])["at_us"] == stood["at_us"]
    assert first.get(f"/labs/{lab['id']}/inputs.json") == second.get(f"/labs/{lab['id']}/inputs.json")
    for page in (here, there, latecomer):
        page.close()


def test_a_process_started_without_redis_reports_it_and_works_when_it_is_back(tmp_path, mortal_redis):
    mortal_redis.kill()
    site = Site(tmp_path, mortal_redis.url).wait()
    try:
        lab = site.open_lab(yaml=SCENARIO)
        assert site.page(lab).until("error")["code"] == "no-redis"
        mortal_redis.start()
        deadline_s = time.monotonic() + PATIENCE_S
        while True:
            page = site.page(lab)
            answer = page.until("welcome") if time.monotonic() > deadline_s else page.receive()
            page.close()
            if answer["type"] == "welcome":
                return
            time.sleep(0.5)
    finally:
        site.stop()
