"""Splits whole files into rows: JSON arrays, objects over several lines, and text that is not UTF-8.

Rules: a file is read at once, so its size is limited, before and after it is unpacked. Values are found by
their brackets, without making objects of them, so memory is that of the text. What is cut off becomes a row
that cannot be read. Tasks get this module by value: it imports the standard library and pyarrow only.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator

import pyarrow as pa

DOCUMENT_MIB, UNPACKED_MIB = 64, 256
"""The most MiB of a file that is read at once, as it is stored and unpacked."""
LINES_BEFORE = 50
"""Lines that may be before the JSON of a file."""
BATCH_CHARS = 1 << 20
"""Characters of rows that leave a task at a time."""
HEADS = (
    r"Default(?:ed container|ing container name to) .*|(?:Unable to use a TTY|If you don't see a command).*"
    r"|HTTP/[0-9.]+ [0-9]{3}.*"
    r"|(?i:access-control-[a-z-]+|age|broker-address|cache-control|connection|content-[a-z]+|date|etag|expires"
    r"|keep-alive|last-modified|location|pragma|server|set-cookie|strict-transport-security"
    r"|transfer-encoding|vary|via|x-[a-z-]+): .*"
    r"| *% Total +% Received.*| *Dload +Upload.*"
)
"""Lines that kubectl and curl print before the content: container, progress and headers of HTTP."""
HEAD_CHARS = 1_000
"""Longer lines are content."""
PROGRESS = r"[ 0-9.kMGTP]{20,80}?(?:[ 0-9-]{2}[:d][ 0-9-]{2}[:h ][ 0-9-]{2} ?){3}[ 0-9.kMGTP]{0,8}"
"""curl's progress, which may be on the same line as the content."""
_SOURCE = r"(?:\[pod/[A-Za-z0-9./_-]{1,300}\] |[A-Za-z0-9._-]{1,100} +[|] )"
_INSTANT = r"[0-9]{4}-[0-9-]+T[0-9:.]+(?:Z|[+-][0-9:]+) (?:(?:stdout|stderr) F )?"
CONTAINER = rf"(?:{_SOURCE}(?:{_INSTANT})?|{_INSTANT})"
"""What is before a whole line of a container.

The source (`kubectl logs --prefix`, `docker compose logs`), the instant (`--timestamps` of kubectl and
docker), or both, and the stream (a Kubernetes node, CRI).
"""
_HEAD = re.compile(rf"(?:{HEADS}|{PROGRESS})\s*")
_BEFORE = re.compile(rf"(?:{PROGRESS}|{CONTAINER})(?=[\[{{])")
_BEGIN = re.compile(r'\s*(?:\{\s*(?:["}]|$)|\[\s*(?:[\[{"\]]|$))')
_TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{}"]', re.DOTALL)
_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_GAP = re.compile(r"[\s,]*")
_END = re.compile(r"[\r\n]")
_SCALAR = re.compile(r"[^,\]\s]+")
_MEMBER = re.compile(
    r'[\s,]*"([^"\\]{1,100})"\s*:\s*'
    r'(?:(?P<one>"(?:[^"\\]|\\.){0,1000}+"|[0-9A-Za-z.+-]{1,40})|(?P<object>(?=\{))|(?P<array>(?=\[)))'
)
_CLOSED = re.compile(r"\s*\}")
_OBJECTS = re.compile(r"\[\s*(?:[{\]]|$)")
MEMBERS_MOST, DEPTH_MOST = 60, 3
"""Members of an object, and objects inside each other, that may be before the array of its rows."""
ROWS_IN = ("items", "events", "results", "data", "streams", "hits.hits", "data.result")
"""Where an object has its rows, if that is its first array.

`kubectl` and other lists (`items`), CloudWatch Logs (`events`), Splunk (`results`), Datadog (`data`),
Elasticsearch (`hits.hits`), and Loki (`data.result` of a query, `streams` of a push).
"""
STREAMS_IN = ("data.result", "streams")
"""Where the rows are streams of Loki: labels in `stream`, and in `values` [instant, line, …] of each line."""
_STREAMS = re.compile(r'\[\s*(?:\]|$|\{\s*(?:"(?:stream|values)"|$))')
RESPONSES = ("hits.hits", *STREAMS_IN)
"""What no row of a log has: several such objects in one file are responses, one after the other."""
CUT_OFF = "the JSON is cut off here"

LIMIT_MARK = "audit input beyond its limit:"
"""Begins the text of an error that a task raises when compressed input expands too far."""
CODECS = {"gz": "gzip", "bz2": "bz2", "zst": "zstd", "zstd": "zstd"}


class Split:
    """Makes rows of files: pass it to `mapInArrow` of a frame with path and content."""

    def __init__(self, expanded_mib: int, as_json: bool) -> None:
        self.limit_mib, self.as_json = min(expanded_mib, UNPACKED_MIB), as_json

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for path, content in zip(batch.column("path"), batch.column("content")):
                name = path.as_py()
                text = decoded(unpacked(content.as_py(), name, self.limit_mib))
                yield from _batches(values(text) if self.as_json else iter(text.splitlines()), name)


def _batches(rows: Iterator[str], path: str) -> Iterator[pa.RecordBatch]:
    held: list[str] = []
    size = 0
    for row in rows:
        if row.strip():
            held.append(row)
            size += len(row)
        if size > BATCH_CHARS:
            yield _batch(held, path)
            held, size = [], 0
    yield _batch(held, path)


def _batch(rows: list[str], path: str) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [pa.array(rows, pa.string()), pa.array([path] * len(rows), pa.string())], names=["value", "file"]
    )


def unpacked(content: bytes, path: str, limit_mib: int) -> bytes:
    """The content of a file, unpacked if its name says that it is packed."""
    codec = CODECS.get(path.rpartition(".")[2].lower())
    if codec is None:
        return content
    with pa.input_stream(pa.py_buffer(content), compression=codec) as stream:
        made: bytes = stream.read((limit_mib << 20) + 1)
    if len(made) > limit_mib << 20:
        raise ValueError(f"{LIMIT_MARK} {path} expands to more than {limit_mib:,} MiB{ONE_VALUE_PER_LINE}")
    return made


ONE_VALUE_PER_LINE = "; write one object per line, for example with jq -c '.[]', in UTF-8"


def decoded(content: bytes) -> str:
    """The text of a file: UTF-8, or UTF-16 and UTF-32 by their byte order mark or zeros."""
    if content.startswith((b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff")):
        encoding = "utf-32"
    elif content.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    elif content[1:2] == b"\0":
        encoding = "utf-16-le"
    elif content[:1] == b"\0":
        encoding = "utf-16-be"
    else:
        encoding = "utf-8-sig"
    return content.decode(encoding, errors="replace").removeprefix("\ufeff")


def line_of(line: str) -> str | None:
    """A line without what kubectl, curl or a Kubernetes node wrote before its content; None for their own."""
    line = line.lstrip("\ufeff")
    if len(line) < HEAD_CHARS and _HEAD.fullmatch(line):
        return None
    before = _BEFORE.match(line)
    return line[before.end() :] if before else line


def begin_of(text: str) -> int | None:
    """Where the JSON of a text begins, after at most `LINES_BEFORE` lines that tools print first."""
    place = 0
    for _ in range(LINES_BEFORE):
        end = _END.search(text, place)
        stop = min(end.start() if end else len(text), place + BATCH_CHARS)
        line = text[place:stop]
        kept = line_of(line)
        if kept is not None and _BEGIN.match(kept):
            return place + len(line) - len(kept)
        place = stop + 1
    return None


def values(text: str) -> Iterator[str]:
    """The JSON values of a text, each on one line: objects, and the elements of arrays around them.

    A text without JSON at its beginning has its lines.
    """
    begin = begin_of(text)
    if begin is None:
        yield from text.splitlines()
        return
    place = begin
    while place < len(text):
        gap = _GAP.match(text, place)
        place = gap.end() if gap else place
        first = text[place : place + 1]
        if first == "[":
            place = yield from _elements(text, place)
        elif first == "{":
            end = end_of(text, place)
            rows = rows_of(text, place, place == begin and (not end or not text[end:].strip()))
            if rows:
                yield from _rows_at(text, *rows)
            else:
                yield _in_one_line(text[place:end]) if end else CUT_OFF
            place = end or len(text)
        elif first:
            end_of_line = _END.search(text, place)
            stop = end_of_line.start() if end_of_line else len(text)
            if line_of(text[place:stop]) is not None:
                yield text[place:stop]
            place = stop + 1


def rows_of(text: str, place: int, alone: bool) -> tuple[str, int] | None:
    """Where the object that begins here has its rows (`ROWS_IN`), and where their array begins.

    One that is not alone in its text is a row itself, unless it is one of `RESPONSES`.
    """
    place, path = place + 1, list[str]()
    for _ in range(MEMBERS_MOST):
        while path and (closed := _CLOSED.match(text, place)):
            path.pop()
            place = closed.end()
        member = _MEMBER.match(text, place)
        if member is None:
            return None
        path.append(member[1])
        place = member.end()
        if member["array"] is not None:
            name = ".".join(path)
            begins = _STREAMS if name in STREAMS_IN else _OBJECTS
            found = name in ROWS_IN and (alone or name in RESPONSES) and begins.match(text, place)
            return (name, place) if found else None
        if member["object"] is None:
            path.pop()
        elif len(path) == DEPTH_MOST:
            return None
        else:
            place += 1
    return None


def is_list(text: str, alone: bool = True) -> bool:
    """Whether a text begins an object that has its rows in an array."""
    return text.lstrip().startswith("{") and rows_of(text, text.index("{"), alone) is not None


def _rows_at(text: str, name: str, begin: int) -> Iterator[str]:
    """The rows of the array that begins here: its elements, or the lines of its streams."""
    for element in _elements(text, begin):
        if name in STREAMS_IN and element != CUT_OFF:
            yield from _lines_of_stream(element)
        else:
            yield element


def _lines_of_stream(stream: str) -> Iterator[str]:
    """The lines of a stream of Loki, as `logcli --output=jsonl` writes them; another object as it is."""
    place, labels, lines = 1, "", -1
    while member := _MEMBER.match(stream, place):
        place = member.end()
        if member["one"] is not None:
            continue
        end = end_of(stream, place)
        if end is None:
            break
        if member[1] == "stream" and member["object"] is not None:
            labels = stream[place:end]
        elif member[1] == "values" and member["array"] is not None:
            lines = place
        place = end
    if not labels or lines < 0:
        yield stream
        return
    for line in _elements(stream, lines):
        parts = list(_elements(line, 0)) if line.startswith("[") else []
        if len(parts) < 2:
            yield line
        else:
            yield f'{{"labels": {labels}, "timestamp": {parts[0]}, "line": {parts[1]}}}'


def _elements(text: str, begin: int) -> Generator[str, None, int]:
    """The elements of the array that begins here; returns where it ends."""
    place = begin + 1
    while True:
        gap = _GAP.match(text, place)
        place = gap.end() if gap else place
        first = text[place : place + 1]
        if first == "]":
            return place + 1
        if first in "[{":
            end = end_of(text, place) if first else None
        else:
            found = _STRING.match(text, place) or _SCALAR.match(text, place)
            end = found.end() if found else None
        if end is None:
            yield CUT_OFF
            return len(text)
        yield _in_one_line(text[place:end])
        place = end


def end_of(text: str, begin: int) -> int | None:
    """Where the object or array that begins here ends; None if it is cut off."""
    depth = 0
    for found in _TOKEN.finditer(text, begin):
        token = found[0]
        if token in "{[":
            depth += 1
        elif token in "}]":
            depth -= 1
            if not depth:
                return found.end()
        elif token == '"':  # a text that does not end
            return None
    return None


def _in_one_line(value: str) -> str:
    return value.replace("\r", " ").replace("\n", " ")
