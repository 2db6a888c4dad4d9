"""Makes tasks with Spark in the worker: reports and recounts, audits, and large experiments.

Rules: a report's row gets the simulator's own headline figures as soon as the run is replayed, so that the
page shows them while Spark counts. Results of an audit are written into a folder aside, which is renamed at
the end; its uploaded files are removed when it is done, or when they cannot be audited. No text that a
visitor sees names a path of the server. Finished runs of an experiment are files of the sweep. After `TURN_S`
an experiment gives way, between two rounds, to other tasks that wait. Only the worker imports this module.
"""

from __future__ import annotations

import html
import json
import logging
import os
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as parquet
from django.urls import reverse

from labsite.attempts import ExperimentAttempt, StepAttempt, failed, forget_broken_session
from simulator import ScenarioError, World, load_scenario_text
from simulator.experiments import checked_counts, checked_rows, made_again
from simulator.headless import trace_meta
from simulator.recordings import RecordingError
from simulator.runs import Runs, Variant, finished
from simulator.trace.files import TraceFileError, write_trace
from spark_reports.audit.errors import AuditError, input_problem
from spark_reports.audit.job import Audit as AuditJob
from spark_reports.audit.mapping import Mapping, mapping_of
from spark_reports.experiments.job import Sweep, SweepFailed
from spark_reports.experiments.listener import NullListener, Standing
from spark_reports.experiments.report.page import write_report
from spark_reports.experiments.so_far import results_so_far
from spark_reports.experiments.store import StoreError
from spark_reports.protocols.table import PROTOCOLS
from spark_reports.session import QUICK, open_session
from visualizer.tasks.experiments import experiment_of
from visualizer.tasks.models import Audit, Experiment, Report
from visualizer.tasks.uploads import EXPANDED_MIB_MOST, MIB, ROWS_MOST

if TYPE_CHECKING:
    from simulator import Scenario
    from simulator.checks.check import Violation

log = logging.getLogger("labsite.tasks")

REPLAY_SLICE_EVENTS = 20_000


class ReportAttempt(StepAttempt[Report]):
    """An attempt at a report."""

    kind, of_input = Report, (RecordingError,)
    at_first = {"step_name": "starting"}

    def show_simulators(self, figures: list[dict[str, Any]]) -> None:
        """Record the simulator's own figures, which the page shows while Spark counts."""
        self.collect(simulator_figures=figures)

    def make(self) -> dict[str, Any]:
        """Make the report, or the recount of an answer."""
        work = _work if self.task.experiment_id is None else recounted
        return work(self.task, self)

    def discard(self) -> None:
        """Remove the report's files."""
        self.task.remove_files()

    def refusal(self, error: Exception) -> dict[str, Any] | None:
        """How a report ends whose run cannot be made again, or is counted differently."""
        if isinstance(error, Differs):
            return failed(
                f"Internal error: Spark counted other numbers than the answer shows. {error}.",
                "Do not use this answer, and report the error with the experiment's YAML.",
            )
        if isinstance(error, RecordingError):
            return failed(str(error), error.hint)
        if isinstance(error, TraceFileError | ScenarioError):
            return failed(
                f"The run cannot be read: {error}",
                "It may have been made by another version. Ask for a new report in a new lab.",
            )
        return None


def _work(report: Report, attempt: ReportAttempt) -> dict[str, Any]:
    """Replay, write the trace, report. Returns the headline of each failover and group, as a column."""
    attempt.say("running the scenario again")
    report.folder.mkdir(parents=True, exist_ok=True)
    trace = _replayed(report, attempt, report.folder / "trace.parquet")
    attempt.say("starting Spark")
    attempt.go_on()
    spark = open_session(settings=QUICK)
    from spark_reports.jobs.failover import FailoverReport

    made = FailoverReport(spark, [trace], report.folder, attempt, replay_url_of(report)).make()
    return {"figures": of_report(made["runs"])}


def replay_url_of(report: Report) -> str | None:
    """The address of the report's replay at its site; None when the site is not known.

    It is absolute, since the report's page is also opened from a disk.
    """
    return f"{report.site}{reverse('tasks:report-replay', args=[report.pk])}" if report.site else None


def _replayed(report: Report, attempt: ReportAttempt, path: Path) -> Path:
    """Write the trace of the report's run, as the lab had it, and return its path."""
    scenario = load_scenario_text(report.scenario_text, seed=report.seed)
    run = Variant("report", report.title, scenario, report.commands, until_us=report.until_us or None)
    world = finished(Runs(lambda: REPLAY_SLICE_EVENTS).run(run), attempt.go_on)
    write_trace(path, world.trace, {**trace_meta(world), "reruns": report.reruns})
    attempt.show_simulators(of_simulator(world))
    return path


# --- the headline figures of a run, in a report's row: one object per failover and group


OF_FAILOVER = (
    "subscription",
    "from",
    "to",
    "mode",
    "at_us",
    "duplicates",
    "redeliveries",
    "stranded",
    "lost",
    "pending_repeats",
)
OF_GROUP = ("duplicates", "redeliveries", "lost")


def headlines(
    failovers: list[dict[str, Any]], groups: list[tuple[str, dict[str, Any]]]
) -> list[dict[str, Any]]:
    """The figures of failovers and of groups (name, figures), under their names in `simulate --json`."""
    return [{name: failover[name] for name in OF_FAILOVER} for failover in failovers] + [
        {"group": group, **{name: figures[name] for name in OF_GROUP}} for group, figures in groups
    ]


def of_report(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The headlines of a report's runs, as Spark counted them."""
    return headlines(
        [failover for run in runs for failover in run["failovers"]],
        [(group["name"], group) for run in runs for group in run["groups"]],
    )


def of_simulator(world: World) -> list[dict[str, Any]]:
    """The simulator's own headlines of a run, none of a recording, which the simulator did not run.

    They are shown while Spark counts, so an error in them does not end the report.
    """
    if world.scenario.recording:
        return []
    try:
        summary = world.summary()
    except Exception:
        log.exception("The simulator's own figures of a run cannot be shown")
        return []
    return headlines(summary.get("failovers", []), sorted(summary.get("groups", {}).items()))


# --- counts the runs of an answer of My set-up again, by Spark from their rows, for its attachment
#
# Rules: every run is made again and written as a trace, and the failover report counts the traces. Nothing
# of the engine's counting is used. Each figure must equal that of the answer. A difference is an internal
# error, which the report's page and the attachment state. The checks (`docs/checks.md`) read the rows of
# every run and Spark's failovers.


SPANS = ("outage_us", "drained_us")
"""Figures of which a run has the longest of its failovers; of others it has the sum."""

SHOWN = 5
"""Differences that are named."""


class Differs(Exception):
    """Spark counted other numbers than the engine; the text has the first differences."""


def recounted(report: Report, attempt: ReportAttempt) -> dict[str, Any]:
    """Count the runs of the report's answer again: figures and checks, as columns of the report.

    Raises Differs.
    """
    experiment = experiment_of(report.scenario_text)
    given = report.reruns
    folder = report.folder / "traces"
    folder.mkdir(parents=True, exist_ok=True)
    traces, checked = [], []
    for number, one in enumerate(given):
        attempt.go_on()
        attempt.say(f"running and checking the runs again, {number + 1} of {len(given)}")
        run = made_again(experiment, one)
        traces.append(_written(run, folder / f"{number:03}.parquet"))
        claims, violations = checked_rows(run)
        checked.append(Checked(one["seed"], run.scenario, claims, violations))
    attempt.say("starting Spark")
    attempt.go_on()
    spark = open_session(settings=QUICK)
    from spark_reports.jobs.failover import FailoverReport

    made = FailoverReport(spark, traces, report.folder, attempt, changed=False).make()
    names = [one.name for one in experiment.measures]
    found = [_figures(run, one, names) for run, one in zip(made["runs"], given, strict=True)]
    for path in traces:
        path.unlink()
    if different := differences(given, found):
        more = f" and {len(different) - SHOWN} more" if len(different) > SHOWN else ""
        raise Differs("; ".join(different[:SHOWN]) + more)
    for one, run in zip(checked, made["runs"], strict=True):
        one.violations += checked_counts(one.scenario, run["failovers"])
    return {"figures": found, "checks": table_of_checks(checked)}


@dataclass(slots=True)
class Checked:
    """What was checked in one run, and what does not hold."""

    seed: int
    scenario: Scenario
    claims: tuple[str, ...]
    violations: list[Violation]


def table_of_checks(checked: Sequence[Checked]) -> list[dict[str, Any]]:
    """For each claim: in how many runs it held, in how many it was violated, and the first violation."""
    table: dict[str, dict[str, Any]] = {}
    for one in checked:
        first = {found.claim: found for found in reversed(one.violations)}
        for claim in one.claims:
            entry = table.setdefault(claim, {"claim": claim, "held": 0, "violated": 0, "first": ""})
            found = first.get(claim)
            entry["held" if found is None else "violated"] += 1
            if found is not None and not entry["first"]:
                entry["first"] = f"seed {one.seed}, {found.at_us / 1e6:.6f} s: {found.reason}"
    return list(table.values())


def _written(run: World, path: Path) -> Path:
    """Write the trace of a run that ended where its figures are final."""
    write_trace(path, run.trace, trace_meta(run))
    return path


def _figures(run: dict[str, Any], one: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The figures of a run as Spark counted them, in the form of the answer's."""
    subjects = PROTOCOLS[run["protocol"]].subjects(run)
    found: dict[str, Any] = {"run": one["run"], "seed": one["seed"]}
    for name in names:
        if name in SPANS:
            begins = [each["at_us"] if name == "drained_us" else 0 for each in subjects]
            ends = [each[name] for each in subjects]
            known = [end - begin for begin, end in zip(begins, ends, strict=True) if end is not None]
            found[name] = max(known) if known and len(known) == len(subjects) else None
        else:
            found[name] = sum(each[name] for each in subjects)
    causes: Counter[str] = Counter()
    for subject in subjects:
        causes.update({cause: count for cause, count in subject["by_cause"].items() if count})
    return {**found, "by_cause": dict(sorted(causes.items()))}


def differences(given: Sequence[dict[str, Any]], found: Sequence[dict[str, Any]]) -> list[str]:
    """Each figure that differs, in words."""
    lines = []
    for one, counted in zip(given, found, strict=True):
        causes = {cause: count for cause, count in one["by_cause"].items() if count}
        for name, value in counted.items():
            before = dict(sorted(causes.items())) if name == "by_cause" else one[name]
            if before != value:
                lines.append(f"seed {one['seed']}: {name} {json.dumps(before)}, by Spark {json.dumps(value)}")
    return lines


# --- audits


TEXTS = ("audit.html", "audit.json", "unreadable.jsonl")
"""Results that name the input's paths."""

MAPPING = "mapping"
"""What the mapping is called in its problems."""

AGAIN = "The uploaded files were deleted. Change this and upload them again."


class BadUpload(Exception):
    """An uploaded file that cannot be audited; the text says why."""


class AuditAttempt(StepAttempt[Audit]):
    """An attempt at an audit: checks the uploaded files, then lets Spark count."""

    kind, of_input = Audit, (ScenarioError, BadUpload, AuditError)
    at_first = {"step_name": "checking the files"}

    def make(self) -> dict[str, Any]:
        """Make the audit, and remove its uploaded files."""
        try:
            figures = _audited(self)
        finally:
            shutil.rmtree(_aside(self.task), ignore_errors=True)
        shutil.rmtree(self.task.input, ignore_errors=True)
        return {"figures": figures}

    def refusal(self, error: Exception) -> dict[str, Any] | None:
        """How an audit ends whose input cannot be used."""
        audit = self.task
        if isinstance(error, ScenarioError):
            return _refused(audit, f"The mapping cannot be used: {error}")
        if isinstance(error, BadUpload):
            return _refused(audit, str(error))
        if isinstance(error, AuditError):
            return _refused(audit, _for_page(audit, str(error)))
        problem = input_problem(error)
        return None if problem is None else _refused(audit, _for_page(audit, problem))


def _refused(audit: Audit, error: str) -> dict[str, Any]:
    """The end of an audit whose input cannot be used: trying again would not help."""
    shutil.rmtree(audit.input, ignore_errors=True)
    return failed(error, AGAIN)


def _audited(attempt: AuditAttempt) -> dict[str, Any]:
    """Check, count, and put the results in place. Returns the headline."""
    audit = attempt.task
    mapping = mapping_of(audit.mapping, MAPPING) if audit.mapping else Mapping()
    check = UploadCheck(attempt.go_on)
    for path in sorted(audit.input.iterdir()):
        check.check(path)
    attempt.say("starting Spark")
    attempt.go_on()
    spark = open_session(settings=QUICK)
    aside = _aside(audit)
    job = AuditJob(
        *(spark, [str(audit.input)], aside, mapping, audit.format, attempt),
        expanded_mib=EXPANDED_MIB_MOST,
        records_most=ROWS_MOST,
    )
    report = job.make()
    for name in TEXTS:
        _replace_paths(audit, aside / name)
    shutil.rmtree(audit.result, ignore_errors=True)
    os.replace(aside, audit.result)
    return headline_of_audit(report)


def headline_of_audit(report: dict[str, Any]) -> dict[str, Any]:
    """The figures of the page's sentence: sums over all subscriptions and partitions."""
    groups = report["groups"]
    if not groups:
        known = [one["repeated_most"] for one in report["positions"] if one["repeated_most"] is not None]
        return {"messages": None, "repeated_most": max(known, default=None)}
    duplicates = [one["duplicates"] for one in groups if one["duplicates"] is not None]
    return {
        "messages": sum(one["messages"] for one in groups),
        "repeated": sum(one["repeated_messages"] for one in groups),
        "duplicates": sum(duplicates) if duplicates else None,
    }


def _aside(audit: Audit) -> Path:
    return audit.folder / "result.partial"


def _for_page(audit: Audit, text: str) -> str:
    """A message about the input in the words of the page: without options and paths of the server."""
    for option, words in (
        ("; raise the limit with --expanded-mib if that is right", ""),
        (" with --format", " in the form"),
        (" with --mapping", " with a mapping"),
    ):
        text = text.replace(option, words)
    shown = _without_paths(audit)(text)
    if shown == text or shown.startswith("upload"):  # else it begins with a file's name
        shown = f"{shown[:1].upper()}{shown[1:]}"
    return f"{shown.removesuffix('.')}."


def _without_paths(audit: Audit) -> Callable[[str], str]:
    """A function that leaves only the names of the uploaded files in a text."""
    uri, path = audit.input.absolute().as_uri(), str(audit.input)
    known = (uri, uri.replace("file:///", "file:/"), str(audit.input.absolute()), path)
    forms = sorted({form for one in known for form in (one, html.escape(one))}, key=len, reverse=True)

    def changed(text: str) -> str:
        for form in forms:
            text = text.replace(f"{form}/", "").replace(form, "upload")
        return text

    return changed


def _replace_paths(audit: Audit, path: Path) -> None:
    """Replace paths of the server in one result, line by line."""
    if not path.is_file():
        return
    changed, other = _without_paths(audit), path.with_name(f"{path.name}.partial")
    with path.open(encoding="utf-8") as before, other.open("w", encoding="utf-8") as after:
        for line in before:
            after.write(changed(line))
    os.replace(other, path)


# --- checks uploaded logs before Spark reads them: how far they expand, and the rows of Parquet files
#
# Rules: a file is unpacked in pieces and nothing of it is kept, so a small file that expands without end
# costs only the time up to the limit. The limits are those that the page states. Records that a line stands
# for are counted where lines are read (`formats.verifiable.check_records`).


PIECE_BYTES = 1 << 20
"""Bytes that are unpacked between two looks at the cancel mark."""

CODECS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}


class UploadCheck:
    """Checks files one after the other; `expanded_bytes` and `rows` are sums over them."""

    def __init__(self, go_on: Callable[[], None]) -> None:
        """`go_on` is called between two pieces, and raises an error to end the check."""
        self.go_on = go_on
        self.expanded_bytes = 0
        self.rows = 0

    def check(self, path: Path) -> None:
        """Check one file. Raises BadUpload."""
        if path.suffix.lower() == ".parquet":
            self._check_parquet(path)
        else:
            self._check_text(path)

    def _check_parquet(self, path: Path) -> None:
        try:
            meta = parquet.read_metadata(path)
        except (pa.ArrowException, OSError) as error:
            raise BadUpload(f"{path.name} is no Parquet file, or it is cut off.") from error
        groups = [meta.row_group(number) for number in range(meta.num_row_groups)]
        self._add_rows(path, sum(group.num_rows for group in groups))  # what is read, not what the file says
        self._add_bytes(path, sum(group.total_byte_size for group in groups))

    def _check_text(self, path: Path) -> None:
        for piece in _pieces(path):
            self.go_on()
            self._add_bytes(path, len(piece))

    def _add_bytes(self, path: Path, count: int) -> None:
        self.expanded_bytes += count
        if self.expanded_bytes > EXPANDED_MIB_MOST * MIB:
            raise BadUpload(
                f"With {path.name} the files expand to more than {EXPANDED_MIB_MOST} MiB together."
            )

    def _add_rows(self, path: Path, count: int) -> None:
        self.rows += count
        if self.rows > ROWS_MOST:
            raise BadUpload(f"With {path.name} the files have more than {ROWS_MOST:,} rows together.")


def _pieces(path: Path) -> Iterator[bytes]:
    """The content of a file, unpacked. Raises BadUpload for a damaged one."""
    codec = CODECS.get(path.suffix.lower())
    try:
        with pa.input_stream(str(path), compression=codec) as stream:
            while piece := stream.read(PIECE_BYTES):
                yield piece
    except (pa.ArrowException, OSError, EOFError) as error:
        raise BadUpload(f"{path.name} is damaged, or not compressed as its name says.") from error


# --- experiments that are too large for the engine's processes


TURN_S = 20.0
"""Seconds after which an experiment gives way if another task waits: a report takes about as long."""

MESSAGE_MOST = 300
"""Most characters of a message, as in the database."""


class SparkExperimentAttempt(ExperimentAttempt, NullListener):
    """An attempt at an experiment, as a listener of its sweep."""

    at_first = {"message": "starting Spark"}
    limit_s = 7_200.0

    def __init__(self, task: Experiment) -> None:
        super().__init__(task)
        self.sweep: Sweep | None = None
        self._turn_began_s: float | None = None  # when Spark was ready for the first round

    def stands(self, standing: Standing) -> None:
        """Record how many runs are finished, the time left, and the figures so far."""
        left_s = None if standing.complete else standing.left_s
        self.collect(runs_finished=standing.finished, runs_failed=standing.failed, left_s=left_s)
        if standing.complete:
            self.notice("writing the report")
        if self.sweep is not None and standing.finished:
            self.collect(results=results_so_far(self.sweep.experiment, self.sweep.store.table().to_pylist()))
        if self._turn_began_s is None:
            self._turn_began_s = time.monotonic()
        elif not standing.complete and time.monotonic() - self._turn_began_s > TURN_S and self.others_wait():
            self.giving_way.set()

    def left(self, left_s: float) -> None:
        """Record the time left, as corrected by the round that runs."""
        self.collect(left_s=left_s)

    def notice(self, text: str) -> None:
        """Record what a reader should know."""
        self.collect(message=text[:MESSAGE_MOST])

    def cancel_wanted(self) -> bool:
        """Whether the experiment was cancelled or gives way, or the worker is stopping."""
        return super().cancel_wanted() or self.giving_way.is_set()

    def make(self) -> dict[str, Any]:
        """Make the missing runs, then the report."""
        experiment = experiment_of(self.task.text)
        self.go_on()
        spark = open_session(settings=QUICK)
        self.notice("running the first runs")
        folder = self.task.folder
        sweep = self.sweep = Sweep(spark, experiment, folder, self, core_s=self.task.core_s)
        sweep.run()
        self.stands(sweep.store.kept().standing())
        write_report(experiment, sweep.store.table(), folder, site_url=self.task.url_on_site)
        return {"message": ""}

    def refusal(self, error: Exception) -> dict[str, Any] | None:
        """How it ends when its files cannot be used, or Spark fails."""
        if isinstance(error, StoreError):
            return failed(
                "The runs could not be stored: there is no room, or they were made by another version.",
                "Run its YAML as a new experiment when the site's operator has looked at the worker's log.",
            )
        if isinstance(error, SweepFailed):
            forget_broken_session()
            words = "Spark failed while it ran this experiment."
            return failed(words, f"{self.retry} The worker's log has the reason.")
        return super().refusal(error)


ATTEMPTS = {one.kind.FOLDER: one for one in (ReportAttempt, AuditAttempt, SparkExperimentAttempt)}
"""What makes a task of each kind."""
