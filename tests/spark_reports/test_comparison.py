"""The report's comparison of strategies.

Counted by Spark from its own traces, equal to the simulator's, separate from the run's own figures.
"""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet
import pytest

from simulator.comparison import STRATEGIES
from simulator.headless import compare
from spark_reports.html.page import page
from spark_reports.jobs.failover import FailoverReport
from spark_reports.protocols.pulsar import comparison
from spark_reports.read import find_traces
from tests.spark_reports.conftest import run_scenario, write_run

pytestmark = pytest.mark.slow
NAME = "strategies-delayed-message"


@pytest.fixture(scope="module")
def made(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    """The report of one run, and its folder."""
    folder = tmp_path_factory.mktemp("compared")
    trace = write_run(run_scenario(NAME), folder / "run.parquet")
    report = FailoverReport(spark, [trace], folder / "out").make()
    return report, folder / "out"


def test_spark_counts_of_each_strategy_equal_the_simulators(made: tuple[dict[str, Any], Path]) -> None:
    out = StringIO()
    compare(NAME, out, StringIO(), as_json=True)
    told = made[0]["runs"][0]["comparison"]
    for ours, theirs in zip(told, json.loads(out.getvalue())["comparison"], strict=True):
        assert ours["strategy"] == theirs["strategy"] and ours["trace_sha256"] == theirs["trace_sha256"]
        [mine], [other] = ours["failovers"], theirs["failovers"]
        assert {name: mine[name] for name in other if name != "forecast"} == {
            name: value for name, value in other.items() if name != "forecast"
        }
        assert ours["markers"] == {
            "entries": theirs["costs"]["marker_entries"],
            "bytes": theirs["costs"]["marker_bytes"],
        }
        assert ours["requests"] == {
            "entries": theirs["costs"]["requests"],
            "bytes": theirs["costs"]["request_bytes"],
        }


def test_the_run_itself_is_reported_as_without_a_comparison(made: tuple[dict[str, Any], Path]) -> None:
    report, folder = made
    assert len(report["runs"]) == 1 and report["runs"][0]["failovers"][0]["duplicates"] == 9
    assert list(report["runs"][0]["failovers"][0]["by_cause"]).index("after_last_sync") == 7, (
        "in the order of decision"
    )
    rows = parquet.read_table(folder / "deliveries.parquet")
    assert set(rows.column("run").to_pylist()) == {0}
    assert sum(verdict == "duplicate" for verdict in rows.column("verdict").to_pylist()) == 9
    assert sorted(path.name for path in (folder / comparison.FOLDER).iterdir()) == sorted(
        f"{strategy.name}.parquet" for strategy in STRATEGIES
    )


def test_the_page_has_the_three_columns(made: tuple[dict[str, Any], Path]) -> None:
    report, folder = made
    text = (folder / "report.html").read_text()
    section = text[
        text.index("<h2>Under three strategies</h2>") : text.index("<h2>What would have helped</h2>")
    ]
    assert "Fewest duplicates: <b>Acknowledgement-state sync</b>, 9." in section
    for strategy in STRATEGIES:
        assert f'<th scope="col">{strategy.title}</th>' in section
    assert (
        "Behind an unacked message" in section
        and "Acked after the last sync" in section
        and "Acked after the newest snapshot" in section
    )
    report["runs"][0]["comparison"][1]["failovers"] = []
    assert "no failover" in page(report).split("<h2>Under three strategies</h2>")[1].split("</table>")[0], (
        "a strategy under which the move was refused"
    )
    report["runs"][0]["comparison"][0]["title"] = "<script>"
    assert "<script>" not in page(report).split("<h2>Under three strategies</h2>")[1].split("</table>")[0]


def test_only_a_single_short_run_is_compared_and_only_on_request(tmp_path: Path) -> None:
    one = find_traces([write_run(run_scenario(NAME), tmp_path / "a.parquet")])
    plain = find_traces([write_run(run_scenario("region-down"), tmp_path / "b.parquet")])
    scenarios = [run_scenario(NAME).scenario]
    assert comparison.wanted(one, scenarios, False)
    assert not comparison.wanted(plain, [run_scenario("region-down").scenario], False)
    assert comparison.wanted(plain, [run_scenario("region-down").scenario], True)
    assert not comparison.wanted([*one, *plain], scenarios, True)
