"""The files of an input, listed by Spark's own connectors, and the first lines of one.

Rules: a path is passed to Spark as it is given (local, `hdfs://`, `s3a://`, a directory, a pattern). Python
opens none of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_reports.audit.errors import LIMIT_MARK, AuditError

FILES_MOST = 100_000
"""The most files of one audit; the driver holds their names."""
EXPANDED_MIB_MOST = 100_000
"""Default of the most MiB of text that one compressed file may expand to."""
SNIFFED_LINES = 50
"""Lines of a file that the detection of its format reads."""
COMPRESSED = re.compile(r"\.(gz|bz2|zst|zstd|lz4|snappy|deflate|xz)$", re.IGNORECASE)


class InputFile(NamedTuple):
    """One file of the input."""

    path: str
    size_bytes: int

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
        .select("path", "length")
        .limit(FILES_MOST + 1)
        .collect()
    )
    if len(listed) > FILES_MOST:
        raise AuditError(f"the input has more than {FILES_MOST:,} files; audit fewer of them at a time")
    files = sorted(InputFile(row["path"], row["length"]) for row in listed)
    if not files:
        raise AuditError(
            f"{', '.join(paths)}: no file there has content; name log files or directories of them"
        )
    return files


def first_lines(spark: SparkSession, file: InputFile) -> list[str]:
    """The first lines of a text file."""
    return [row["value"] for row in spark.read.text(file.path).limit(SNIFFED_LINES).collect()]


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
