"""Makes one audit in the worker: checks the uploaded files, then lets Spark count.

Rules: the results are written into a folder aside, which is renamed at the end. The uploaded files are
removed when the audit is done, or when they cannot be audited. No text that a visitor sees names a path of
the server. An error is written to the row as a message, and logged with its traceback. Only the worker
imports this module.
"""

from __future__ import annotations

import html
import logging
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet

from labsite.task_row import (
    NO_ROOM,
    StepRow,
    carried_out,
    failed,
    forget_broken_session,
    when_the_database_is_there,
)
from simulator import ScenarioError
from spark_reports.audit.errors import AuditError, input_problem
from spark_reports.audit.job import Audit as AuditJob
from spark_reports.audit.mapping import Mapping, mapping_of
from spark_reports.progress import Cancelled
from spark_reports.session import QUICK, JavaMissing, MasterUnreachable, open_session
from visualizer.tasks.models import Audit
from visualizer.tasks.uploads import EXPANDED_MIB_MOST, MIB, ROWS_MOST

log = logging.getLogger("labsite.audits")

TEXTS = ("audit.html", "audit.json", "unreadable.jsonl")
"""Results that name the input's paths."""

MAPPING = "mapping"
"""What the mapping is called in its problems."""

AGAIN = "The uploaded files were deleted. Change this and upload them again."


class Row(StepRow[Audit]):
    """The audit's row as a listener of its progress."""

    def go_on(self) -> None:
        """Raise Cancelled when the audit was cancelled or the worker is stopping."""
        if self.cancel_wanted():
            raise Cancelled


def run(audit_id: str, attempt: int) -> str:
    """Make this attempt of the audit and return its state. An error is recorded in the row."""
    taken = when_the_database_is_there(lambda: Audit.take(audit_id, attempt, step_name="checking the files"))
    if taken is None:
        return "given up"
    row = Row(taken)
    return carried_out(row, lambda: _ended(row))


def _ended(row: Row) -> dict[str, Any]:
    """Make the audit and return how it ended, as columns of the row."""
    audit = row.task
    try:
        figures = _work(row)
        shutil.rmtree(audit.input, ignore_errors=True)
        return {"state": Audit.State.DONE, "figures": figures}
    except Cancelled:
        if row.stopping.is_set():
            return failed("The worker was stopped while it made this audit.", "Try again.")
        return {"state": Audit.State.CANCELLED}
    except (JavaMissing, MasterUnreachable) as error:
        log.error("Audit %s cannot be made: %s", audit.pk, error)
        return failed("Audits need Spark, which cannot be started.", str(error))
    except ScenarioError as error:
        return _refused(audit, f"The mapping cannot be used: {error}", AGAIN)
    except BadUpload as error:
        return _refused(audit, str(error), AGAIN)
    except AuditError as error:
        return _refused(audit, _for_page(audit, str(error)), AGAIN)
    except Exception as error:
        return _failed_by(audit, error)
    finally:
        shutil.rmtree(_aside(audit), ignore_errors=True)


def _failed_by(audit: Audit, error: Exception) -> dict[str, Any]:
    """How an audit ended with an error of Spark or of this machine."""
    log.exception("Audit %s failed", audit.pk)
    if isinstance(error, OSError) and error.errno in NO_ROOM:
        return failed("There is no room left for the results.", "Try again when the operator has made room.")
    problem = input_problem(error)
    if problem is not None:
        return _refused(audit, _for_page(audit, problem), AGAIN)
    forget_broken_session()
    return failed(
        f"The audit could not be finished: internal error ({type(error).__name__}).",
        "Try again. The worker's log has the details.",
    )


def _refused(audit: Audit, error: str, hint: str) -> dict[str, Any]:
    """The end of an audit whose input cannot be used: trying again would not help."""
    shutil.rmtree(audit.input, ignore_errors=True)
    return failed(error, hint)


def _work(row: Row) -> dict[str, Any]:
    """Check, count, and put the results in place. Returns the headline."""
    audit = row.task
    mapping = mapping_of(audit.mapping, MAPPING) if audit.mapping else Mapping()
    check = UploadCheck(row.go_on)
    for path in sorted(audit.input.iterdir()):
        check.check(path)
    row.say("starting Spark")
    row.go_on()
    spark = open_session(settings=QUICK)
    aside = _aside(audit)
    job = AuditJob(
        *(spark, [str(audit.input)], aside, mapping, audit.format, row),
        expanded_mib=EXPANDED_MIB_MOST,
        records_most=ROWS_MOST,
    )
    report = job.make()
    for name in TEXTS:
        _replace_paths(audit, aside / name)
    shutil.rmtree(audit.result, ignore_errors=True)
    os.replace(aside, audit.result)
    return headline(report)


def headline(report: dict[str, Any]) -> dict[str, Any]:
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


class BadUpload(Exception):
    """An uploaded file that cannot be audited; the text says why."""


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
