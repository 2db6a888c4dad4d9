"""The benchmarks' baseline is unchanged, every part can be called, figures have the right form.

Nothing is timed here.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from script.benchmarks import audit, broadcast, sweep
from script.benchmarks import filter as filtering
from script.benchmarks.__main__ import PARTS, main
from script.benchmarks.cursor import RangeList
from script.benchmarks.measure import Figure, conditions_now, percentile
from script.benchmarks.spark import peaks_of_children
from simulator import World, load_scenario_text

OPPONENT = Path(__file__).resolve().parents[1] / "script" / "benchmarks" / "simpy_baseline.py"


def test_the_baseline_is_unchanged():
    """A ratio means nothing when the baseline changes together with the lab."""
    assert (
        hashlib.sha256(OPPONENT.read_bytes()).hexdigest()
        == "621f328172e05ecd9b1ab606eb0f6766421b662630563de9684378cf1ca8bef7"
    )


@pytest.mark.parametrize("part", PARTS)
def test_every_part_can_be_measured(part):
    assert callable(importlib.import_module(f"script.benchmarks.{part}").measure)


def test_the_filter_part_measures(monkeypatch):
    monkeypatch.setattr(filtering, "ENTRIES", 10_000)
    monkeypatch.setattr(filtering, "ASKED", 1_000)
    assert [figure.value > 0 for figure in filtering.measure()] == [True, True]


def test_the_broadcast_part_measures_a_small_one():
    texts = [
        broadcast.scenario(shadows, subscriptions=20, messages=2, plain=plain)
        for shadows, plain in ((0, False), (0, True), (3, False))
    ]
    for text in texts:
        world = World.from_scenario(load_scenario_text(text))
        world.run()
        assert sum(1 for row in world.trace.rows(types=["message.delivered"])) == 40


def test_a_child_that_has_ended_but_was_not_waited_for_has_no_peak_of_memory():
    before = len(peaks_of_children("python"))
    child = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert len(peaks_of_children("python")) == before
    child.wait()


def test_the_audit_part_keeps_its_logs_and_refuses_figures_that_are_not_the_truth(monkeypatch, tmp_path):
    monkeypatch.setattr(audit, "DATA", tmp_path)
    made = audit._logs(tmp_path / "unused", 1000)
    written = (made / "truth.json").stat().st_mtime_ns
    assert audit._logs(tmp_path / "unused", 1000) == made == tmp_path / "1000"
    assert (made / "truth.json").stat().st_mtime_ns == written
    truth = json.loads((made / "truth.json").read_text())["groups"]
    right = {name: sum(one[name] for one in truth) for name in audit.COMPARED}
    assert audit._duckdb(str(made / "logs")).items() >= right.items()
    monkeypatch.setattr(audit, "in_own_process", lambda *_: right)
    assert audit._round(made) == (right, right)
    wrong = {**right, "messages": right["messages"] + 1}
    monkeypatch.setattr(audit, "in_own_process", lambda _, engine, __: wrong if engine == "duckdb" else right)
    with pytest.raises(RuntimeError, match="the duckdb of .* counts"):
        audit._round(made)


def test_the_sweep_part_measures_equal_runs():
    text = sweep.experiment_text(consumers=2, seconds=8, phases=2)
    batch, whole = (sweep.run_once(way, text) for way in ("batch", "whole"))
    assert batch["duplicates"] == whole["duplicates"] and len(batch["duplicates"]) == 2
    assert batch["runs_per_s"] > 0


def test_a_figure_has_value_alternative_and_ratio():
    figure = Figure("engine", "plain", 200_000, "messages/s", "SimPy", 100_000, "at least 2 times", True)
    assert figure.ratio == 2
    assert figure.line() == (
        "engine  plain: 200,000 messages/s; SimPy: 100,000 messages/s; ratio 2; target at least 2 times: met"
    )
    assert figure.as_dict()["ratio"] == 2


def test_percentile_is_one_of_the_values():
    assert percentile([5.0, 1.0, 3.0, 2.0, 4.0], 0.95) == 5.0
    assert percentile([7.0], 0.5) == 7.0


def test_the_cursors_alternative_keeps_ranges():
    ranges = RangeList()
    for index in (1, 5, 3, 2, 9, 4):
        ranges.acknowledge(index)
    assert list(zip(ranges.firsts, ranges.lasts)) == [(1, 5), (9, 9)]


PAGE = """Before.
<!-- figures: filter -->
older figures
<!-- end: filter -->
Between.
<!-- figures: seek -->
kept
<!-- end: seek -->
"""


def test_write_replaces_the_figures_of_the_measured_part_only(tmp_path, monkeypatch):
    figures = [
        Figure("filter", "per entry", 0.5, "us", "a list", 2.0, "at most 1.5 times", False),
        Figure("filter", "entries", 5000, "entries"),
    ]
    monkeypatch.setattr(filtering, "measure", lambda: figures)
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    assert main(["filter", "--write", str(page)]) == 0
    text = page.read_text()
    assert (
        "| per entry | 0.5 us | a list: 2 us | 0.25 | at most 1.5 times: **missed** |\n| entries | "
        "5,000 entries |  |  |  |\n<!-- end: filter -->"
    ) in text
    assert "older figures" not in text and text.startswith(
        "Before.\n<!-- figures: filter -->\nMeasured on 20"
    )
    assert text.endswith("Between.\n<!-- figures: seek -->\nkept\n<!-- end: seek -->\n")


def test_a_part_that_fails_keeps_its_older_figures(tmp_path, monkeypatch):
    def measure():
        yield Figure("filter", "per entry", 0.5, "us")
        raise RuntimeError("the run did not end")

    monkeypatch.setattr(filtering, "measure", measure)
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    assert main(["filter", "--write", str(page)]) == 1
    assert page.read_text() == PAGE


def test_a_document_without_a_place_is_refused_before_anything_is_measured(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(filtering, "measure", lambda: pytest.fail("measured"))
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    with pytest.raises(SystemExit):
        main(["filter", "engine", "--write", str(page)])
    assert "has no place for engine" in capsys.readouterr().err


def test_conditions_name_the_machine_and_its_load():
    assert "Load average before it 1.5; medians of 5." in conditions_now(5, 1.5)
