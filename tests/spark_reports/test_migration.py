"""The report's part about tenants' migrations.

Spark's figures against the engine's own summary and a plain recount, and the texts of the page.
"""

from __future__ import annotations

import pytest

from spark_reports.protocols.pulsar.html import migration as html
from tests.spark_reports.systems import MIGRATION, WITHOUT

pytestmark = pytest.mark.slow


def rows(world, *types, **wanted):
    return [
        row
        for row in world.trace.rows(0, world.seq, types=types)
        if all(row.get(name) == value for name, value in wanted.items())
    ]


@pytest.mark.parametrize("name", MIGRATION)
def test_steps_and_traffic_agree_with_the_engine_and_the_rows(systems, name):
    (one,), world = systems.told[name]["migrations"], systems.worlds[name]
    summary = world.summary()["migrations"][0]
    assert {key: one[key] for key in ("tenant", "from", "to", "strategy")} == {
        key: summary[key] for key in ("tenant", "from", "to", "strategy")
    }
    assert one["ended"] == (summary["state"] if summary["state"] in ("finished", "rolled-back") else None)
    for step, theirs in zip(one["steps"], summary["steps"], strict=True):
        if theirs["state"] != "skipped":
            assert [step[key] for key in ("name", "attempts", "started_us", "finished_us")] == [
                theirs[key] for key in ("name", "attempts", "started_us", "finished_us")
            ]
    for way, source in (("there", "blue"), ("back", "green")):
        assert one["crossed"][way]["messages"] == len(rows(world, "message.replicated", cluster=source))
        sent = rows(world, "acknowledgements.sent", cluster=source)
        assert (one["crossed"][way]["requests"], one["crossed"][way]["request_bytes"]) == (
            len(sent),
            sum(row["size_bytes"] for row in sent),
        )
    begun = rows(world, "migration.started")[0]["seq"]
    assert one["lookups"]["answered"] == len(
        [row for row in rows(world, "lookup.answered") if row["seq"] > begun]
    )


def test_the_page_describes_what_stopped_a_step_and_the_cost_of_the_switch(systems):
    runs, page = systems.told, systems.page(MIGRATION)
    assert (
        "the link blue -&gt; green is cut: green has received acknowledgements of 0 of 1 subscriptions"
        in page
    )
    assert runs["tenant-link-fails"]["migrations"][0]["steps"][2]["failures"][0]["at_us"] == 1_800_000
    assert page.count(": effect on subscriptions</h2>") == 4
    assert (
        runs[WITHOUT]["migrations"] == []
        and html.sections(runs[WITHOUT]) == ""
        and html.sentence(runs[WITHOUT]) is None
    )
