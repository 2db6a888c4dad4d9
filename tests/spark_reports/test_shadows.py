"""The report's part about shadow topics: Spark's figures against the engine's own and a plain recount, and the page's words."""

from __future__ import annotations

import json
from statistics import median

import pytest

from spark_reports.html import shadows as html
from tests.spark_reports.conftest import run_scenario, write_run

NAMES = ("shadow-retention-loss", "shadow-two-audiences", "shadow-explicit-lac", "shadow-rollover", "two-regions")


@pytest.fixture(scope="module")
def worlds():
    return {name: run_scenario(name) for name in NAMES}


@pytest.fixture(scope="module")
def told(spark, worlds, tmp_path_factory):
    """One job over all traces: the runs of its report by scenario, and its page."""
    from spark_reports.jobs.failover import FailoverReport

    folder = tmp_path_factory.mktemp("shadows")
    paths = [write_run(world, folder / f"{name}.parquet") for name, world in worlds.items()]
    FailoverReport(spark, paths, folder / "report").make()
    report = json.loads((folder / "report" / "report.json").read_text())
    return {run["scenario"]: run for run in report["runs"]}, (folder / "report" / "report.html").read_text()


def recount(world, shadow, source):
    """Delay of each entry of the source from stored to seen, None for never, by walking the rows."""
    stored = {(row["ledger"], row["entry"]): row["at_us"] for row in world.trace.rows(types=["message.stored"]) if row["topic"] == source}
    delays = dict.fromkeys(stored)
    for row in world.trace.rows(types=["shadow.added", "shadow.confirmed"]):
        if row["topic"] == shadow:
            at = (row["ledger"], row["entry"]) if row["type"] == "shadow.added" else (row["to_ledger"], row["to_entry"])
            for place, since_us in stored.items():
                if delays[place] is None and place <= at:
                    delays[place] = max(0, row["at_us"] - since_us)
    return delays


@pytest.mark.parametrize("name", NAMES[:-1])
def test_figures_are_the_engines_and_a_recounts(told, worlds, name):
    run, world = told[0][name], worlds[name]
    summary = world.summary()["shadows"]
    assert [one["topic"] for one in run["shadows"]["topics"]] == sorted(summary)
    for one in run["shadows"]["topics"]:
        delays = recount(world, one["topic"], one["source"])
        known = [delay for delay in delays.values() if delay is not None]
        assert (one["source"], one["saved_bytes"]) == (summary[one["topic"]]["source"], summary[one["topic"]]["saved_bytes"])
        assert (one["entries"], one["unseen"]) == (len(delays), len(delays) - len(known)) and one["unseen"] == summary[one["topic"]]["behind_entries"]
        assert (one["median_us"], one["slowest_us"]) == (int(median(known)), max(known))
        assert one["curve"]["entries"][-1] == one["unseen"]
        lost = {entry["subscription"]: 0 for entry in run["shadows"]["lost"] if entry["topic"] == one["topic"]}
        for entry in run["shadows"]["lost"]:
            lost[entry["subscription"]] += entry["messages"]
        assert {key: value for key, value in summary[one["topic"]]["lost_by_subscription"].items() if value} == lost


def test_a_run_without_shadows_has_no_such_part(told):
    assert told[0]["two-regions"]["shadows"] is None and html.sections(told[0]["two-regions"], "x") == "" and html.headline(told[0]["two-regions"]) is None


def test_the_sentence_of_a_run_without_a_failover(told):
    assert '1 shadow topic lost <span class="harm">53 messages</span>' in html.headline(told[0]["shadow-retention-loss"])
    assert 'orders-audit never saw <span class="harm">30 entries</span> of orders.' in html.headline(told[0]["shadow-explicit-lac"])
    assert "2 shadow topics saw all that their sources wrote" in html.headline(told[0]["shadow-two-audiences"])


def test_the_page_tells_every_run(told):
    page = told[1]
    assert page.count("<h2>Shadow topics</h2>") == 4 and page.count("<h2>Lost to retention</h2>") == 1 and page.count('id="shadows-') == 4
    assert "never handed out" in page and "till/2" in page
