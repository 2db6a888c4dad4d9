"""The error of an audit that cannot be made, and texts for Spark's errors about its input."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from spark_reports.audit.documents import LIMIT_MARK
from spark_reports.audit.mapping import TOO_SLOW_MARK

GROUPS_MOST = 100_000
"""The most groups of kind, cluster, subscription, topic and partition, which the driver holds."""
TOO_MANY_GROUPS = (
    f"there are more than {GROUPS_MOST:,} groups of subscription, topic, partition and cluster; is one of "
    f"these columns mapped to an id of the message?"
)


COLUMNS_SHOWN, VALUE_CHARACTERS_MOST = 40, 40
"""Columns, and characters of an example value, that a message names."""


def columns_text(found: Mapping[str, str]) -> str:
    """The columns of a file with an example each, and which ones an audit needs."""
    shown = [
        f"{name} ({value[:VALUE_CHARACTERS_MOST]})" if value else name
        for name, value in list(found.items())[:COLUMNS_SHOWN]
    ]
    more = len(found) - len(shown)
    listed = ", ".join(shown) + (f" and {more} more" if more > 0 else "")
    return (
        f"its columns are {listed or 'none'}. An audit needs ts (instant), kind (publish, deliver or ack) "
        f"and message_id or position; say which column is which, for example `columns: {{ts: …, kind: …, "
        f"message_id: …}}`, or `constants: {{kind: deliver}}`, with --mapping"
    )


class AuditError(ValueError):
    """The input cannot be audited; the text says what is wrong and what would be right."""


CONNECTORS = {
    "s3a": ("s3a://", "hadoop-aws"),
    "azurebfs": ("abfs:// and abfss://", "hadoop-azure"),
    "gs": ("gs://", "hadoop-gcp"),
}
"""By the package of a file system's class: its addresses, and the artifact of Hadoop that has it."""


def _missing_connector(text: str) -> str | None:
    """What to do about a file system that Spark does not have."""
    scheme = re.search(r"No FileSystem for scheme \"?(\w+)", text)
    if scheme:
        advice = (
            "write s3a:// instead" if scheme[1] in ("s3", "s3n") else "start it with the connector's package"
        )
        return f"{scheme[1]}://: Spark has no connector for it; {advice}"
    found = re.search(r"Class (org\.apache\.hadoop\.fs\.(\w+)\.\w+) not found", text)
    if not found:
        return None
    addresses, artifact = CONNECTORS.get(found[2], (found[1], ""))
    if not artifact:
        return f"{addresses}: Spark has no connector for this path; start it with the connector's package"
    package = f"org.apache.hadoop:{artifact}:{_hadoop_version()}"
    return (
        f"{addresses}: Spark has no connector for this path. Start it with --packages {package}, for example "
        f"PYSPARK_SUBMIT_ARGS='--packages {package} pyspark-shell' python -m spark_reports audit …; the "
        f"version must be that of Spark's Hadoop"
    )


def _hadoop_version() -> str:
    """The version of Hadoop beside this Spark."""
    import pyspark

    home = os.environ.get("SPARK_HOME")
    jars = (Path(home) if home else Path(pyspark.__file__).parent) / "jars"
    names = sorted(path.name for path in jars.glob("hadoop-client-api-*.jar"))
    return names[0].removeprefix("hadoop-client-api-").removesuffix(".jar") if names else "VERSION"


def input_problem(error: Exception) -> str | None:
    """A text for an error in which Spark could not read the input; None for other errors."""
    text = str(error)
    limit = re.search(rf"{LIMIT_MARK} ([^\n]+)", text)
    if limit:
        return limit[1].strip().rstrip('"')
    connector = _missing_connector(text)
    if connector:
        return connector
    for pattern, words in (
        (
            r"(?:INVALID_DATETIME_PATTERN|DATETIME_PATTERN_RECOGNITION|PARSE_DATETIME_BY_NEW_PARSER)[^ ]* "
            r"([^\n]+)",
            "`time_format` of the mapping: {}",
        ),
        (
            r"audit input that cannot be read: ([^\n]+?)\.?\n",
            "{}; it is damaged, cut off, or no Parquet file",
        ),
        (r"(audit input with too many groups)", TOO_MANY_GROUPS),
        (rf"{TOO_SLOW_MARK}: ([^\n]+?)\.?\n", "the pattern of the mapping takes too long: {}"),
        (r"\[PATH_NOT_FOUND\] Path does not exist: (\S+?)\.? ", "{}: no such file or directory"),
        (
            r"ConnectException: Call From \S+ to (\S+) failed",
            "the path cannot be reached: nothing accepts connections at {}",
        ),
        (r"(?:UnknownHostException|ConnectException): ([^\n]+)", "the path cannot be reached: {}"),
        (
            r"native zStandard library not available|Codec for file .* not found",
            "this Spark cannot unpack a compressed file of the input; compress it with gzip",
        ),
        (
            r"No space left on device",
            "the disk is full; nothing was written into the folder of results",
        ),
        (
            r"CANNOT_READ_FILE_FOOTER\] Encountered error while reading file (\S+)\.\s",
            "{}: it is no Parquet file, or it is cut off",
        ),
        (
            r"\[FAILED_READ_FILE[^\]]*\] Encountered error while reading file (\S+)\.\s",
            "{}: its rows cannot be read; it is damaged, or not of the format that its name says",
        ),
        (
            r"CSV header does not conform to the schema[\s\S]*?CSV file: (\S+)",
            "{}: its columns differ from those of the first file; audit files with other columns apart",
        ),
    ):
        found = re.search(pattern, text)
        if found:
            return words.format(*found.groups())
    return None
