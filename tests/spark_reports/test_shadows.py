"""The report's part about shadow topics.

Spark's figures against the engine's own and a plain recount, and the texts of the page.
"""

from __future__ import annotations

from statistics import median

import pytest

from spark_reports.protocols.pulsar.html import shadows as html
from tests.spark_reports.systems import SHADOWS, WITHOUT


def recount(world, shadow, source):
    """Delay of each entry of the source from stored to visible, None for never, by iterating over the
    rows.
    """
    stored = {
        (row["ledger"], row["entry"]): row["at_us"]
        for row in world.trace.rows(types=["message.stored"])
        if row["topic"] == source
    }
    delays = dict.fromkeys(stored)
    for row in world.trace.rows(types=["shadow.added", "shadow.confirmed"]):
        if row["topic"] == shadow:
            at = (
                (row["ledger"], row["entry"])
                if row["type"] == "shadow.added"
                else (row["to_ledger"], row["to_entry"])
            )
            for place, since_us in stored.items():
                if delays[place] is None and place <= at:
                    delays[place] = max(0, row["at_us"] - since_us)
    return delays


@pytest.mark.parametrize("name", SHADOWS)
def test_figures_equal_the_engines_and_a_recount(systems, name):
    run, world = systems.told[name], systems.worlds[name]
    summary = world.summary()["shadows"]
    assert [one["topic"] for one in run["shadows"]["topics"]] == sorted(summary)
    for one in run["shadows"]["topics"]:
        delays = recount(world, one["topic"], one["source"])
        known = [delay for delay in delays.values() if delay is not None]
        assert (one["source"], one["saved_bytes"]) == (
            summary[one["topic"]]["source"],
            summary[one["topic"]]["saved_bytes"],
        )
        assert (one["entries"], one["unseen"]) == (len(delays), len(delays) - len(known)) and one[
            "unseen"
        ] == summary[one["topic"]]["behind_entries"]
        assert (one["median_us"], one["slowest_us"]) == (int(median(known)), max(known))
        assert one["curve"]["entries"][-1] == one["unseen"]
        lost = {
            entry["subscription"]: 0 for entry in run["shadows"]["lost"] if entry["topic"] == one["topic"]
        }
        for entry in run["shadows"]["lost"]:
            lost[entry["subscription"]] += entry["messages"]
        assert {
            key: value for key, value in summary[one["topic"]]["lost_by_subscription"].items() if value
        } == lost


def test_a_run_without_shadows_has_no_such_part(systems):
    assert (
        systems.told[WITHOUT]["shadows"] is None
        and html.sections(systems.told[WITHOUT], "x") == ""
        and html.sentence(systems.told[WITHOUT]) is None is html.saving(systems.told[WITHOUT])
    )


def test_the_summary_sentence_of_a_run_without_a_failover(systems):
    assert '1 shadow topic lost <span class="harm">53 messages</span>' in html.sentence(
        systems.told["shadow-retention-loss"]
    )
    assert 'orders-audit cannot read <span class="harm">30 entries</span> of orders.' in html.sentence(
        systems.told["shadow-explicit-lac"]
    )
    assert "2 shadow topics read every entry of their sources" in html.saving(
        systems.told["shadow-two-audiences"]
    )


def test_the_page_describes_every_run(systems):
    page = systems.page(SHADOWS)
    assert (
        page.count("<h2>Shadow topics</h2>") == 4
        and page.count("<h2>Lost to retention</h2>") == 1
        and page.count('id="shadows-') == 4
    )
    assert "not delivered" in page and "till/2" in page
