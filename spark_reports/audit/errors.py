"""The error of an audit that cannot be made, and texts for Spark's errors about its input."""

from __future__ import annotations

import re

LIMIT_MARK = "audit input beyond its limit:"
"""Begins the text of an error that a task raises when compressed input expands too far."""


GROUPS_MOST = 100_000
"""The most groups of kind, cluster, subscription, topic and partition, which the driver holds."""
TOO_MANY_GROUPS = (
    f"there are more than {GROUPS_MOST:,} groups of subscription, topic, partition and cluster; is one of "
    f"these columns mapped to an id of the message?"
)


class AuditError(ValueError):
    """The input cannot be audited; the text says what is wrong and what would be right."""


def input_problem(error: Exception) -> str | None:
    """A text for an error in which Spark could not read the input; None for other errors."""
    text = str(error)
    limit = re.search(rf"{LIMIT_MARK} ([^\n]+)", text)
    if limit:
        return limit[1].strip().rstrip('"')
    for pattern, words in (
        (
            r"audit input that cannot be read: ([^\n]+?)\.?\n",
            "{}; it is damaged, cut off, or no Parquet file",
        ),
        (r"(audit input with too many groups)", TOO_MANY_GROUPS),
        (r"\[PATH_NOT_FOUND\] Path does not exist: (\S+?)\.? ", "{}: no such file or directory"),
        (
            r"No FileSystem for scheme \"?(\w+)",
            "{}://: Spark has no connector for it; add its package to Spark",
        ),
        (r"Class (org\.apache\.hadoop\.fs\.\S+) not found", "{}: Spark's connector for this path is missing"),
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
