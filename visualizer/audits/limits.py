"""Limits of an upload, which the page states, and the formats of logs that it offers."""

from __future__ import annotations

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
