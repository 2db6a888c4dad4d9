"""Recordings: trace files of runs on real brokers, found by the digest of their rows.

Rules: a recording is a trace file whose metadata has `recorded`: the system and its version, the date,
and which kinds of rows were measured and which inferred. Files are in a few folders, and clients name a
digest, never a path. Size and number of rows are limited. A file that cannot be used is listed with the
reason.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simulator.trace.json_lines import TraceFileError, fill_trace, json_line_rows, json_lines_meta
from simulator.trace.registry import Vocabulary
from simulator.trace.trace import Trace

BUILT_IN = Path(__file__).parent / "recordings"
"""The folder of the recordings that come with the code."""

COMPARED = BUILT_IN / "compared"
"""Recordings that the page Fidelity opens; the gallery does not list them."""

SIZE_BYTES_MAX = 64 * 1024 * 1024
"""The largest file, which is more than the most rows need as JSON lines."""

ROWS_MAX = 200_000
"""The most rows of a recording, which is about 20,000 messages. Reading so many takes some seconds."""

FILES_MAX = 500
"""The most files that are listed of a folder, in the order of their names."""

TEXT_CHARACTERS_MAX = 200
"""The longest version, date or kind of row that is shown."""

KEY = "recorded"
"""The key of a trace file's metadata that makes it a recording."""

_DATE, _MEASURED, _INFERRED = "date", "measured", "inferred"
_DIGEST = re.compile(r"[0-9a-f]{64}")


class RecordingError(ValueError):
    """A recording is missing, damaged or too large; `hint` says what would be right."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(frozen=True, slots=True)
class RecordedFile:
    """A recording as it is listed: what its metadata says.

    `stamp` is when the file was written, and its size. `system` is what ran, such as "Pulsar 4.2.4", `date`
    the day.
    `measured` and `inferred` are kinds of rows in words.
    """

    path: Path
    stamp: tuple[int, int]
    digest: str
    system: str
    date: str
    measured: tuple[str, ...]
    inferred: tuple[str, ...]
    meta: dict[str, Any]


@dataclass(frozen=True, slots=True)
class UnusableFile:
    """A file of a folder of recordings that cannot be opened, and why."""

    path: Path
    reason: str


class Folders:
    """The folders of recordings; the metadata of a file is read again only when it has changed."""

    def __init__(self, *paths: Path) -> None:
        self.paths = list(paths)
        self._known: dict[Path, tuple[tuple[int, int], RecordedFile | UnusableFile]] = {}

    def add(self, path: Path) -> None:
        """Search this folder, too."""
        if path not in self.paths:
            self.paths.append(path)

    def remove(self, path: Path) -> None:
        """Search this folder no longer."""
        self.paths.remove(path)
        self._known = {file: known for file, known in self._known.items() if file.parent != path}

    def listed(self) -> list[RecordedFile | UnusableFile]:
        """Every trace file, folder by folder and by name; of equal recordings only the first."""
        found: list[RecordedFile | UnusableFile] = []
        digests: dict[str, None] = {}
        for path in self._files():
            one = self._described(path)
            if isinstance(one, RecordedFile):
                if one.digest in digests:
                    continue
                digests[one.digest] = None
            found.append(one)
        return found

    def find(self, digest: str) -> RecordedFile:
        """The recording with this digest. Raises RecordingError."""
        for path, (_, one) in list(self._known.items()):
            if isinstance(one, RecordedFile) and one.digest == digest and self._described(path) == one:
                return one
        for one in self.listed():
            if isinstance(one, RecordedFile) and one.digest == digest:
                return one
        raise RecordingError(
            f"The recording {digest[:12]}… is not on this server.",
            "Put its file into the folder that LAB_RECORDINGS_DIR names, and open it again.",
        )

    def _files(self) -> Iterator[Path]:
        for folder in self.paths:
            if folder.is_dir():
                names = sorted(path for path in folder.iterdir() if path.name.endswith(ENDINGS))
                yield from names[:FILES_MAX]

    def _described(self, path: Path) -> RecordedFile | UnusableFile:
        try:
            facts = path.stat()
            stamp = (facts.st_mtime_ns, facts.st_size)
            known = self._known.get(path)
            if known is None or known[0] != stamp:
                known = self._known[path] = (stamp, _described(path, stamp))
            return known[1]
        except OSError as error:
            return UnusableFile(path, f"{path.name} cannot be read: {error.strerror}")


FOLDERS = Folders(BUILT_IN, COMPARED)
"""The folders of this process."""


def read_rows(recorded: RecordedFile, vocabulary: Vocabulary) -> Trace:
    """All rows of a recording. Raises RecordingError for a file that is damaged or too large."""
    path = recorded.path
    try:
        if path.suffix == ".parquet":
            from simulator.trace.files import read_trace

            trace = read_trace(path, vocabulary, ROWS_MAX).trace
        else:
            trace = Trace(vocabulary)
            fill_trace(trace, path, json_lines_meta(path), json_line_rows(path, trace), ROWS_MAX)
        _check_order(path, trace)
        if trace.digest() != recorded.digest:
            raise TraceFileError(f"{path.name} was replaced while it was read")
        return trace
    except TraceFileError as error:
        raise damaged(path, str(error)) from error
    except (AttributeError, KeyError, OSError, OverflowError, TypeError, ValueError) as error:
        raise damaged(path, f"{path.name}: {type(error).__name__}: {error}") from error


def damaged(path: Path, reason: str) -> RecordingError:
    """The error for a file that cannot be played."""
    return RecordingError(
        f"The recording {path.name} cannot be opened: {reason}.", "Record the run again, or restore the file."
    )


def _check_order(path: Path, trace: Trace) -> None:
    instants = trace.columns(names=("at_us",))["at_us"]
    if len(instants) and (instants[0] < 0 or (instants[1:] < instants[:-1]).any()):
        raise TraceFileError(f"{path.name}: the instants of its rows are not in order")


def _described(path: Path, stamp: tuple[int, int]) -> RecordedFile | UnusableFile:
    size_bytes = stamp[1]
    if size_bytes > SIZE_BYTES_MAX:
        return UnusableFile(
            path, f"{path.name} has {size_bytes:,} bytes; a recording has at most {SIZE_BYTES_MAX:,}"
        )
    try:
        meta = _META[path.suffix](path)
        return _listed(path, stamp, meta)
    except (TraceFileError, ImportError) as error:
        return UnusableFile(path, str(error))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        return UnusableFile(path, f"{path.name}: its metadata is damaged ({type(error).__name__}: {error})")


def _listed(path: Path, stamp: tuple[int, int], meta: dict[str, Any]) -> RecordedFile | UnusableFile:
    about = meta.get(KEY)
    if not isinstance(about, dict):
        return UnusableFile(path, f"{path.name} is no recording: its metadata has no {KEY!r}")
    if meta["rows"] > ROWS_MAX:
        return UnusableFile(
            path, f"{path.name} has {meta['rows']:,} rows; a recording has at most {ROWS_MAX:,}"
        )
    systems = [name for name in about if name not in (_DATE, _MEASURED, _INFERRED)]
    if len(systems) != 1 or not _DIGEST.fullmatch(meta["trace_sha256"]):
        return UnusableFile(path, f"{path.name}: {KEY!r} does not name exactly one system with its version")
    return RecordedFile(
        path,
        stamp,
        meta["trace_sha256"],
        f"{systems[0].capitalize()} {_text(about[systems[0]])}",
        _text(about.get(_DATE, "date unknown")).partition("T")[0],
        tuple(_text(kind) for kind in about.get(_MEASURED, ())),
        tuple(_text(kind) for kind in about.get(_INFERRED, ())),
        {name: meta[name] for name in ("scenario", "seed", "until_us", "rows")},
    )


def _text(value: Any) -> str:
    return str(value)[:TEXT_CHARACTERS_MAX]


def _parquet_meta(path: Path) -> dict[str, Any]:
    from simulator.trace.files import read_meta

    return read_meta(path)


ENDINGS = (".jsonl", ".jsonl.gz", ".parquet")
"""How the names of recordings end."""

_META: dict[str, Callable[[Path], dict[str, Any]]] = {
    ".jsonl": json_lines_meta,
    ".gz": json_lines_meta,
    ".parquet": _parquet_meta,
}
"""How the metadata of a file is read, by the suffix of its name."""
