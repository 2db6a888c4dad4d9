"""The report's part about durable shared subscriptions.

Its values against the rows and the simulator's summary, its texts and charts, its downloads.
"""

from __future__ import annotations

import csv
import re

import pyarrow.parquet as parquet
import pytest

from simulator.protocols.emqx.stories import GROUP_CAUSES
from simulator.protocols.emqx.verdicts import group_causes
from spark_reports.protocols.emqx.html import charts as group_charts
from spark_reports.protocols.emqx.html import groups
from spark_reports.protocols.emqx.html import words as group_words
from tests.spark_reports.systems import GROUPS, WITHOUT

pytestmark = pytest.mark.slow


def group_of(systems, name):
    [group] = systems.told[name]["groups"]
    return group


@pytest.mark.parametrize("name", GROUPS)
def test_sessions_and_their_shares_agree_with_the_rows(systems, name):
    group, world = group_of(systems, name), systems.worlds[name]
    summary = world.summary()["groups"][group["name"]]
    assert {key: group[key] for key in summary} == summary
    leases = world.trace.rows(0, world.seq, types=("lease.changed",))
    for stream in group["streams_shown"]:
        granted = [
            (row["client"], row["at_us"])
            for row in leases
            if row["topic"] == stream["stream"] and row["reason"] == "granted"
        ]
        assert [(one["client"], one["at_us"]) for one in stream["readers"]] == granted
        assert sum(until - since for since, until in group_charts.unread(stream)) == stream["unowned_us"]
    assert sum(stream["two_readers_us"] for stream in group["streams_shown"]) == summary["two_readers_us"]
    streams, told = world.view()["groups"][group["name"]]["streams"].values(), group["balance"]
    for client, counts in told["sessions"].items():
        held = [
            reader
            for stream in streams
            for reader, lent in stream["readers"].items()
            if reader.startswith(f"{client}/") and lent["lease"] != "absent"
        ]
        assert counts[-1] == len(held), client
    assert told["unread"][-1] == summary["streams"] - sum(counts[-1] for counts in told["sessions"].values())


@pytest.mark.parametrize("name", GROUPS)
def test_each_cause_has_an_example_whose_rows_exist(systems, name):
    group, world = group_of(systems, name), systems.worlds[name]
    assert {one["cause"]: one["duplicates"] for one in group["causes"]} == {
        cause: count for cause, count in group["by_cause"].items() if count
    }
    counted = world.counted().groups[group["name"]].duplicates_list
    for one in group["causes"]:
        first = min(
            (other for other in counted if other.cause == one["cause"]),
            key=lambda other: other.evidence["delivered"],
        )
        example = one["example"]
        assert (example["seq"], example["ack_seq"], example["decided_seq"]) == (
            first.evidence["delivered"],
            first.evidence["acknowledged"],
            first.evidence["decided"],
        )
        types = [row["type"] for row in one["story"]]
        assert (
            types[:2] == ["message.published", "message.stored"]
            and types.count("message.delivered") == 2
            and one["story"][-1]["seq"] == example["seq"]
        )
        assert {example["ack_seq"], example["decided_seq"]} <= {row["seq"] for row in one["story"]}


def test_the_page_describes_both_groups_and_links_to_instants(systems):
    page = systems.page(GROUPS)
    assert "a dead leader&#39;s claim valid for 15 s instead of 30 s" in page
    what_helps = re.search(
        r"<p[^>]*>[^<]*(?:The setting that helps most|no setting helps).*?</p>", page, re.DOTALL
    )
    assert what_helps is not None and "no link cut or slowed" not in what_helps[0], "is no setting"
    for says in (
        "Every group",
        "Causes of the duplicates",
        "Leases of each stream",
        "Handovers and time without a reader",
        "Streams per session",
        "Two readers at once",
        "Single messages, publish to duplicate",
        "Without a reader",
    ):
        assert says in page, says
    assert (
        page.count("<h2>Leases of each stream</h2>")
        == page.count('id="readers-')
        == page.count('id="balance-')
        == 2
        and page.count("<h2>Two readers at once</h2>") == 1
    )
    assert 'href="/reports/x/replay/?at_us=10000000"' in page and "leader 1 ends" in page
    alone = groups.headline(systems.told[GROUPS[1]], group_of(systems, GROUPS[1]), True)
    assert (
        "meters got" in alone
        and "messages twice</span>" in alone
        and "its stream had no reader for" in alone
        and "Its leader changed once." in alone
    )
    assert systems.told[WITHOUT]["groups"] == []


def test_names_given_by_users_are_escaped(systems):
    group = {**group_of(systems, GROUPS[0]), "name": "<script>", "filter": "<script>"}
    run = {**systems.told[GROUPS[0]], "title": "<script>", "groups": [group]}
    (article,) = groups.articles([run], True)
    assert "&lt;script&gt;" in article and "<script>" not in article


def test_the_downloads_contain_the_groups_beside_the_failovers(systems):
    with (systems.folder / "figures.csv").open() as file:
        lines = {line["scenario"]: line for line in csv.DictReader(file) if line["group"]}
    assert sorted(lines) == sorted(GROUPS)
    rows = [
        row
        for row in parquet.read_table(systems.folder / "deliveries.parquet").to_pylist()
        if row["subscription"] == "meters"
    ]
    for name in GROUPS:
        group, mine = (
            group_of(systems, name),
            [row for row in rows if row["run"] == systems.told[name]["run"]],
        )
        assert (
            int(lines[name]["duplicates"])
            == group["duplicates"]
            == sum(row["verdict"] == "duplicate" for row in mine)
        )
        assert len(mine) == group["delivered"] and {
            row["cause"] for row in mine if row["verdict"] == "duplicate"
        } == {one["cause"] for one in group["causes"]}
        assert sum(row["reordered"] for row in mine) == group["reordered"]


def test_every_counted_figure_has_a_text():
    assert list(GROUP_CAUSES) == [name for name, _holds in group_causes.GROUP_CAUSES]
    assert all(term and says.endswith(".") for term, says in group_words.DEFINITIONS)
