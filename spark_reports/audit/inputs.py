"""The files of an input, listed by Spark's own connectors, and the first lines of one.

Rules: a path is passed to Spark as it is given (local, `hdfs://`, `s3a://`, a directory, a pattern). Python
opens none of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_reports.audit import documents
from spark_reports.audit.documents import LIMIT_MARK
from spark_reports.audit.errors import AuditError

FILES_MOST = 100_000
"""The most files of one audit; the driver holds their names."""
EXPANDED_MIB_MOST = 100_000
"""Default of the most MiB of text that one compressed file may expand to."""
SNIFFED_LINES = 50
"""Lines of a file that the detection of its format reads."""
SNIFFED_BYTES = 1 << 20
"""Bytes of a line that the detection of a format reads."""
_LINE_OPTION = "mapreduce.input.linerecordreader.line.maxlength"
BEFORE_A_LINE = rf"^(?:{documents.PROGRESS}|{documents.CONTAINER})"
"""What tools write before the content of a line."""
NO_LINE = rf"^\s*(?:{documents.HEADS}|{documents.PROGRESS})\s*$"
"""A line that kubectl or curl print, which is none of the log."""
_BEFORE = rf"{BEFORE_A_LINE}(?=[\[{{])"
_AROUND = r"^\s*[\[,]\s*(?=\{)|(?<=\})\s*[,\]][\s,\]]*$"
"""The brackets and commas of an array around a whole element."""
_LEFT_OUT = rf"^\s*(?:{documents.HEADS}|{documents.PROGRESS}|[\[\],\s]*)\s*$"
COMPRESSED = re.compile(r"\.(gz|bz2|zst|zstd|lz4|snappy|deflate|xz)$", re.IGNORECASE)


cloudpickle.register_pickle_by_value(documents)


class InputFile(NamedTuple):
    """One file of the input. `whole`: its rows are not its lines, so it is read at once (`documents`)."""

    path: str
    size_bytes: int
    whole: bool = False
    name: str = ""
    """The path as Spark writes it into the column `file` of the rows."""

    @property
    def suffix(self) -> str:
        """The ending of the name without that of a compression, such as "jsonl"."""
        return COMPRESSED.sub("", self.path).rpartition("/")[2].rpartition(".")[2].lower()

    @property
    def compressed(self) -> bool:
        return bool(COMPRESSED.search(self.path))


def list_files(spark: SparkSession, paths: Sequence[str]) -> list[InputFile]:
    """The files with content under the paths, in order of their names. Raises AuditError without any."""
    listed = (
        spark.read.format("binaryFile")
        .option("recursiveFileLookup", "true")
        .load(list(paths))
        .select("path", "length", F.col("_metadata.file_path").alias("name"))
        .limit(FILES_MOST + 1)
        .collect()
    )
    if len(listed) > FILES_MOST:
        raise AuditError(f"the input has more than {FILES_MOST:,} files; audit fewer of them at a time")
    files = sorted(InputFile(row["path"], row["length"], name=row["name"]) for row in listed)
    if not files:
        raise AuditError(
            f"{', '.join(paths)}: no file there has content; name log files or directories of them"
        )
    return files


def first_lines(spark: SparkSession, file: InputFile, end: str | None = None) -> list[str]:
    """The first lines of a text file, or its first texts up to `end`, and of a `whole` one its first rows."""
    if file.whole:
        rows = whole_rows(spark, [file], documents.UNPACKED_MIB, file.suffix not in ("csv", "tsv"))
    else:
        rows = spark.read.option(_LINE_OPTION, SNIFFED_BYTES).text(file.path, lineSep=end)
    return [row["value"] for row in rows.limit(SNIFFED_LINES).collect()]


def whole_rows(
    spark: SparkSession, files: Sequence[InputFile], expanded_mib: int, as_json: bool = True
) -> DataFrame:
    """The rows of files that are read at once: `value` and `file`."""
    read = spark.read.format("binaryFile").load([file.path for file in files])
    read = read.select(F.col("_metadata.file_path").alias("path"), "content")
    return read.mapInArrow(documents.Split(expanded_mib, as_json), "value string, file string")


def json_rows(spark: SparkSession, files: Sequence[InputFile], expanded_mib: int) -> DataFrame:
    """The JSON values of files, one each: `value` and `file`. Other lines stay as they are.

    An array may be spread over lines with whole elements. Lines of kubectl and curl are left out.
    """
    whole = [file for file in files if file.whole]
    plain = [file for file in files if not file.whole]
    frames = [whole_rows(spark, whole, expanded_mib)] if whole else []
    if plain:
        value = F.col("value")
        odd = ~value.startswith("{") | ~value.endswith("}")
        bare = F.regexp_replace(F.regexp_replace(value, _BEFORE, ""), _AROUND, "")
        lines = text_lines(spark, plain, expanded_mib).withColumn("value", F.when(odd, bare).otherwise(value))
        frames.append(
            lines.filter(~odd | (F.length("value") >= documents.HEAD_CHARS) | ~value.rlike(_LEFT_OUT))
        )
    return frames[0] if len(frames) == 1 else frames[0].unionByName(frames[1])


def all_lines(spark: SparkSession, files: Sequence[InputFile], expanded_mib: int) -> DataFrame:
    """The lines of text files, also of those that are read at once: `value` and `file`."""
    whole = [file for file in files if file.whole]
    plain = [file for file in files if not file.whole]
    frames = [whole_rows(spark, whole, expanded_mib, as_json=False)] if whole else []
    if plain:
        frames.append(text_lines(spark, plain, expanded_mib).select("value", "file"))
    return frames[0] if len(frames) == 1 else frames[0].unionByName(frames[1])


def bare_line(line: str) -> str | None:
    """A line as `json_rows` has it; None if it is left out."""
    kept = documents.line_of(line)
    kept = kept if kept is None else re.sub(_AROUND, "", kept)
    return None if kept is None or not kept.strip("[], \t") else kept


def flat_columns(row: Mapping[str, Any], before: str = "") -> dict[str, str]:
    """The columns of a row with their values as text; `b` inside `a` is `a.b`."""
    found: dict[str, str] = {}
    for name, value in row.items():
        if isinstance(value, dict) and value:
            found |= flat_columns(value, f"{before}{name}.")
        else:
            found[f"{before}{name}"] = "" if value is None else str(value)
    return found


def text_lines(spark: SparkSession, files: Sequence[InputFile], expanded_mib: int) -> DataFrame:
    """The lines of text files: `value` and `file`.

    A compressed file that expands beyond the limit ends the query with an error of `LIMIT_MARK`.
    """
    return within_limit(files, lambda paths: _lines(spark, paths), expanded_mib)


def within_limit(
    files: Sequence[InputFile], read: Callable[[list[str]], DataFrame], expanded_mib: int
) -> DataFrame:
    """The rows that `read` makes of the files' paths; they have a column `file`.

    A compressed file whose rows exceed the limit ends the query with an error of `LIMIT_MARK`.
    """
    plain = [file.path for file in files if not file.compressed]
    packed = [file.path for file in files if file.compressed]
    frames = [read(plain)] if plain else []
    if packed:
        found = read(packed)
        frames.append(found.mapInArrow(bounded(expanded_mib), found.schema))
    return frames[0] if len(frames) == 1 else frames[0].unionByName(frames[1])


def _lines(spark: SparkSession, paths: list[str]) -> DataFrame:
    found = spark.read.text(paths).select("value", F.col("_metadata.file_path").alias("file"))
    return found.filter(F.length(F.trim("value")) > 0)


def bounded(expanded_mib: int) -> Any:
    """A function for mapInArrow that passes batches until the rows of one file exceed the limit."""

    def passed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        sizes: dict[str, int] = {}  # a task may read several small files
        for batch in batches:
            for found in batch.column("file").value_counts().to_pylist():
                name = found["values"]
                sizes[name] = sizes.get(name, 0) + batch.nbytes * found["counts"] // batch.num_rows
                if sizes[name] > expanded_mib << 20:
                    raise ValueError(
                        f"{LIMIT_MARK} {name} expands to more than {expanded_mib:,} MiB; raise the limit "
                        f"with --expanded-mib if that is right"
                    )
            yield batch

    return passed
