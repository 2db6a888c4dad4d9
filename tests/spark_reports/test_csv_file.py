"""CSV that a spreadsheet shows instead of computing it."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_reports.csv_file import FORMULA_STARTS, safe_cell, write_csv
from spark_reports.publish import CSV, write_small

GROUP = {
    "number": 0,
    "name": "@group",
    "filter": '=HYPERLINK("http://elsewhere")',
    "duplicates": 7,
    "redeliveries": 0,
    "lost": -1,
    "state": "+1",
    "by_cause": {"=cause": 3},
    "handover_us": {"-a": 5},
}


def written(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_a_group_filter_that_is_a_formula_is_written_as_text(tmp_path, monkeypatch):
    monkeypatch.setattr("spark_reports.publish.page", lambda report: "")
    write_small(
        {
            "runs": [
                {
                    "run": 1,
                    "scenario": "-s",
                    "seed": 5,
                    "protocol": "emqx",
                    "failovers": [],
                    "groups": [GROUP],
                }
            ]
        },
        tmp_path,
    )
    (row,) = written(tmp_path / CSV)
    assert (
        row["filter"] == '\'=HYPERLINK("http://elsewhere")'
        and row["group"] == "'@group"
        and row["scenario"] == "'-s"
        and row["state"] == "'+1"
    )
    assert (row["duplicates"], row["lost"], row["seed"]) == ("7", "-1", "5"), "numbers stay numbers"
    assert not [name for name in row if name.startswith(FORMULA_STARTS)]


@pytest.mark.parametrize("start", FORMULA_STARTS)
def test_each_start_of_a_formula_gets_an_apostrophe(start):
    assert safe_cell(f"{start}1") == f"'{start}1" and safe_cell(f"1{start}") == f"1{start}"
    assert safe_cell(-1) == -1 and safe_cell(None) is None and safe_cell(-0.5) == -0.5


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from("abc"),
            st.integers()
            | st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\0"))
            | st.none(),
        ),
        min_size=1,
    )
)
def test_no_cell_of_any_row_starts_as_a_formula(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("csv") / "file.csv"
    write_csv(path, ["a", "b", "=c"], rows)
    with path.open(newline="") as file:
        lines = list(csv.reader(file))
    assert len(lines) == 1 + len(rows) and lines[0] == ["a", "b", "'=c"]
    for row, line in zip(rows, lines[1:], strict=True):
        for name, cell in zip("ab", line, strict=False):
            value = row.get(name)
            assert not cell.startswith(FORMULA_STARTS) or isinstance(value, int)
            assert cell.removeprefix("'") == ("" if value is None else str(value)).removeprefix("'")


def test_csv_is_written_in_one_module_only():
    root = Path(__file__).resolve().parents[2]
    found = [
        path.relative_to(root).as_posix()
        for room in ("visualizer", "spark_reports", "labsite", "simulator")
        for path in (root / room).rglob("*.py")
        if "csv.writer" in (text := path.read_text()) or "csv.DictWriter" in text
    ]
    assert found == ["spark_reports/csv_file.py"]
