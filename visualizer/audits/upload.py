"""Stores the files of an upload, all of them or none.

Rules: they are written into a folder aside, which is renamed when it is complete. A file keeps its name,
since the format, the cluster of stats-internal and a mapping's `from_path` may depend on it; characters that
a path of Spark cannot have are replaced.
"""

from __future__ import annotations

import gzip
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import islice
from pathlib import Path, PurePath
from typing import Any

from django.core.exceptions import SuspiciousOperation
from django.core.files import File
from django.http import HttpRequest
from django.http.multipartparser import MultiPartParserError

from visualizer.audits.limits import (
    ARCHIVES,
    AUTO,
    COMPRESSIONS,
    FILES_MOST,
    FORMATS,
    MAPPING_CHARACTERS_MOST,
    MIB,
    NAME_CHARACTERS_MOST,
    UPLOAD_MIB_MOST,
)
from visualizer.audits.models import Audit
from visualizer.live.wire import Refused

EXAMPLE = Path(__file__).parent / "example" / "example-log.jsonl.gz"
"""A log of `python -m spark_reports generate --rows 3000 --format jsonl`."""

_OTHER = re.compile(r"[^A-Za-z0-9.-]+")


def files_of(request: HttpRequest) -> list[Any]:
    """The files of the form. Raises Refused for a form that cannot be read or has too many or too large."""
    try:
        files = request.FILES.getlist("files")
    except (SuspiciousOperation, MultiPartParserError) as error:
        raise Refused(
            "too-large",
            "The form cannot be read: it is cut off, or has too many files or too long a mapping.",
            f"Send at most {FILES_MOST} files and {MAPPING_CHARACTERS_MOST:,} characters of mapping.",
        ) from error
    if not files:
        raise Refused("bad-field", "No file was chosen.", "Choose log files, or try the example.")
    if len(files) > FILES_MOST:
        raise Refused(
            "too-large",
            f"{len(files)} files were sent.",
            f"At most {FILES_MOST} are taken; put logs together, or use the command line.",
        )
    size_bytes = sum(file.size for file in files)
    if size_bytes > UPLOAD_MIB_MOST * MIB:
        raise Refused(
            "too-large",
            f"The files have {size_bytes / MIB:,.1f} MiB together.",
            f"At most {UPLOAD_MIB_MOST} MiB are taken; compress them, or use the command line.",
        )
    for file in files:
        _check(file.name, file.size)
    return files


def format_of(text: Any) -> str:
    """The chosen format. Raises Refused."""
    if text in (None, ""):
        return AUTO
    if text not in FORMATS:
        raise Refused("bad-field", f"There is no format {str(text)[:40]!r}.", f"One of {', '.join(FORMATS)}.")
    return str(text)


def mapping_of(text: Any) -> str:
    """The typed mapping, which the worker checks. Raises Refused when it is too long."""
    text = text if isinstance(text, str) else ""
    if len(text) > MAPPING_CHARACTERS_MOST:
        raise Refused(
            "too-large",
            f"The mapping has {len(text):,} characters.",
            f"At most {MAPPING_CHARACTERS_MOST:,} are taken.",
        )
    return text if text.strip() else ""


def store(row: Audit, files: Iterable[tuple[str, Iterable[bytes]]]) -> list[dict[str, Any]]:
    """Write the files into the audit's folder and return name and size of each."""
    aside = row.folder.with_name(f".{row.pk}.partial-{os.getpid()}")
    shutil.rmtree(aside, ignore_errors=True)
    folder = aside / row.input.name
    folder.mkdir(parents=True)
    stored = []
    try:
        for given, pieces in files:
            path = folder / _free_name(given, folder)
            with path.open("wb") as out:
                for piece in pieces:
                    out.write(piece)
            stored.append({"name": path.name, "size_bytes": path.stat().st_size})
        os.replace(aside, row.folder)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return stored


def uploaded(files: Sequence[File]) -> Iterator[tuple[str, Iterable[bytes]]]:
    """Name and content of each file of a form."""
    for file in files:
        yield str(file.name), file.chunks()


def example() -> Iterator[tuple[str, Iterable[bytes]]]:
    """Name and content of the example."""
    yield EXAMPLE.name, [EXAMPLE.read_bytes()]


@cache
def first_rows() -> str:
    """The first rows of the example."""
    with gzip.open(EXAMPLE, "rt", encoding="utf-8") as file:
        return "".join(islice(file, 3)).rstrip()


def _check(name: str, size_bytes: int) -> None:
    """Raise Refused for a file that cannot be a log."""
    shown = PurePath(name).name[:NAME_CHARACTERS_MOST]
    if not size_bytes:
        raise Refused("bad-file", f"{shown} is empty.", "Leave it out.")
    if shown.lower().endswith(ARCHIVES):
        raise Refused(
            "bad-file",
            f"{shown} is an archive, or compressed in a way that is not read here.",
            f"Unpack it, and compress single files as {', '.join(COMPRESSIONS)}.",
        )


def _free_name(given: str, folder: Path) -> str:
    """A safe name that no file of the folder has. Spark leaves out files that begin with `.` or `_`."""
    name = _OTHER.sub("-", PurePath(given.replace("\\", "/")).name).lstrip(".-")
    name = name[-NAME_CHARACTERS_MOST:] or "log"
    if not (folder / name).exists():
        return name
    number = 2
    while (folder / f"{number}-{name}").exists():
        number += 1
    return f"{number}-{name}"
