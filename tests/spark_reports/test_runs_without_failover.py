"""The report's texts on runs without a failover.

Alone, several, many, and beside runs that failed over.
"""

from __future__ import annotations

import re

from spark_reports.html.page import page
from tests.spark_reports.systems import CREATION, LATENCY, SHADOWS, WITHOUT


def titles(text):
    return re.findall(r"<h1[^>]*>(.*?)</h1>", text)


def test_each_of_several_runs_has_a_sentence(systems):
    text = systems.page(CREATION)
    assert titles(text)[0] == "5 runs, none with a failover." and "<title>5 runs · " in text
    assert len(titles(text)) == 6 and all(
        text.count(f">{sentence}<") == 2 for sentence in titles(text)[1:]
    ), "in the table, and over its own part"
    assert 'us does not replicate orders to eu: <span class="harm">70 messages are waiting</span>.' in titles(
        text
    )
    assert "markers took <b>" in titles(text)[-1], "a run about none of the systems says what it cost"


def test_beside_runs_that_failed_over_no_run_is_omitted(systems):
    moves = systems.told["tenant-moves"]["failovers"]
    text = systems.page(("tenant-moves", "shadow-retention-loss", "starved-subscription"))
    assert titles(text)[0].startswith(f"{len(moves)} failover") and "<h2>Runs without a failover</h2>" in text
    assert any('lost <span class="harm">53 messages</span>' in sentence for sentence in titles(text))
    assert any(
        "the slowest of 4 subscriptions, received messages <b>295 ms</b> after publishing on average"
        in sentence
        for sentence in titles(text)
    )
    assert text.count("<article") == len(moves) + 3


def test_every_chart_has_its_figure_and_every_figure_its_chart(systems):
    for names in (CREATION, ("tenant-moves", *SHADOWS), LATENCY):
        text = systems.page(names)
        drawn = set(re.findall(r'data-chart="([a-z0-9-]+)"', text))
        assert drawn == set(re.findall(r'<script type="application/json" id="([a-z0-9-]+)"', text)), names


def test_of_many_runs_only_the_first_are_described_in_full(systems):
    text = systems.page((*CREATION, *SHADOWS, *LATENCY))
    assert (
        "The first 8 are described in full below." in text
        and text.count("<article") == 8
        and titles(text)[0].startswith("12 runs")
    )
    assert systems.told[WITHOUT]["scenario"] in text


def test_a_single_run_has_its_sentence_as_the_title(systems):
    text = page({**systems.report, "runs": [systems.told["schema-refused"]]})
    assert (
        titles(text) == ["Every replicator is running at the end, after 1 refusal."]
        and "Every run" not in text
    )
    assert f"<title>{systems.told['schema-refused']['title']} · " in text
