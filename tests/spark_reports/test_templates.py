"""The report's templates: all shipped, found in the archive, escaping their input."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from jinja2 import UndefinedError
from plotly.offline import get_plotlyjs_version

from script.support.package import ROOT, make_package, package_files
from spark_reports.audit.page import _timeline_figure
from spark_reports.html.charts import chart_json, plotly_script
from spark_reports.html.sections import ENVIRONMENT, render

STYLE = ROOT / "spark_reports" / "html" / "report.css"

FROM_THE_ARCHIVE = """
import sys
sys.path.insert(0, sys.argv[1])
import spark_reports
from spark_reports.html.charts import plotly_script
from spark_reports.html.sections import render
assert "Plotly" in plotly_script()
assert spark_reports.__file__.startswith(sys.argv[1]), spark_reports.__file__
print(render("html/templates/section.html", title="a < b", says="c", body="d"))
"""


def test_every_template_is_in_the_package_and_has_valid_syntax() -> None:
    templates = sorted(path for path in package_files() if path.suffix == ".html")
    assert templates == sorted((ROOT / "spark_reports").rglob("*.html")) and templates
    for path in templates:
        ENVIRONMENT.get_template(path.relative_to(ROOT / "spark_reports").as_posix())


def test_templates_are_read_from_the_archive_that_spark_submit_ships(tmp_path: Path) -> None:
    package = make_package(tmp_path / "failover_lab.zip")
    answer = subprocess.run(
        [sys.executable, "-I", "-c", FROM_THE_ARCHIVE, str(package)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "<h2>a &lt; b</h2>" in answer.stdout, answer.stderr


def test_plain_values_are_escaped_and_a_missing_one_is_an_error() -> None:
    assert "<script>" not in render("html/templates/section.html", title="<script>", says="<script>", body="")
    with pytest.raises(UndefinedError, match="body"):
        render("html/templates/section.html", title="", says="")


def test_the_bundle_is_of_the_plotly_whose_schema_figures_follow() -> None:
    assert f"plotly.js (basic - minified) v{get_plotlyjs_version()}" in plotly_script()[:200]


def test_a_chart_that_the_bundle_cannot_draw_is_refused() -> None:
    assert '"bar"' in chart_json({"data": [{"type": "bar", "y": [1]}, {"y": [2]}], "layout": {}})
    with pytest.raises(
        ValueError, match="heatmap.* is not in plotly-basic.min.js, which draws bar, pie, scatter"
    ):
        chart_json({"data": [{"type": "heatmap", "z": [[1]]}], "layout": {}})


def test_the_time_axis_of_an_audit_has_room_for_two_lines_and_its_spans_stay_on_one() -> None:
    """Plotly writes the date under the time of day; a table's cell "2.77 s" was broken in two."""
    timeline = {"first_us": 1_764_200_000_000_000, "bin_us": 1_000_000}
    figure = _timeline_figure({**timeline, "across_clusters": [1, 2], "within_one_cluster": [0, 1]})
    font_px = figure["layout"]["font"]["size"]
    assert figure["layout"]["margin"]["b"] >= 5 + 2 * 1.3 * font_px + 10
    assert ".partitions td:not(.left) { white-space: nowrap; }" in STYLE.read_text()
