"""A site whose PostgreSQL is killed, or whose disk is full: real server processes, real failures."""

from __future__ import annotations

import json
import os
import random
import shutil
import urllib.error
import urllib.request
from typing import Any

import psycopg
import pytest

from simulator import World, load_scenario_text
from tests.visualizer.faults import PostgresServer, full_disk
from tests.visualizer.pages import PATIENCE_S, SCENARIO
from tests.visualizer.site import Site, SitePage

LONG = SCENARIO.replace("until: 8s", "until: 600s").replace("count: 300", "count: 30000")
CUT, CRASH = {"do": "link.cut", "link": "a -> b"}, {"do": "cluster.crash", "cluster": "b"}


@pytest.fixture
def postgres():
    server = PostgresServer()
    yield server
    server.remove()


@pytest.fixture
def sites(tmp_path):
    started: list[Site] = []

    def start(**how: Any) -> Site:
        started.append(Site(tmp_path, migrate=not started, **how))
        return started[-1].wait()

    yield start
    for site in started:
        site.stop()
    shutil.rmtree(tmp_path, ignore_errors=True)


def refused(site: Site, path: str) -> tuple[int, str]:
    """Status and body of a response that cannot be given."""
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(f"http://127.0.0.1:{site.port}{path}", timeout=PATIENCE_S)
    return caught.value.code, caught.value.read().decode()


def notice(page: SitePage, over: bool = False) -> str | None:
    return page.until(
        "notice", lambda notice: notice["code"] == "not-saved" and (notice["words"] is None) == over
    )["words"]


def command(page: SitePage, given: dict[str, Any]) -> dict[str, Any]:
    page.send({"type": "command", "id": 1, "command": given})
    return page.until("result")


def is_as_before(site: Site, lab: dict[str, str], commands: list[dict[str, Any]]) -> None:
    """A new process has the acknowledged run, to the byte."""
    inputs = site.get(f"/labs/{lab['id']}/inputs.json")
    assert [
        {name: entry[name] for name in given}
        for entry, given in zip(inputs["commands"], commands, strict=True)
    ] == commands
    scenario = load_scenario_text(LONG)
    assert (
        World.replay(scenario, scenario.seed, inputs["commands"], inputs["until_us"]).digest()
        == inputs["digest"]
    )


def test_a_lab_continues_after_postgres_is_killed_and_restarted(sites, postgres):
    site = sites(database_url=postgres.url)
    lab = site.open_lab(yaml=LONG)
    page = site.page(lab)
    page.frame()
    assert command(page, CUT)["ok"]
    page.send({"type": "play", "speed": 1})
    before = page.frame(lambda frame: frame["at_us"] > 300_000)
    postgres.kill()
    assert notice(page).startswith("Cannot save, retrying")
    page.frame(lambda frame: frame["at_us"] > before["at_us"] + 500_000)
    answer = command(page, CRASH)
    assert answer["code"] == "not-saved"
    for path in (f"/labs/{lab['id']}/", "/reports/nosuchone/status.json"):
        status, body = refused(site, path)
        assert status == 503 and "The database cannot be reached; try again in a few seconds." in body
        assert not any(word in body for word in (str(postgres.port), "127.0.0.1", "psycopg", "Error", "lab@"))
    later = site.page(lab)
    assert notice(later)
    postgres.start()
    assert notice(page, over=True) is None and notice(later, over=True) is None
    assert command(page, CRASH)["ok"], "and with the connections made before it was killed"
    page.send({"type": "pause"})
    stood = page.frame(lambda frame: not frame["playing"])
    site.kill()
    again = sites(database_url=postgres.url)
    back = again.page(lab).until("frame")
    assert 0 < back["at_us"] <= stood["at_us"] and back["view"]["clusters"]["b"]["state"] == "down"
    is_as_before(again, lab, [CUT, CRASH])


def test_a_nul_is_bad_input_on_postgres_and_stops_no_lab(sites, postgres):
    site = sites(database_url=postgres.url)
    lab = site.open_lab(yaml=LONG)
    page = site.page(lab)
    page.frame()
    page.send({"type": "command", "id": 1, "command": {"do": "link.cut", "link": "a\u0000 -> b"}})
    # refused before it is stored, or by the database
    while (answer := page.receive())["type"] not in ("result", "error"):
        pass
    assert not answer.get("ok") and "psycopg" not in json.dumps(answer)
    assert command(page, CUT)["ok"], "the lab goes on"
    is_as_before(site, lab, site.get(f"/labs/{lab['id']}/inputs.json")["commands"][-1:])


def test_a_lab_continues_while_the_disk_is_full_and_is_saved_afterwards(sites):
    site = sites()
    lab = site.open_lab(yaml=LONG)
    page = site.page(lab)
    page.frame()
    assert command(page, CUT)["ok"]
    page.send({"type": "play", "speed": 1})
    with full_disk(site.process.pid):
        before = page.frame()
        assert notice(page).startswith("Cannot save, retrying")
        page.frame(lambda frame: frame["at_us"] > before["at_us"] + 500_000)
        assert command(page, CRASH)["code"] == "not-saved"
    assert notice(page, over=True) is None
    assert command(page, CRASH)["ok"]
    site.kill()
    again = sites()
    assert again.page(lab).until("frame")["view"]["clusters"]["b"]["state"] == "down"
    is_as_before(again, lab, [CUT, CRASH])


@pytest.mark.swarm
@pytest.mark.parametrize("seed", range(int(os.environ.get("FAULT_SEEDS", "1"))))
def test_acknowledged_commands_survive_postgres_ending_connections_and_being_killed_at_random_instants(
    sites, postgres, seed
):
    """As `test_fault_swarm` does with SQLite: an acknowledged command is stored, a refused one is not, and
    the run is the same.
    """
    site, drawn = sites(database_url=postgres.url), random.Random(seed)
    lab = site.open_lab(yaml=LONG)
    page = site.page(lab)
    page.frame()
    acknowledged: list[str] = []

    def give(do: str) -> bool:
        stored = command(page, {"do": do, "link": "a -> b"})["code"] != "not-saved"
        acknowledged.extend([do] if stored else [])
        return stored

    for _ in range(10):
        step = drawn.choice(("give", "give", "seek", "end connections", "end connections", "kill"))
        if step == "give":
            give(drawn.choice(("link.cut", "link.heal")))
        elif step == "seek":
            page.send({"type": "seek", "at_us": drawn.randrange(1_000_000, 8_000_000)})
            page.frame()
        elif step == "end connections":
            postgres.end_connections()
        else:
            postgres.kill()
            page.send({"type": "seek", "at_us": drawn.randrange(1_000_000, 8_000_000)})
            page.frame()
            postgres.start()
    while not give("link.cut"):
        pass
    with psycopg.connect(postgres.url) as database:
        stored = [
            do
            for (do,) in database.execute(
                "SELECT command->>'do' FROM visualizer_labcommand ORDER BY number"
            ).fetchall()
        ]
        assert database.execute("SELECT DISTINCT state FROM visualizer_lab").fetchall() == [("ready",)]
    assert stored == acknowledged
    is_as_before(site, lab, site.get(f"/labs/{lab['id']}/inputs.json")["commands"])
