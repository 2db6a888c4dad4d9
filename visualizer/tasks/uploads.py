"""Uploads of logs: their limits, which the page states, and their files, stored all of them or none.

Rules: files are written into a folder aside, which is renamed when it is complete. A file keeps its name,
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
from typing import TYPE_CHECKING, Any

from django.core.exceptions import SuspiciousOperation
from django.core.files import File
from django.http import HttpRequest
from django.http.multipartparser import MultiPartParserError

from visualizer.live.wire import Refused

if TYPE_CHECKING:
    from visualizer.tasks.models import Audit

MIB = 1 << 20

FILES_MOST = 20
"""Most files of one upload: the logs of a few consumers, or stats-internal of a few topics."""

UPLOAD_MIB_MOST = 64
"""Most MiB of all files together, as they are sent. More is a matter for the command line."""

EXPANDED_MIB_MOST = 256
"""Most MiB of all files together when they are unpacked: about two million rows of JSON."""

ROWS_MOST = 5_000_000
"""Most rows of all files together, where a file says how many rows it stands for."""

MAPPING_CHARACTERS_MOST = 100_000
"""Most characters of a mapping; one has a few hundred."""

NAME_CHARACTERS_MOST = 100
"""Most characters of a file's name that are kept."""


# --- the formats of logs, as the form offers them, and the endings that a file may have
#
# Rules: the names are those of `python -m spark_reports audit --format`; a test compares them.


AUTO = "auto"

FORMATS = {
    AUTO: "recognise each file",
    "jsonl": "JSON Lines",
    "csv": "CSV with a header",
    "parquet": "Parquet",
    "text": "text, by a pattern in the mapping",
    "spans": "OpenTelemetry spans (OTLP/JSON)",
    "verifiable": "Kafka’s verifiable producer and consumer",
    "stats-internal": "topics stats-internal of both clusters",
}

READY = {
    "pulsar-client-consume": "pulsar-client consume",
    "kafka-console-consumer": "kafka-console-consumer",
    "log4j": "Log4j",
    "logback": "Logback and Spring Boot",
    "emqx-trace": "a text trace of EMQX",
    "emqx-trace-json": "a JSON trace of EMQX",
}
"""The ready mappings for text. A test compares the names with those of the audit."""

COMPRESSIONS = (".gz", ".bz2", ".zst")

ARCHIVES = (".zip", ".tar", ".tgz", ".7z", ".rar", ".xz", ".lz4", ".snappy", ".deflate")
"""Endings that are refused at once: archives, and compressions that the worker may not have."""


# --- the files of a form

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
