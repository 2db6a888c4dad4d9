"""The command `fidelity`: figures recounted from the lines, bad input, page, JSON, table, equal bytes.

All pairs here are synthetic (`synthetic_pairs.py`); the repository shows only measured ones.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from statistics import fmean, median
from typing import Any
from urllib.parse import unquote

import pytest

from spark_reports.cli import main
from spark_reports.html.numbers import number
from spark_reports.protocols.pulsar.fidelity.content import cause_name, content_of, figure, percent
from spark_reports.protocols.pulsar.fidelity.page import BEGIN, END, NOT_MEASURED, not_measured_words, table
from spark_reports.protocols.pulsar.fidelity.pairs import PairsError, read_jobs
from spark_reports.protocols.pulsar.fidelity.summary import PAIRS_LISTED, nearest_rank, rounded, summary_of
from spark_reports.student import t_quantile
from tests.oracle import paired_statistics as oracle
from tests.spark_reports.synthetic_pairs import (
    figures,
    measured_content,
    pair,
    write_job,
    write_pairs,
    write_recorded,
)

ROOT = Path(__file__).resolve().parents[2]


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def total(side: dict[str, Any], name: str) -> int:
    return sum(failover[name] for failover in side["failovers"])


def measure(summary: dict[str, Any], key: str, job: int = 0) -> dict[str, Any]:
    return next(one for one in summary["jobs"][job]["measures"] if one["key"] == key)


def compare(folder: Path, out: Path, *more: str) -> int:
    return main(["fidelity", "--input", str(folder), "--out", str(out), *more])


@pytest.mark.parametrize("name", ["duplicates", "redeliveries", "stranded", "lost"])
def test_figures_of_messages_are_sums_over_the_failovers_of_the_lines(tmp_path, name):
    lines = lines_of(write_job(tmp_path, "back-and-forth", 30, failovers=2))
    found = measure(summary_of(read_jobs(tmp_path)), name)
    real = [total(line["real"], name) for line in lines]
    simulated = [total(line["simulated"], name) for line in lines]
    differences = [one - other for one, other in zip(real, simulated)]
    assert found["real"]["mean"] == pytest.approx(fmean(real), rel=1e-5)
    assert found["simulated"]["mean"] == pytest.approx(fmean(simulated), rel=1e-5)
    assert found["difference"] == pytest.approx(oracle.mean(differences), rel=1e-5)
    assert found["equal"] == pytest.approx(differences.count(0) / 30, rel=1e-5)
    assert found["real"]["max"] == max(real)
    assert found["real"]["p50"] == sorted(real)[14]


def test_each_failover_has_a_figure_of_its_own(tmp_path):
    lines = lines_of(write_job(tmp_path, "back-and-forth", 20, failovers=2))
    found = measure(summary_of(read_jobs(tmp_path)), "duplicates_2")
    assert found["real"]["mean"] == pytest.approx(
        fmean(line["real"]["failovers"][1]["duplicates"] for line in lines), rel=1e-5
    )


def test_durations_are_medians_of_runs_and_curves_of_all_snapshots(tmp_path):
    lines = lines_of(write_job(tmp_path, "two", 12))
    found = summary_of(read_jobs(tmp_path))
    pooled = [
        [us / 1000 for one in line["real"]["snapshots"].values() for us in one["durations_us"]]
        for line in lines
    ]
    assert measure(found, "snapshot_ms")["real"]["mean"] == pytest.approx(
        fmean(median(one) for one in pooled), rel=1e-5
    )
    curve = found["jobs"][0]["durations"]["durations_us"]["real"]
    everything = sorted(us for one in pooled for us in one)
    assert curve["count"] == len(everything) == 12 * 18
    assert curve["at"][0][0] == pytest.approx(everything[0]) and curve["at"][-1] == [everything[-1], 1]
    for value, share in curve["at"]:
        assert share == pytest.approx(
            sum(one <= value + 1e-9 for one in everything) / len(everything), abs=1e-5
        )


def test_a_run_without_snapshots_is_left_out_of_their_durations_only(tmp_path):
    lines = lines_of(write_job(tmp_path, "two", 10))
    lines[3]["real"]["snapshots"] = {}
    write_pairs(tmp_path / "two", lines)
    found = summary_of(read_jobs(tmp_path))
    assert measure(found, "snapshot_ms")["pairs"] == 9
    assert measure(found, "duplicates")["pairs"] == 10
    rows = content_of(found)["jobs"][0]["blocks"][0]["rows"]
    assert "snapshot duration, median of a run, ms (9 pairs)" in [row["cells"][0] for row in rows]


def test_a_job_without_a_failover_is_judged_by_repeated_deliveries(tmp_path):
    real = figures([], repeated=3)
    write_pairs(tmp_path / "unload", [pair(run, real, figures([], repeated=2)) for run in range(1, 9)])
    job = summary_of(read_jobs(tmp_path))["jobs"][0]
    assert (job["main"], job["verdict"]) == ("repeated", "different")
    assert measure({"jobs": [job]}, "repeated")["difference"] == 1


def test_violated_checks_are_counted_by_runs(tmp_path):
    claim = "A cursor never moves back."
    write_pairs(
        tmp_path / "job",
        [pair(run, figures([4], violations=[claim] if run < 3 else []), figures([4])) for run in range(6)],
    )
    job = summary_of(read_jobs(tmp_path))["jobs"][0]
    assert job["violations"] == [{"claim": claim, "real": 3, "simulated": 0}]
    assert measure({"jobs": [job]}, "violations")["real"]["mean"] == 0.5


def test_jobs_of_several_folders_are_compared_together(tmp_path):
    write_job(tmp_path / "new", "two", 5)
    write_job(tmp_path / "old", "two", 5, pulsar="4.0.7")
    assert (
        main(
            [
                "fidelity",
                "--input",
                *map(str, (tmp_path / "new", tmp_path / "old")),
                "--out",
                str(tmp_path / "out"),
            ]
        )
        == 0
    )
    summary = json.loads((tmp_path / "out" / "fidelity.json").read_text())["summary"]
    assert summary["versions"] == ["4.0.7", "4.2.4"] and summary["runs"] == 10


def test_the_pairs_that_differ_most_come_first_and_equal_ones_never(tmp_path):
    differences = [0, 3, -7, 1, 0, 7, 2, 0]
    write_pairs(
        tmp_path / "job",
        [pair(run, figures([10 + one]), figures([10])) for run, one in enumerate(differences, 1)],
    )
    found = summary_of(read_jobs(tmp_path))["jobs"][0]["pairs"]
    assert [(one["run"], one["difference"]) for one in found] == [(3, -7), (6, 7), (2, 3), (7, 2), (4, 1)]
    assert len(found) <= PAIRS_LISTED


def test_exchanging_real_and_simulated_reverses_every_difference(tmp_path):
    lines = lines_of(write_job(tmp_path / "a", "two", 40, shift=1))
    for line in lines:
        line["real"], line["simulated"] = line["simulated"], line["real"]
    write_pairs(tmp_path / "b" / "two", lines)
    first, second = (summary_of(read_jobs(tmp_path / name))["jobs"][0]["measures"] for name in "ab")
    for one, other in zip(first, second, strict=True):
        assert one["difference"] == -other["difference"] and one["real"] == other["simulated"]
        assert one["low"] == pytest.approx(-other["high"], rel=1e-4, abs=1e-6)


def test_an_additional_job_changes_no_other_one(tmp_path):
    write_job(tmp_path, "b", 20, shift=1)
    alone = summary_of(read_jobs(tmp_path))["jobs"][0]
    write_job(tmp_path, "a", 20)
    assert summary_of(read_jobs(tmp_path))["jobs"][1] == alone


def test_equal_pairs_give_equal_bytes_in_any_order_of_lines(tmp_path):
    for name in ("one", "two"):
        write_job(tmp_path / name / "in", "job", 25, shift=1)
    path = tmp_path / "two" / "in" / "job" / "pairs.jsonl"
    path.write_text("\n".join(reversed(path.read_text().splitlines())) + "\n")
    for name in ("one", "two"):
        assert compare(tmp_path / name / "in", tmp_path / name / "out") == 0
    for file in ("fidelity.html", "fidelity.json"):
        assert (tmp_path / "one" / "out" / file).read_bytes() == (
            tmp_path / "two" / "out" / file
        ).read_bytes()


def test_page_json_and_table_show_the_same_figures(tmp_path, capsys):
    write_job(tmp_path / "in", "two-regions", 60)
    write_job(tmp_path / "in", "three-regions", 60, shift=2, pulsar="4.0.7")
    document, site = tmp_path / "fidelity.md", tmp_path / "site" / "measured.json"
    document.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    assert compare(tmp_path / "in", tmp_path / "out", "--write", str(document), "--site", str(site)) == 0
    data = json.loads((tmp_path / "out" / "fidelity.json").read_text())
    found = measure(data["summary"], "duplicates", 1)
    html = (tmp_path / "out" / "fidelity.html").read_text()
    text = document.read_text()
    assert text.startswith("before\n") and text.endswith("after\n") and "old" not in text
    assert table(data["summary"]) in text
    for shown in (figure(found["real"]["mean"]), percent(found["equal"])):
        assert shown in html and shown in text
    assert "| three-regions | different | 4.0.7 | 2026-01-02 | same run | duplicates | 60 | – |" in text
    assert "1 of 2 jobs equal, 1 different" in html
    assert json.loads(site.read_text()) == data["content"]
    words = "three-regions with Pulsar 4.0.7: different. The whole interval is more than 0.50 messages away"
    assert words in capsys.readouterr().out


def test_the_page_opens_offline_and_links_to_the_files_of_runs(tmp_path):
    lines = [pair(run, figures([5 + run]), figures([5]), job="<two> & more") for run in (1, 2)]
    path = write_pairs(tmp_path / "in" / "<two> & more", lines)
    run = path.parent / "run-001"
    run.mkdir()
    (run / "real.jsonl").write_text("{}")
    (run / "simulated.jsonl").write_text("{}")
    assert compare(tmp_path / "in", tmp_path / "out") == 0
    html = (tmp_path / "out" / "fidelity.html").read_text()
    without_scripts = re.sub(r"<script.*?</script>", "", html, flags=re.DOTALL)
    links = re.findall(r'href="([^"#][^"]*)"', without_scripts)
    targets = [(tmp_path / "out" / unquote(link)).resolve() for link in links]
    assert targets == [run / "real.jsonl", run / "simulated.jsonl"]
    assert "no files in run-002" in without_scripts
    assert "&lt;two&gt; &amp; more" in without_scripts and "<two>" not in without_scripts
    assert not re.search(r'(?:src|href)="(?:https?:)?//', without_scripts)
    for name in re.findall(r'data-chart="([^"]+)"', html):
        assert f'<script type="application/json" id="{name}">' in html


def test_the_first_listed_pairs_have_scenario_and_digest_of_the_recording(tmp_path):
    content = json.loads(measured_content(tmp_path).read_text())
    (rows,) = [block["rows"] for block in content["jobs"][0]["blocks"] if block["kind"] == "pairs"]
    digest = write_recorded(tmp_path / "again.jsonl", "2026-01-02")
    assert [row.get("recording") for row in rows[:4]] == [digest, digest, digest, None]
    assert all(row["scenario"].startswith("format: 1\nname: three-regions\n") for row in rows[:3])


def broken(line: dict[str, Any], path: str, value: Any = None) -> dict[str, Any]:
    """The line with one field changed, or taken away."""
    found = json.loads(json.dumps(line))
    *parents, last = path.split(".")
    place = found
    for name in parents:
        place = place[int(name) if isinstance(place, list) else name]
    if value is None:
        del place[last]
    else:
        place[last] = value
    return found


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        ("job", None, "line 2: job is missing; the fields there are date, folder, pulsar"),
        ("real.failovers.0.lost", None, "line 2: real.failovers[0].lost is missing"),
        (
            "simulated.snapshots.us-east.durations_us",
            None,
            "simulated.snapshots.us-east.durations_us is missing",
        ),
        ("real.published", -1, "line 2: real.published is -1; a whole number from 0"),
        ("real.published", 1.5, "real.published is float; a whole number from 0 is right"),
        ("real.published", True, "real.published is true or false; a whole number from 0 is right"),
        ("real.markers", [1], "real.markers is a list; an object is right"),
        ("real.failovers", [], "0 failovers are real and 1 simulated"),
        ("folder", "job/..", "folder names no folder; JOB/run-017 is right"),
        ("real.violations", "none", "real.violations is a text; a list is right"),
        ("times", "guessed", "times is 'guessed'; measured or predicted is right"),
        ("times", "predicted", "write predicted runs to a folder of their own"),
        ("load_average", "high", "load_average is a text; a number from 0 is right"),
        ("scenario_sha256", "1", "in one file; the runs of a job play one scenario"),
        ("date", "yesterday", "date is 'yesterday'; the day of the run as YYYY-MM-DD is right"),
        ("date", None, "the line has no date, and there is no"),
        (
            "pulsar",
            "4.0.7",
            "pulsar is '4.0.7' and '4.2.4' in one file; write each version to a folder of its own",
        ),
        ("job", "another", "job is 'another' and 'synthetic' in one file; a file is one job"),
        ("run", 1, "run 1 is there more than once; each run has one line"),
    ],
)
def test_bad_lines_are_refused_with_file_line_and_field(tmp_path, capsys, path, value, says):
    good = [pair(run, figures([4]), figures([4])) for run in (1, 2, 3)]
    file = write_pairs(tmp_path / "in" / "job", [good[0], broken(good[1], path, value), good[2]])
    assert compare(tmp_path / "in", tmp_path / "out") == 2
    error = capsys.readouterr().err
    assert says in error and str(file) in error
    assert not (tmp_path / "out").exists()


def test_a_date_is_read_from_the_recorded_trace_where_the_line_has_none(tmp_path):
    lines = [broken(pair(run, figures([4]), figures([4])), "date") for run in (1, 2)]
    path = write_pairs(tmp_path / "job", lines)
    for line, day in zip(lines, ("2026-03-01T10:00:00Z", "2026-03-02")):
        run = path.parent / Path(line["folder"]).name
        run.mkdir()
        write_recorded(run / "real.jsonl", day)
    (job,) = read_jobs(tmp_path)
    assert (job.first_date, job.last_date) == ("2026-03-01", "2026-03-02")
    (run / "real.jsonl").write_text("{}\n")
    with pytest.raises(PairsError, match=re.escape(str(run / "real.jsonl"))):
        read_jobs(tmp_path)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "has no run; at least 2 are needed"),
        ("\n\n", "has no run; at least 2 are needed"),
        ("{", "line 1: is not JSON"),
        ("[1]", "line 1: the line is a list; an object is right"),
        ('{"run": NaN}', "NaN is not a number"),
    ],
)
def test_an_empty_or_damaged_file_is_refused(tmp_path, text, says):
    (tmp_path / "job").mkdir()
    (tmp_path / "job" / "pairs.jsonl").write_text(text)
    with pytest.raises(PairsError, match=re.escape(says)):
        read_jobs(tmp_path)


def test_a_single_run_a_repeated_job_and_an_empty_folder_are_refused(tmp_path, capsys):
    assert compare(tmp_path, tmp_path / "out") == 2
    assert "has no JOB/pairs.jsonl; give the folder that script/real-brokers wrote" in capsys.readouterr().err
    write_pairs(tmp_path / "job", [pair(1, figures([4]), figures([4]))])
    with pytest.raises(PairsError, match="has 1 run; at least 2 are needed"):
        read_jobs(tmp_path)
    for folder in ("job", "again"):
        write_pairs(tmp_path / folder, [pair(run, figures([4]), figures([4])) for run in (1, 2)])
    with pytest.raises(PairsError, match="job 'synthetic' with Pulsar 4.2.4 is also in"):
        read_jobs(tmp_path)
    write_pairs(tmp_path / "again", [pair(run, figures([4]), figures([4]), pulsar="4.0.7") for run in (1, 2)])
    assert [(job.name, job.pulsar) for job in read_jobs(tmp_path)] == [
        ("synthetic", "4.0.7"),
        ("synthetic", "4.2.4"),
    ]


def test_a_document_without_the_markers_is_refused_before_anything_is_written(tmp_path, capsys):
    write_job(tmp_path / "in", "two", 10)
    document = tmp_path / "other.md"
    document.write_text("no place\n")
    assert compare(tmp_path / "in", tmp_path / "out", "--write", str(document)) == 2
    assert f"needs the lines {BEGIN} and {END}" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def write_unequal(folder: Path) -> None:
    """A job of which one pair in twelve differs by a snapshot period, so that nothing is decided."""
    lines = [pair(run, figures([9 + 10 * (run == 3)]), figures([9]), job="rare") for run in range(1, 13)]
    write_pairs(folder / "rare", lines)


def test_a_job_that_is_not_decided_names_the_runs_that_would_decide(tmp_path):
    write_unequal(tmp_path)
    job = summary_of(read_jobs(tmp_path))["jobs"][0]
    assert (job["verdict"], job["few_runs"]) == ("not decided", True)
    shown = content_of(summary_of(read_jobs(tmp_path)))
    row = shown["overview"][0]["rows"][0]
    further = dict(zip(shown["overview"][0]["head"], row["cells"]))["further runs"]
    assert row["mark"] == "undecided" and row["cells"][1] == "not decided, few runs"
    assert int(further.replace("\u2009", "")) >= job["further_runs"] > 12
    words = (
        f"About {number(job['further_runs'])} further runs would make it different, if mean and spread stay"
    )
    assert words in shown["jobs"][0]["sentence"]


def test_load_and_the_source_of_times_are_shown(tmp_path):
    more = {"times": "predicted", "load_average": 12.5, "cores": 2}
    lines = [pair(run, figures([9]), figures([9]), **more) for run in (1, 2)]
    write_pairs(tmp_path / "job", lines)
    shown = content_of(summary_of(read_jobs(tmp_path)))
    words = shown["jobs"][0]["sentence"]
    assert "load of the machine 12.5 on average, 12.5 at most on 2 cores" in words
    assert "The simulated runs have the times of a calibration, made from other runs." in words
    assert "calibration" in shown["overview"][0]["rows"][0]["cells"]


def test_jobs_of_an_earlier_comparison_are_kept_and_judged_by_their_stored_figures(tmp_path):
    site, document, into = (tmp_path / name for name in ("measured.json", "fidelity.md", "recordings"))
    document.write_text(f"{BEGIN}\n{END}\n")
    more = ["--site", str(site), "--write", str(document), "--recordings", str(into)]
    for name in ("b", "c"):
        write_job(tmp_path / "first", name, 12, shift=2)
    for row in summary_of(read_jobs(tmp_path / "first"))["jobs"][0]["pairs"][:3]:
        run = tmp_path / "first" / "b" / row["folder"]
        run.mkdir()
        write_recorded(run / "real.jsonl", "2026-01-02")
    assert compare(tmp_path / "first", tmp_path / "out", *more) == 0
    alone, table_alone = json.loads(site.read_text()), document.read_text()
    kept_files = sorted(path.name for path in into.iterdir())
    assert kept_files
    stored = json.loads(site.read_text())
    for job in stored["jobs"]:
        job["verdict"], job["mark"], job["sentence"] = "equal", "", "an earlier rule"
    site.write_text(json.dumps(stored))

    write_unequal(tmp_path / "second")
    write_job(tmp_path / "second", "c", 12)  # played again: the new runs count
    write_job(tmp_path / "second", "a", 12)
    assert compare(tmp_path / "second", tmp_path / "out", "--keep", *more) == 0
    content = json.loads(site.read_text())
    assert [job["title"] for job in content["jobs"]] == ["a", "b", "c", "rare"]
    (before,) = [job for job in alone["jobs"] if job["title"] == "b"]
    (after,) = [job for job in content["jobs"] if job["title"] == "b"]
    assert after["anchor"] == "job-2" and after["verdict"] == before["verdict"] == "different, few runs"
    assert after["sentence"] == before["sentence"] and after["figures"] == before["figures"]
    assert after["blocks"][0] == before["blocks"][0]
    names = [block["name"] for block in after["blocks"] if block["kind"] == "chart"]
    assert names and all(name.endswith("-2") for name in names)
    assert sorted(path.name for path in into.iterdir()) == kept_files
    row = next(line for line in table_alone.splitlines() if line.startswith("| b |"))
    assert row in document.read_text().splitlines()
    assert "48 runs" in content["dek"]


def test_keeping_needs_a_file_that_this_command_wrote(tmp_path, capsys):
    write_job(tmp_path / "in", "a", 12)
    site = tmp_path / "measured.json"
    assert compare(tmp_path / "in", tmp_path / "out", "--keep") == 2
    assert "name it with --site" in capsys.readouterr().err
    site.write_text('{"jobs": [{"title": "a"}]}')
    assert compare(tmp_path / "in", tmp_path / "out", "--keep", "--site", str(site)) == 2
    assert f"{site}: is no file that this command wrote" in capsys.readouterr().err
    site.write_text("null\n")
    assert compare(tmp_path / "in", tmp_path / "out", "--keep", "--site", str(site)) == 0


def test_expected_jobs_without_runs_are_named_as_not_measured(tmp_path, capsys):
    write_job(tmp_path / "in", "two-regions-10", 12)
    site, document = tmp_path / "measured.json", tmp_path / "fidelity.md"
    document.write_text(f"{BEGIN}\n{END}\n")
    jobs = ROOT / "script" / "real_brokers" / "jobs"
    more = ["--site", str(site), "--write", str(document), "--expected"]
    assert compare(tmp_path / "in", tmp_path / "out", *more, str(jobs)) == 0
    found = json.loads(site.read_text())["not_measured"]
    names = [one["job"] for one in found]
    assert sorted([*names, "two-regions-10"]) == sorted(path.stem for path in jobs.glob("*.yaml"))
    assert "Unload of the topic, then a planned failover" in [one["title"] for one in found]
    assert f"\n\nNot measured yet: `{names[0]}`, " in document.read_text()
    assert compare(tmp_path / "in", tmp_path / "out", *more, str(tmp_path)) == 2
    assert "has no scenario" in capsys.readouterr().err


def committed() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((ROOT / "visualizer" / "fidelity" / "measured.json").read_text())
    return found


def test_the_committed_verdicts_follow_from_the_committed_pairs():
    """Counted from the chart of pairs, without the code that makes verdicts."""
    for job in committed()["jobs"]:
        (points,) = [
            block["figure"]["data"][1]
            for block in job["blocks"]
            if block["kind"] == "chart" and block["name"].startswith("pairs-")
        ]
        pairs = [
            (real, simulated)
            for real, simulated, text in zip(points["y"], points["x"], points["text"])
            for _ in range(int(text.split()[0]))
        ]
        differences = [real - simulated for real, simulated in pairs]
        limit = max(0.5, 0.03 * fmean(real for real, _ in pairs))
        half = t_quantile(0.975, len(pairs) - 1) * oracle.standard_error(differences)
        low, high = fmean(differences) - half, fmean(differences) + half
        word = "equal" if -limit <= low and high <= limit else "not decided"
        word = "different" if low > limit or high < -limit else word
        few = ", few runs" if len(pairs) < 60 else ""
        assert job["verdict"] == word + few, job["title"]
        assert job["figures"]["runs"] == len(pairs)
        main = next(one for one in job["figures"]["measures"] if one["key"] == job["figures"]["main"])
        assert (main["low"], main["high"]) == pytest.approx((low, high), rel=1e-5, abs=1e-6)


def test_every_job_of_the_rig_is_measured_or_named_as_not_measured():
    content = committed()
    jobs = {path.stem for path in (ROOT / "script" / "real_brokers" / "jobs").glob("*.yaml")}
    assert {job["title"] for job in content["jobs"]} | {one["job"] for one in content["not_measured"]} == jobs


def test_the_document_has_the_table_of_the_committed_comparison():
    """Nothing else is shown as measured; without a committed comparison both say that there is none."""
    text = (ROOT / "docs" / "fidelity.md").read_text()
    content = committed()
    shown = text.partition(f"{BEGIN}\n")[2].partition(f"\n{END}")[0]
    if content is None:
        assert shown == NOT_MEASURED
        return
    rows = content["overview"][0]
    assert shown.splitlines()[0] == f"| {' | '.join(rows['head'])} |"
    lines = [f"| {' | '.join(row['cells'])} |" for row in rows["rows"]]
    if content["not_measured"]:
        lines += ["", not_measured_words(content["not_measured"])]
    assert shown.splitlines()[2:] == lines


def test_numbers_are_written_without_false_precision():
    assert [rounded(value) for value in (1 / 3, 2.0, 1234567.8)] == [0.333333, 2, 1234570]
    assert [figure(value) for value in (3, 3.456, None, 12345.0)] == ["3", "3.46", "–", "12\u2009345"]
    assert [percent(share) for share in (1, 0.999, 0.5, 0.001, 0)] == [
        "100 %",
        "99.9 %",
        "50 %",
        "0.1 %",
        "0 %",
    ]
    assert nearest_rank([1, 2, 3, 4], 0.5) == 2 and nearest_rank([7], 0.99) == 7
    assert (
        cause_name("after_newest_snapshot") != "after_newest_snapshot"
        and cause_name("of-no-rule") == "of-no-rule"
    )
